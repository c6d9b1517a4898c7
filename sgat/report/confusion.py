"""Which classes are taken for which; for several labels, how well each is found."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
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


@dataclasses.dataclass(frozen=True)
class LabelScore:
    """How well one of several labels is found.

    Attributes:
        name: Name of the label.
        support: Nodes that have it.
        precision: Share of the nodes it is predicted for that have it; None for none.
        recall: Share of the nodes that have it, for which it is predicted; likewise.
        f1: Their harmonic mean; None where no node has it and it is never predicted.
    """

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
    """Precision, recall and F1 of every label, over all graphs; and of which nodes."""
    masks, nodes = scored_nodes(scored)
    parts = list(zip(scored, masks, strict=True))
    true = torch.cat([part.data.y[mask] for part, mask in parts]) > 0
    predicted = torch.cat([part.prediction[mask] for part, mask in parts]) > 0
    hits = (true & predicted).sum(dim=0).tolist()
    support, asked = true.sum(dim=0).tolist(), predicted.sum(dim=0).tolist()
    scores = [
        LabelScore(
            name=name,
            support=support[k],
            precision=_share(hits[k], asked[k]),
            recall=_share(hits[k], support[k]),
            f1=_share(2 * hits[k], asked[k] + support[k]),
        )
        for k, name in enumerate(scored[0].data.classes)
    ]
    return scores, nodes


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None
