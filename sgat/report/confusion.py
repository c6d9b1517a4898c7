"""Counts by classes: which are taken for which, which edges join; scores of labels.

Tested by tests/report/test_confusion.py and tests/report/test_class_edges.py.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
from sklearn.metrics import precision_recall_fscore_support
from torch import Tensor

from sgat.ops.blocks import in_threads
from sgat.scored import ScoredGraph

Array = np.ndarray[Any, Any]

MOST_CLASSES = 24
"""Classes with a row of their own; the rarest of more share one."""
ROLES = {"test": "test nodes", "val": "validation nodes", "train": "training nodes"}


class Confusion(NamedTuple):
    """Counts of nodes by their class and the predicted one."""

    names: tuple[Any, ...]  # of the classes; None stands for all rarer ones
    counts: Array  # nodes of class (row) predicted as class (column), [R, R]
    nodes: str  # which nodes were counted, in words


class ClassEdges(NamedTuple):
    """Edges by the classes of their ends."""

    names: tuple[Any, ...]  # of the classes; None stands for all rarer ones
    counts: Array  # edges from class (row) to class (column), and the kept, [R, R, 2]


class LabelScore(NamedTuple):
    """How well one of several labels is found; None where a share is of nothing."""

    name: Any
    support: int
    precision: float | None
    recall: float | None
    f1: float | None


def judged_nodes(scored: Sequence[ScoredGraph]) -> tuple[Tensor, Tensor, str]:
    """Labels and predictions of the nodes to judge by, and what they are called.

    Test nodes, where there are any; else those that chose the model, or trained it.
    """
    masks = {role: [getattr(part.data, role) for part in scored] for role in ROLES}
    role = next((r for r, parts in masks.items() if torch.cat(parts).any()), None)
    chosen = list(zip(scored, masks[role or "train"], strict=True))
    true = torch.cat([part.data.y[mask] for part, mask in chosen])
    predicted = torch.cat([part.prediction[mask] for part, mask in chosen])
    return true, predicted, ROLES[role] if role else "no nodes"


def confusion(scored: Sequence[ScoredGraph], most: int = MOST_CLASSES) -> Confusion:
    """True against predicted classes, over all graphs."""
    true, predicted, nodes = judged_nodes(scored)
    size = scored[0].data.num_classes
    found = torch.bincount(true * size + predicted, minlength=size**2).numpy()
    counts = found.reshape(size, size)
    names, (counts,) = merge_rare(scored[0].data.classes, [counts], most)
    return Confusion(names, counts, nodes)


def merge_rare(
    names: tuple[Any, ...], counts: Sequence[Array], most: int = MOST_CLASSES
) -> tuple[tuple[Any, ...], list[Array]]:
    """Put all but the most frequent classes into one row and column, named None.

    Of the counts by pairs of classes, [C, C], the first says what is frequent.
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
    """Scores of every label over all graphs, the most frequent first; which nodes."""
    *both, nodes = judged_nodes(scored)
    # Without nodes to judge by there is one that has no label.
    true, predicted = (
        (part if len(part) else part.new_zeros(1, part.shape[1])).numpy() > 0
        for part in both
    )
    rates = precision_recall_fscore_support(true, predicted, zero_division=np.nan)
    rows = np.stack(rates, axis=1).astype(object)
    rows[rows != rows] = None
    found = [
        LabelScore(name, int(support), *shares)
        for name, (*shares, support) in zip(scored[0].data.classes, rows, strict=True)
    ]
    return sorted(found, key=lambda label: -label.support), nodes


def class_edges(scored: Sequence[ScoredGraph]) -> ClassEdges | None:
    """Edges by the predicted classes of their ends, rare ones as one; None without."""
    size = scored[0].data.num_classes
    counts = np.zeros((size, size, 2), dtype=np.int64)
    for part in scored:
        found = in_threads(partial(_pair_counts, part), part.data.graph.num_edges)
        counts += sum(found)
    if not counts.any():
        return None
    tables = [counts.sum(axis=2), counts[..., 1]]
    names, tables = merge_rare(scored[0].data.classes, tables)
    return ClassEdges(names, np.stack(tables, axis=-1))


def _pair_counts(part: ScoredGraph, rows: slice) -> Array:
    """Edges by the classes of their ends, those that go before the kept, [C, C, 2]."""
    graph, size = part.data.graph, part.data.num_classes
    columns = graph.src, graph.dst, part.edges.kept
    src, dst, kept = (column[rows].numpy() for column in columns)
    kind = 2 * part.prediction.numpy()
    pair = (size * kind).take(src) + kind.take(dst) + kept
    return np.bincount(pair, minlength=2 * size * size).reshape(size, size, 2)
