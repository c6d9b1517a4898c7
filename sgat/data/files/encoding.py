"""Encoding: how columns become features, so that other files can be read the same."""

import dataclasses
import functools
import json
import logging
import re
from typing import Any, Literal, Self

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse
import torch

from sgat.config import FileOptions
from sgat.data.files.columns import (
    decoded,
    first,
    holds_dates,
    is_number,
    looks_numeric,
    numbers,
    with_nulls,
)
from sgat.data.files.dates import date_order, days, turns
from sgat.data.files.source import Source
from sgat.features import LARGEST_FEATURE, Features, SparseFeatures

WIDE = 256
"""Number of feature columns from which on sparse storage is considered."""
LARGE = 1 << 28
"""Number of features of all nodes beyond which it is considered as well."""
SPARSE_FILL = 0.1
"""Share of non-zero entries below which wide features are stored sparse."""
TEXT_SIZE = 1024
"""Number of features that the words of a text column are hashed into."""
FEW = 10
"""Number of different values that are categories however few rows there are."""
NEEDED = "a value is needed, got nothing; `fill_missing` mean or zero fills it."
EDGES_OF = "the judge and gates (`edge_columns`)"
"""What columns of the edge table are for, in messages."""
CONSTANT = "%s, column %r has the value %r in every row, which says nothing."

logger = logging.getLogger(__name__)


def _check_alike(values: tuple[Any, ...]) -> None:
    try:
        is_nested = pa.types.is_nested(pa.array(values).type)
    except (pa.ArrowException, OverflowError):
        is_nested = True
    if is_nested:
        raise ValueError(f"values must be of one type, got {str(values)[:60]}")


@dataclasses.dataclass(frozen=True)
class FeatureColumn:
    """How one column of a table becomes one or more feature columns.

    A number, or each number of a vector, becomes (number - shift) / scale. A category
    becomes one feature for each of its ascending values. A date becomes the number of
    days, scaled, and sine and cosine of its place in the periods that `categories`
    names. A text becomes `size` numbers, its words and pairs of words hashed. `fill`
    stands in for a missing number (for a category or a date it means zeros); None
    refuses it. A missing text is one without words.
    """

    name: str
    kind: Literal["number", "vector", "category", "date", "text"]
    categories: tuple[Any, ...] = ()
    shift: tuple[float, ...] = ()
    scale: tuple[float, ...] = ()
    fill: tuple[float, ...] | None = None
    order: str = ""  # of a date, see `date_order`
    size: int = 0  # of a text

    def __post_init__(self) -> None:
        """Refuse numbers that do not go together, as a file may have them."""
        _check_alike(self.categories)
        sizes = set(map(len, (self.shift, self.scale, self.fill or self.shift)))
        if self.kind != "category" and len(sizes) > 1:
            raise ValueError(f"shift, scale and fill of {self.name!r} differ in length")

    @property
    def width(self) -> int:
        """Number of features the column becomes."""
        if self.kind == "date":
            return 1 + 2 * len(self.categories)
        return len(self.categories) or len(self.shift) or self.size

    @property
    def words(self) -> str:
        """What the column becomes, for people."""
        names = ", ".join(map(str, self.categories[:3]))
        if self.kind == "category":
            more = ", …" if self.width > 3 else ""
            return f"{self.width:,} categories: {names}{more}"
        if self.kind == "date":
            return f"date: days, place in {names.replace(', ', ' and ')}"
        what = {"vector": f"{self.width:,} numbers", "text": "text, its words hashed"}
        return what.get(self.kind, "number")


@dataclasses.dataclass(frozen=True)
class Encoding:
    """Everything taken from one file that another file must be read with."""

    features: tuple[FeatureColumn, ...] = ()  # of the node table
    classes: tuple[Any, ...] = ()  # or label columns, in the order of their indices
    edges: tuple[FeatureColumn, ...] = ()  # of the edge table, for gates

    def __post_init__(self) -> None:
        """Refuse classes of several types, as a file may have them."""
        _check_alike(self.classes)

    def to_json(self) -> str:
        """The encoding as text, for a run's folder."""
        found = dataclasses.asdict(self)
        found = {name: part for name, part in found.items() if part or name != "edges"}
        return json.dumps(found, ensure_ascii=False, default=str)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The encoding that `to_json` wrote."""
        return msgspec.convert(json.loads(text), cls)


def encode(
    source: Source, columns: tuple[FeatureColumn, ...], *, ignore_unknown: bool = False
) -> Features:
    """The features of each row, [N, K]: sparse if wide and mostly zero."""
    size, width = len(source.table), sum(column.width for column in columns)
    one_hot = functools.partial(_one_hot, ignore_unknown=ignore_unknown)
    ways: dict[str, Any] = {"category": one_hot, "text": _hashed}
    blocks = [ways.get(each.kind, _scaled)(source, each) for each in columns]
    filled = sum(
        block.nnz if scipy.sparse.issparse(block) else np.count_nonzero(block)
        for block in blocks
    )
    is_large = width >= WIDE or size * width > LARGE
    if is_large and filled < SPARSE_FILL * size * width:
        # Blocks that are all dense are none to scipy.
        sparse = [scipy.sparse.csr_array(block) for block in blocks]
        return SparseFeatures.from_scipy(scipy.sparse.hstack(sparse, format="csr"))
    x = np.zeros((size, width), dtype=np.float32)
    start = 0
    for block in blocks:
        dense = block.toarray() if scipy.sparse.issparse(block) else block
        x[:, start : start + dense.shape[1]] = dense
        start += dense.shape[1]
    return torch.from_numpy(x).to(torch.get_default_dtype())


def fit_edges(
    source: Source, columns: tuple[str | FeatureColumn, ...], options: FileOptions
) -> tuple[FeatureColumn, ...]:
    """How columns of edges become numbers that the judge and gates look at.

    A name is read as a column of nodes is, with numbers of mean 0 and deviation 1 over
    the rows, and a column of an earlier table as it was there.
    """
    how = dataclasses.replace(options, features=(), standardise=True)
    found: list[Any] = []
    for each in columns:
        name = each if isinstance(each, str) else each.name
        source.column(name, EDGES_OF)
        found.append(fit_column(source, name, how) if name is each else each)
    return tuple(found)


def encoded_edges(
    source: Source, columns: tuple[FeatureColumn, ...], options: FileOptions
) -> torch.Tensor:
    """The numbers of columns of edges, [M, F]."""
    x = encode(source, columns, ignore_unknown=options.unknown_category == "zero")
    return x if isinstance(x, torch.Tensor) else x.to_dense()


def edge_numbers(
    source: Source, columns: tuple[str | FeatureColumn, ...], options: FileOptions
) -> tuple[tuple[FeatureColumn, ...], torch.Tensor | None]:
    """Columns of edges by `fit_edges`, and their numbers, [M, F]; None without any."""
    if not columns:
        return (), None
    known = fit_edges(source, columns, options)
    return known, encoded_edges(source, known, options)


def fit_column(source: Source, name: str, options: FileOptions) -> FeatureColumn | str:
    """Decide how a column becomes features, or the reason why it is left out."""
    column = source.column(name, "features (`features`)")
    kind = decoded(column).type
    if name in options.text:
        return FeatureColumn(name, "text", size=TEXT_SIZE)
    if pa.types.is_list(kind) or pa.types.is_fixed_size_list(kind):
        return _fit_numbers(source, name, "vector", options)
    if name not in options.categorical:
        if looks_numeric(source, name):
            return _fit_numbers(source, name, "number", options)
        if holds_dates(decoded(column)):
            return _fit_date(source, name, options)
    if pa.types.is_nested(kind) or pa.types.is_duration(kind):
        advice = "convert the column to numbers, or leave it out with `drop`."
        raise source.fault(f"{kind} cannot be a feature; {advice}", name)
    values = pc.unique(_categories(column))
    values = values.take(pc.sort_indices(values)).drop_null()
    is_chosen = name in options.categorical or pa.types.is_dictionary(column.type)
    rows = len(column) - column.null_count
    if not is_chosen and FEW < len(values) > rows / 2:
        found = f"{len(values):,} different values in {rows:,} rows"
        advice = "`text` reads its words, `categorical` takes them as categories"
        if options.features is not None:
            raise source.fault(f"{found} are no categories; {advice}.", name)
        logger.warning(
            "%s, column %r is left out of the features: %s would name the rows;"
            " %s, and `drop` leaves it out for good.",
            *(source.name, name, found, advice),
        )
        return f"left out: {found}"
    if len(values) > (most := options.max_categories):
        found = f"{len(values)} different values are more than `max_categories`"
        advice = "raise it, read the column as `text`, or leave it out with `drop`."
        raise source.fault(f"{found} ({most}); {advice}", name)
    if len(values) == 1 < rows:
        logger.warning(CONSTANT, source.name, name, values[0].as_py())
    fill = None if options.fill_missing is None else (0.0,)
    return FeatureColumn(name, "category", tuple(values.to_pylist()), fill=fill)


def _fit_date(source: Source, name: str, options: FileOptions) -> FeatureColumn:
    order = date_order(source, name)
    value = days(source, name, order)
    present = value[~np.isnan(value)]
    has_times = bool((present % 1 != 0).any())
    is_time = has_times and bool((present >= 0).all() and (present < 1).all())
    periods = ("day",) if is_time else ("year", "week", *(["day"] * has_times))
    shift, scale = (present.mean(), present.std()) if len(present) else (0.0, 1.0)
    fill = None if options.fill_missing is None else (0.0,)
    scaling = (float(shift),), (float(scale) or 1.0,)
    return FeatureColumn(name, "date", periods, *scaling, fill, order)


def _fit_numbers(
    source: Source, name: str, kind: Literal["number", "vector"], options: FileOptions
) -> FeatureColumn:
    values = _numeric(source, name, kind)
    width = values.shape[1]
    if kind == "number":
        _warn_of_numbers(source, name, values[:, 0])
    fill = None if options.fill_missing is None else (0.0,) * width
    shift, scale = np.zeros(width), np.ones(width)
    present = ~np.isnan(values)
    count = np.maximum(present.sum(axis=0), 1)
    with np.errstate(over="ignore"):
        mean = np.where(present, values, 0).sum(axis=0) / count
    if options.fill_missing == "mean":
        fill = tuple(mean.tolist())
    if options.standardise:
        filled = np.where(present, values, 0.0 if fill is None else np.array(fill))
        finite = np.where(np.isfinite(filled), filled, 0)
        with np.errstate(over="ignore", invalid="ignore"):
            shift, scale = finite.mean(axis=0), finite.std(axis=0)
        scale[scale == 0] = 1
    scaling = tuple(shift.tolist()), tuple(scale.tolist())
    return FeatureColumn(name, kind, (), *scaling, fill)


def _warn_of_numbers(source: Source, name: str, value: Any) -> None:
    """Say so where numbers are all the same, or count the rows."""
    size = len(value)
    if size > 1 and bool((value == value[0]).all()):
        logger.warning(CONSTANT, source.name, name, float(value[0]))
    few = value[:1000]
    if size <= FEW or not np.isfinite(value).all() or bool((few % 1 != 0).any()):
        return
    if len(np.unique(few)) < len(few):
        return
    is_dense = value.max() - value.min() < 2 * size
    is_named = re.search(r"(^|[_ ])(id|nr|no|key|index)$", name, re.IGNORECASE)
    if (is_dense or is_named) and len(np.unique(value)) == size:
        logger.warning(
            "%s, column %r has another whole number in every row, as an id has; `drop`"
            " leaves it out of the features.",
            *(source.name, name),
        )


def _numeric(source: Source, name: str, kind: str) -> np.ndarray[Any, Any]:
    """The numbers of a column, [N, width]."""
    if kind == "number":
        return numbers(source, name)[:, None]
    column = source.table.column(name).combine_chunks()
    if not is_number(column.type.value_type):
        raise source.fault(f"must hold numbers, got {column.type}.", name)
    source.refuse(column.is_null(), name, "the vector is missing.")
    length = pc.list_value_length(column).to_numpy(zero_copy_only=False)
    width = int(length[0]) if len(length) else 0
    if (length != width).any():
        row = int((length != width).argmax())
        raise source.fault(
            f"must be {width} numbers like the first row, got {length[row]}.", name, row
        )
    flat = pc.cast(column.flatten(), pa.float32()).to_numpy(zero_copy_only=False)
    return np.asarray(flat).reshape(len(column), width)


def _scaled(source: Source, column: FeatureColumn) -> np.ndarray[Any, Any]:
    """Numbers, or dates, without a gap, [N, width]."""
    name, is_date = column.name, column.kind == "date"
    source.column(name, "features")
    if is_date:
        values = days(source, name, column.order)[:, None]
    else:
        values = _numeric(source, name, column.kind)
    if values.shape[1] != len(column.shift):
        problem = f"must be {column.width} numbers, got {values.shape[1]}."
        raise source.fault(problem, name)
    if column.fill is not None and not is_date:
        values = np.where(np.isnan(values), np.array(column.fill), values)
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = (values - np.array(column.shift)) / np.array(column.scale)
    bad = ~(np.abs(scaled) <= LARGEST_FEATURE)
    if is_date and column.fill is not None:
        bad &= ~np.isnan(values)
    if bad.any():
        row, entry = (int(place) for place in np.argwhere(bad)[0])
        value = values[row, entry]
        problem = f"must be finite, got {value}."
        if np.isfinite(value):
            problem = f"must be at most {LARGEST_FEATURE:g} in size, got {value}; "
            problem += "`standardise` scales columns, or divide this one."
        raise source.fault(NEEDED if np.isnan(value) else problem, name, row)
    if is_date:
        scaled = np.column_stack([scaled, *turns(values[:, 0], column.categories)])
    return np.asarray(np.nan_to_num(scaled), dtype=np.float32)


def _hashed(source: Source, column: FeatureColumn) -> Any:
    """How often each word and pair of words occurs, by hash; rows of length 1."""
    from sklearn.feature_extraction.text import HashingVectorizer

    given = decoded(source.column(column.name, "features"))
    texts = pc.fill_null(given.cast(pa.string()), "").to_pylist()
    hashing = HashingVectorizer(
        n_features=column.size, ngram_range=(1, 2), alternate_sign=False
    )
    return hashing.transform(texts).astype(np.float32)


def _categories(column: Any) -> Any:
    """The values of a column: numbers, truth values, or strings."""
    column = with_nulls(column)
    if pa.types.is_boolean(column.type) or is_number(column.type):
        return column
    return column.cast(pa.string())


def _one_hot(source: Source, column: FeatureColumn, ignore_unknown: bool) -> Any:
    values = _categories(source.column(column.name, "features"))
    if column.fill is None:
        source.refuse(pc.is_null(values), column.name, NEEDED)
    known = pa.array(column.categories)
    if known.type != values.type:
        values, known = values.cast(pa.string()), known.cast(pa.string())
    found = pc.index_in(values, value_set=known)
    unknown = pc.and_(pc.is_null(found), pc.is_valid(values))
    row = first(unknown)
    if row >= 0 and not ignore_unknown:
        problem = f"{values[row].as_py()!r} is not among the {len(known)} categories"
        problem += " of the encoding; `unknown_category` can make it zeros."
        raise source.fault(problem, column.name, row)
    code = np.asarray(pc.fill_null(found, -1).to_numpy())
    present = np.flatnonzero(code >= 0)
    return scipy.sparse.csr_array(
        (np.ones(len(present), np.float32), (present, code[present])),
        shape=(len(values), column.width),
    )
