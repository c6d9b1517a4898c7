"""Node tables: ids, features, labels and the roles of the nodes."""

import dataclasses
import logging
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch
from torch import Tensor

from sgat.config import FileOptions
from sgat.data.files.columns import (
    decoded,
    first,
    is_string,
    numbers,
    typed_text,
    with_nulls,
)
from sgat.data.files.encoding import FEW, Encoding, FeatureColumn, encode, fit_column
from sgat.data.files.source import UNNAMED, Source, listed
from sgat.data.node_data import ROLES, are_numbers
from sgat.data.splits import ROLE_WORDS
from sgat.features import Features, SparseFeatures

logger = logging.getLogger(__name__)

MOST_SPREAD = 100.0
"""Standard deviation of a column above which its unit is remarked on."""
ALONE = (
    "%s, column %r: classes of one row only: %s; a class takes more to be learned and"
    " tested, or the label is another column."
)
TRUTH = {"0": 0.0, "false": 0.0, "1": 1.0, "true": 1.0}


@dataclasses.dataclass(frozen=True, eq=False)
class NodeColumns:
    """Content of the columns of a node table, in the order of its rows."""

    x: Features  # [N, K]
    y: Tensor  # [N] or [N, C], as in `NodeData`
    classes: tuple[Any, ...]
    roles: dict[str, Tensor]  # [N] each
    features: tuple[FeatureColumn, ...]
    others: dict[str, str]  # what became of columns that are no features


def read_nodes(
    source: Source, options: FileOptions, encoding: Encoding | None
) -> NodeColumns:
    """Read features, labels and roles; `encoding` is that of an earlier file.

    With an encoding, columns of labels and roles may be missing.
    """
    size = len(source.table)
    if encoding is not None:
        options = _without_missing(source, options)
    split = options.split_column or source.untaken("split", options.drop)
    # Checked before the column that was meant is read, and refused, as a feature.
    for name in options.labels:
        source.column(name, "a label (`labels`)")
    if options.label is not None:
        source.column(options.label, "the label (`label`)")
    others = dict.fromkeys(options.labels, "label, 0 or 1")
    if encoding is None:
        names = _feature_names(source, options, split)
        found = {name: fit_column(source, name, options) for name in names}
        others |= {name: why for name, why in found.items() if isinstance(why, str)}
        fitted = (each for each in found.values() if isinstance(each, FeatureColumn))
        features, given = tuple(fitted), None
    else:
        features, given = encoding.features, encoding.classes
    x: Features = SparseFeatures.identity(size)
    if features:
        zeros = options.unknown_category == "zero"
        x = encode(source, features, ignore_unknown=zeros)
    if encoding is None and features and isinstance(x, Tensor):
        _warn_of_units(source, features, x)
    if options.labels:
        y, classes = _labels(source, options.labels), tuple(options.labels)
    elif options.label is not None:
        y, classes = _classes(source, options.label, given or None)
    else:
        y, classes = torch.full((size,), -1), given or ()
    roles = read_roles(source, split)
    others |= {options.id: "node id"} | ({} if split is None else {split: "split"})
    if options.label is not None:
        others[options.label] = f"label of {len(classes)} classes"
        for role, mask in roles.items():
            problem = f"the label is missing, but the split is {role!r}."
            source.refuse((mask & (y < 0)).numpy(), options.label, problem)
        if encoding is None and isinstance(x, Tensor):
            _warn_of_labels(source, features, x, y, options.label)
    return NodeColumns(x, y, classes, roles, features, others)


def _warn_of_units(
    source: Source, features: Sequence[FeatureColumn], x: Tensor
) -> None:
    """Say so where a column spreads so far that a network would see little else."""
    if not x.numel():
        return  # vectors of no numbers
    low, high = x.aminmax()
    if float(high) - float(low) <= 2 * MOST_SPREAD:
        return  # no deviation is more than half of the range
    names = [each.name for each in features for _ in range(each.width)]
    spread, place = x.double().std(dim=0, correction=0).max(dim=0)
    if float(spread) > MOST_SPREAD:
        logger.warning(
            "%s, column %r has a standard deviation of %.3g; `standardise` brings the"
            " numbers of all columns to 1.",
            *(source.name, names[int(place)], float(spread)),
        )


def _warn_of_labels(
    source: Source, features: Sequence[FeatureColumn], x: Tensor, y: Tensor, label: str
) -> None:
    """Say so where a column has one value for each class: it may be the label."""
    known = (y >= 0).nonzero().squeeze(1)
    few, start = known[:1000], 0
    for column in features:
        part = x[:, start : start + column.width]
        start += column.width
        if column.kind not in ("number", "category") or len(known) <= FEW:
            continue
        value = part.argmax(dim=1) if column.kind == "category" else part[:, 0]
        if _pair_up(value[few], y[few]) and _pair_up(value[known], y[known]):
            logger.warning(
                "%s, column %r has one value for each class of %r, as if it were the"
                " label; `drop` leaves it out of the features.",
                *(source.name, column.name, label),
            )


def _pair_up(value: Tensor, y: Tensor) -> bool:
    """Whether each value goes with one class and each class with one value."""
    if not len(value.unique()) == (number := len(y.unique())) > 1:
        return False
    pairs = torch.stack([value.double(), y.double()])
    return bool(pairs.unique(dim=1).shape[1] == number)


def _without_missing(source: Source, options: FileOptions) -> FileOptions:
    """The options without labels and roles that the file does not have."""
    names = set(source.table.column_names)
    return dataclasses.replace(
        options,
        label=options.label if options.label in names else None,
        labels=options.labels if names & set(options.labels) else (),
        split_column=options.split_column if options.split_column in names else None,
    )


def _feature_names(
    source: Source, options: FileOptions, split: str | None
) -> list[str]:
    if options.features is not None:
        return list(options.features)
    taken = {options.id, options.label, split, *options.labels, *options.drop}
    return [
        name
        for name in source.table.column_names
        # pandas gives these names to an index that was written by accident.
        if name not in taken and not name.startswith((UNNAMED, "__index_level_"))
    ]


def _classes(
    source: Source, name: str, given: tuple[Any, ...] | None
) -> tuple[Tensor, tuple[Any, ...]]:
    column = with_nulls(source.column(name, "the label"))
    if name in source.text_columns:
        typed = typed_text(column)
        column = typed if pa.types.is_integer(typed.type) else column
    if pa.types.is_nested(column.type):
        raise source.fault(f"{column.type} cannot be a label.", name)
    if given is None:
        values = pc.unique(column).drop_null()
        values = values.take(pc.sort_indices(values))
        if len(values) < 2:
            found = repr(values[0].as_py()) if len(values) else "no label at all"
            got = f"got {found} in {len(column)} rows."
            raise source.fault(f"must hold at least 2 classes, {got}", name)
        labelled = len(column) - column.null_count
        if are_numbers(len(values), labelled):
            got = f"{len(values):,} different values in {labelled:,} rows"
            advice = "name another column as `label`."
            raise source.fault(f"must hold classes, got {got}; {advice}", name)
        classes = tuple(values.to_pylist())
        counts = pc.value_counts(column.drop_null()).flatten()
        alone = counts[0].filter(pc.equal(counts[1], 1)).to_pylist()
        if alone:
            logger.warning(ALONE, source.name, name, listed(sorted(alone)))
    else:
        column, classes = column.cast(pa.string()), given
        values = pa.array(given).cast(pa.string())
    found = pc.index_in(column, value_set=values)
    row = first(pc.and_(pc.is_null(found), pc.is_valid(column)))
    if row >= 0:
        problem = f"{column[row].as_py()!r} is not among the classes of the encoding,"
        problem += f" {', '.join(map(str, classes[:10]))}."
        raise source.fault(problem, name, row)
    code = np.asarray(pc.fill_null(found, -1).to_numpy(), dtype=np.int64)
    return torch.from_numpy(code.copy()), classes


def _labels(source: Source, names: tuple[str, ...]) -> Tensor:
    columns = []
    for name in names:
        column = decoded(source.column(name, "a label"))
        if is_string(column.type):
            text = pc.utf8_lower(pc.utf8_trim_whitespace(column))
            known = pa.array(list(TRUTH), text.type)
            code = pc.fill_null(pc.index_in(text, value_set=known), -1).to_numpy()
            value = np.append(list(TRUTH.values()), np.nan)[code]
        else:
            value = numbers(source, name)
        source.refuse((value != 0) & (value != 1), name, "must be 0 or 1, got {}.")
        columns.append(torch.tensor(value))
    return torch.stack(columns, dim=1).to(torch.get_default_dtype())


def read_roles(source: Source, name: str | None) -> dict[str, Tensor]:
    """The nodes of each role, [N] bool, by the words of a column; None gives none."""
    role = np.full(len(source.table), None)
    if name is not None:
        column = decoded(source.column(name, "the split (`split_column`)"))
        if not is_string(column.type) and column.null_count < len(column):
            raise source.fault(
                f"must hold train, val, test or nothing, got {column.type}.", name
            )
        if not is_string(column.type):
            column = pa.nulls(len(column), pa.string())
        text = pc.utf8_lower(pc.utf8_trim_whitespace(pc.fill_null(column, "")))
        found = pc.index_in(text, value_set=pa.array(ROLE_WORDS))
        problem = "must be train, val, test or nothing, got {}."
        source.refuse(pc.is_null(found), name, problem)
        role = np.array(list(ROLE_WORDS.values()))[found.to_numpy()]
    return {name: torch.from_numpy(role == name) for name in ROLES}
