"""Reasons: what speaks most for the verdict on an edge, in a phrase.

Tested by tests/judging/test_verdict.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np
from scipy.special import ndtri

from sgat.judging.pairs import Pairs
from sgat.judging.signals import Signals
from sgat.judging.suspicion import suspicion
from sgat.ops.blocks import by_rows, empty, placed
from sgat.ops.device_array import host

Array = np.ndarray[Any, Any]

OUTDONE = 0.9
"""Share of pairs of any nodes that an edge with a telling likeness outdoes."""

OF_CLASSES, ONE_CLASS = -3, 0.8
"""Column of the cosine of the classes around both ends, where classes are known, and
the share of the pairs of any nodes that count as unlike by it."""

REASONS = (
    "nothing speaks against it",
    "its ends are alike",
    "its ends share neighbours",
    "the neighbours of its ends are alike",
    "its ends are unlike",
    "its ends are unlike and share no neighbour",
    "the neighbours of its ends are unlike",
    "many edges at its ends look wrong",
    "too few edges to tell",
)
"""Reasons for a verdict, the most telling for each edge."""
LOOP = "self-loop, not judged"


def phrases(columns: Sequence[Any] = ()) -> list[str]:
    """REASONS, LOOP, and one for each number that columns of edges become.

    A `FeatureColumn` of words becomes a number for each of its words.
    """
    found = [*REASONS, LOOP]
    for each in columns:
        words = each.categories if each.kind == "category" else ()
        found += [f"many edges with {each.name} {word} look wrong" for word in words]
        if not words:
            found += each.width * [f"many edges with such {each.name} look wrong"]
    return found


def with_deciding(reason: Array, column: Array) -> Array:
    """Places in `phrases` of reasons, the column in their stead where one decided."""
    found = np.where(column < 0, host(reason), column + len(REASONS) + 1)
    return placed(found.astype(np.int16))


class Traces:
    """What single signals of the edges say, of which a reason is made."""

    def __init__(self, signals: Signals, pairs: Array, count: int) -> None:
        self.signals, self.has_features = signals, signals.has_features
        self.shared, self.alike, self.alike_around = empty((3, count), bool)
        self.alike[:], self.alike_around[:] = False, False
        self.ordered = np.sort(pairs.T)
        self.limits = self.ordered[[0, 3], int(OUTDONE * len(pairs))]
        # The cosine or the shared part of the neighbours, which outdoes more pairs.
        self.plain = empty(count, np.float32)
        self.places = [*range(self.has_features), signals.shared + 5]
        self.of_one_class: Array | None = None
        if signals.has_classes:
            self.of_one_class = empty(count, bool)
            self.class_limit = np.quantile(pairs[:, OF_CLASSES], ONE_CLASS)

    def agree(self, signals: Array) -> Array:
        """Whether the classes around both ends are alike, by the signals, [P] bool."""
        found: Array = signals[:, OF_CLASSES] > self.class_limit
        return found

    def keep(self, pairs: Pairs) -> Array:
        """All signals of some edges, of which traces are kept."""
        found, rows = self.signals.of_all(pairs), pairs.place
        self.shared[rows] = found[:, self.signals.shared] > 0
        if self.of_one_class is not None:
            self.of_one_class[rows] = self.agree(found)
        given = [(self.ordered[place], found[:, place]) for place in self.places]
        below, upto = (
            reduce(np.maximum, [np.searchsorted(*both, side) for both in given])
            for side in ("left", "right")
        )
        share = (below + upto + 1) / (2 * self.ordered.shape[1] + 2)
        self.plain[rows] = ndtri(share ** len(given))
        if self.has_features:
            alike = found[:, (0, 3)] > self.limits
            self.alike[rows], self.alike_around[rows] = alike.T
        return found


def find_reasons(
    wrong: Array, traces: Any, ends: Array, num_nodes: int, usual: float | None = None
) -> Array:
    """The place in REASONS of what speaks most for the verdict, [E].

    Of `Traces` it takes `shared`, `alike`, `alike_around` and `has_features`. `usual`
    is P(wrong) on average over the whole graph, if these are not all edges.
    """
    lacks_features = not traces.has_features

    def find(*parts: Array) -> Array:
        wrong, suspect, shared, alike, alike_around = parts
        is_wrong = wrong > 0.5
        choices = [
            ("many edges at its ends look wrong", is_wrong & (suspect[:, 0] > 1.5)),
            ("the neighbours of its ends are unlike", is_wrong & lacks_features),
            ("its ends are unlike and share no neighbour", is_wrong & ~shared),
            ("its ends are unlike", is_wrong),
            ("its ends share neighbours", shared),
            ("its ends are alike", alike),
            ("the neighbours of its ends are alike", alike_around),
        ]
        reason = np.zeros_like(wrong, dtype=np.int8)
        for phrase, condition in reversed(choices):
            reason[condition] = REASONS.index(phrase)
        return reason

    suspect = suspicion(ends, num_nodes, wrong, usual)
    likely = traces.shared, traces.alike, traces.alike_around
    return by_rows(find, wrong, suspect, *likely, dtype=np.int8)
