"""Which classes are taken for which; for several labels, how well each is found."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from sklearn.metrics import precision_recall_fscore_support
from torch import Tensor

from sgat.scored import ScoredGraph

Array = np.ndarray[Any, Any]

MOST_CLASSES = 24
"""Classes with a row of their own; the rarest of more share one."""
ROLES = {"test": "test nodes", "val": "validation nodes", "train": "training nodes"}


@dataclasses.dataclass(frozen=True, eq=False)
class Confusion:
    """Counts of nodes by their class and the predicted one.

    Attributes:
        names: Names of the rows and columns; None stands for all rarer classes.
        counts: Nodes of class (row) predicted as class (column), [R, R].
        nodes: Which nodes were counted, in words.
    """

    names: tuple[Any, ...]
    counts: Array
    nodes: str


class LabelScore(NamedTuple):
    """How well one of several labels is found; None where a share is of nothing."""

    name: Any
    support: int
    precision: float | None
    recall: float | None
    f1: float | None


def scored_nodes(scored: Sequence[ScoredGraph]) -> tuple[list[Tensor], str]:
    """Masks of the nodes to judge by, and what they are called.

    Test nodes, where there are any; else those that chose the model, or trained it.
    """
    for role, text in ROLES.items():
        masks = [getattr(part.data, role) for part in scored]
        if any(bool(mask.any()) for mask in masks):
            return masks, text
    return [torch.zeros_like(part.data.train) for part in scored], "no nodes"


def confusion(scored: Sequence[ScoredGraph], most: int = MOST_CLASSES) -> Confusion:
    """Count true against predicted classes, over all graphs.

    Args:
        scored: The graphs, one class per node.
        most: Classes with a row of their own.
    """
    masks, nodes = scored_nodes(scored)
    size = scored[0].data.num_classes
    counts = np.zeros((size, size), dtype=np.int64)
    for part, mask in zip(scored, masks, strict=True):
        pair = part.data.y[mask] * size + part.prediction[mask]
        counts += torch.bincount(pair, minlength=size**2).numpy().reshape(size, size)
    names, (counts,) = merge_rare(scored[0].data.classes, [counts], most)
    return Confusion(names, counts, nodes)


def merge_rare(
    names: tuple[Any, ...], counts: Sequence[Array], most: int = MOST_CLASSES
) -> tuple[tuple[Any, ...], list[Array]]:
    """Put all but the most frequent classes into one row and column, named None.

    Args:
        names: Names of the classes.
        counts: Counts by pairs of classes, [C, C]; the first says what is frequent.
        most: Rows that are left at most.
    """
    size = len(names)
    if size <= most:
        return names, list(counts)
    frequency = counts[0].sum(axis=1) + counts[0].sum(axis=0)
    common = np.sort(np.argsort(-frequency, kind="stable")[: most - 1])
    group = np.full(size, most - 1)
    group[common] = np.arange(most - 1)
    merged = []
    for table in counts:
        small = np.zeros((most, most), dtype=np.int64)
        np.add.at(small, (group[:, None], group[None, :]), table)
        merged.append(small)
    return (*(names[k] for k in common), None), merged


def label_scores(scored: Sequence[ScoredGraph]) -> tuple[list[LabelScore], str]:
    """Precision, recall and F1 of every label, the most frequent first; of which nodes.

    They are those of all graphs together.
    """
    masks, nodes = scored_nodes(scored)
    parts = list(zip(scored, masks, strict=True))
    true = torch.cat([part.data.y[mask] for part, mask in parts]) > 0
    predicted = torch.cat([part.prediction[mask] for part, mask in parts]) > 0
    # Without nodes to judge by there is one that has no label.
    true, predicted = (
        part if len(part) else part.new_zeros(1, part.shape[1])
        for part in (true, predicted)
    )
    rates = precision_recall_fscore_support(
        true.numpy(), predicted.numpy(), zero_division=np.nan
    )
    rows = np.stack(rates, axis=1).astype(object)
    rows[rows != rows] = None
    found = [
        LabelScore(name, int(support), *shares)
        for name, (*shares, support) in zip(scored[0].data.classes, rows, strict=True)
    ]
    return sorted(found, key=lambda label: -label.support), nodes
