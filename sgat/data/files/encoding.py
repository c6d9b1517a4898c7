"""Encoding: how columns become features, so that other files can be read the same."""

from __future__ import annotations

import dataclasses
import json
from typing import Any, Literal

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
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
from sgat.data.files.source import Source
from sgat.features import Features, SparseFeatures

WIDE = 256
"""Number of feature columns from which on sparse storage is considered."""
SPARSE_FILL = 0.1
"""Share of non-zero entries below which wide features are stored sparse."""
NEEDED = "a value is needed, got nothing; `fill_missing` mean or zero fills it."


@dataclasses.dataclass(frozen=True)
class FeatureColumn:
    """How one column of a table becomes one or more feature columns.

    A number, or each number of a vector, becomes (number - shift) / scale. A category
    becomes one feature for each of its ascending values. `fill` stands in for a missing
    number (for a category it means zeros); None refuses it.
    """

    name: str
    kind: Literal["number", "vector", "category"]
    categories: tuple[Any, ...] = ()
    shift: tuple[float, ...] = ()
    scale: tuple[float, ...] = ()
    fill: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        """Refuse numbers that do not go together, as a file may have them."""
        sizes = {
            len(part) for part in (self.shift, self.scale, self.fill or self.shift)
        }
        if self.kind != "category" and len(sizes) > 1:
            raise ValueError(f"shift, scale and fill of {self.name!r} differ in length")

    @property
    def width(self) -> int:
        """Number of features the column becomes."""
        return len(self.categories if self.kind == "category" else self.shift)


@dataclasses.dataclass(frozen=True)
class Encoding:
    """Everything taken from one file that another file must be read with."""

    features: tuple[FeatureColumn, ...] = ()  # of the node table
    classes: tuple[Any, ...] = ()  # or label columns, in the order of their indices

    def to_json(self) -> str:
        """The encoding as text, for a run's folder."""
        return json.dumps(dataclasses.asdict(self), ensure_ascii=False, default=str)

    @classmethod
    def from_json(cls, text: str) -> Encoding:
        """The encoding that `to_json` wrote."""
        return msgspec.convert(json.loads(text), cls)


def encode(
    source: Source, columns: tuple[FeatureColumn, ...], *, ignore_unknown: bool = False
) -> Features:
    """The features of each row, [N, K]: sparse if wide and mostly zero."""
    import scipy.sparse

    size, width = len(source.table), sum(column.width for column in columns)
    blocks: list[Any] = [
        _one_hot(source, column, ignore_unknown)
        if column.kind == "category"
        else _scaled(source, column)
        for column in columns
    ]
    filled = sum(
        block.nnz if scipy.sparse.issparse(block) else np.count_nonzero(block)
        for block in blocks
    )
    if width >= WIDE and filled < SPARSE_FILL * size * width:
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


def fit_column(source: Source, name: str, options: FileOptions) -> FeatureColumn:
    """Decide how a column becomes features."""
    column = source.column(name, "features")
    kind = decoded(column).type
    if pa.types.is_list(kind) or pa.types.is_fixed_size_list(kind):
        return _fit_numbers(source, name, "vector", options)
    if name not in options.categorical and looks_numeric(source, name):
        return _fit_numbers(source, name, "number", options)
    is_date = name not in options.categorical and holds_dates(decoded(column))
    if is_date or pa.types.is_nested(kind):
        what = "a date" if is_date else kind
        raise source.fault(
            f"{what} cannot be a feature; convert the column to numbers, or leave it"
            " out with `drop`.",
            name,
        )
    values = pc.unique(_categories(column))
    values = values.take(pc.sort_indices(values)).drop_null()
    if len(values) > options.max_categories:
        raise source.fault(
            f"{len(values)} different values are more than `max_categories`"
            f" ({options.max_categories}); leave the column out with `drop`, or raise"
            " the limit.",
            name,
        )
    fill = None if options.fill_missing is None else (0.0,)
    return FeatureColumn(name, "category", tuple(values.to_pylist()), fill=fill)


def _fit_numbers(
    source: Source, name: str, kind: Literal["number", "vector"], options: FileOptions
) -> FeatureColumn:
    values = _numeric(source, name, kind)
    width = values.shape[1]
    fill = None if options.fill_missing is None else (0.0,) * width
    shift, scale = np.zeros(width), np.ones(width)
    present = ~np.isnan(values)
    count = np.maximum(present.sum(axis=0), 1)
    mean = np.where(present, values, 0).sum(axis=0) / count
    if options.fill_missing == "mean":
        fill = tuple(mean.tolist())
    if options.standardise:
        filled = np.where(present, values, 0.0 if fill is None else np.array(fill))
        finite = np.where(np.isfinite(filled), filled, 0)
        shift, scale = finite.mean(axis=0), finite.std(axis=0)
        scale[scale == 0] = 1
    return FeatureColumn(
        name, kind, (), tuple(shift.tolist()), tuple(scale.tolist()), fill
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
    source.column(column.name, "features")
    values = _numeric(source, column.name, column.kind)
    if values.shape[1] != column.width:
        raise source.fault(
            f"must be {column.width} numbers, got {values.shape[1]}.", column.name
        )
    bad = np.isinf(values) if column.fill is not None else ~np.isfinite(values)
    if bad.any():
        row, entry = (int(place) for place in np.argwhere(bad)[0])
        value = values[row, entry]
        problem = NEEDED if np.isnan(value) else f"must be finite, got {value}."
        raise source.fault(problem, column.name, row)
    if column.fill is not None:
        values = np.where(np.isnan(values), np.array(column.fill), values)
    return np.asarray(
        (values - np.array(column.shift)) / np.array(column.scale), dtype=np.float32
    )


def _categories(column: Any) -> Any:
    """The values of a column: numbers, truth values, or strings."""
    column = with_nulls(column)
    if pa.types.is_boolean(column.type) or is_number(column.type):
        return column
    return column.cast(pa.string())


def _one_hot(source: Source, column: FeatureColumn, ignore_unknown: bool) -> Any:
    import scipy.sparse

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
        raise source.fault(
            f"{values[row].as_py()!r} is not among the {len(known)} categories of the"
            " encoding; `unknown_category` can make it zeros.",
            column.name,
            row,
        )
    code = np.asarray(pc.fill_null(found, -1).to_numpy())
    present = np.flatnonzero(code >= 0)
    return scipy.sparse.csr_array(
        (np.ones(len(present), np.float32), (present, code[present])),
        shape=(len(values), column.width),
    )
