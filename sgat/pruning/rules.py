"""Rules: by which score edges stay, and which stay whatever their score.

Tested in tests/pruning/test_choice.py.
"""

from __future__ import annotations

import dataclasses
import enum
from typing import Literal

from sgat.config.checked import CountOrZero, Finite, Settings, ShareLeft

Combination = Literal["max", "min", "mean"]
MARGIN = 1e-3
"""Distance of the gate threshold below the lowest score where all edges are kept."""


class Reason(enum.IntEnum):
    """Why an edge was kept or removed; of several reasons the lowest but 0."""

    REMOVED = 0
    SCORE = 1
    PROTECTED = 2
    MIN_DEGREE = 3
    CONNECTED = 4
    LOOP = 5
    MISSING = 6

    @property
    def label(self) -> str:
        """The reason as it is shown: `min-degree`."""
        return self.name.lower().replace("_", "-")


@dataclasses.dataclass(frozen=True)
class Rules(Settings):
    """The edges that stay.

    The score decides first: the share `keep` of the edges with the highest scores, or
    the edges above `threshold`, or, without either, above the model's own threshold.

    `min_degree`, `keep_connected` and protected edges are guarantees: what they name
    stays whatever its score. With `keep`, guaranteed edges count towards the share and
    the rest is filled by score, so the share holds; if they alone are more than the
    share, all of them stay, nothing is filled, and a note says so.

    Attributes:
        keep: Share of the edges to keep, in (0, 1]: round(keep · E) edges.
        threshold: The log α above which an edge is kept; not together with `keep`.
        symmetric: Both directions of an edge get the larger, the smaller or the mean of
            their scores and stay or go as one. An edge without a reverse has its own
            score. A pair that does not fit into the share as a whole is left out, so
            `keep` may fall short by one edge.
        min_degree: Every node keeps its so many best in-edges, or all it has.
        keep_connected: The maximum spanning forest of the scores stays, edges taken
            without direction, so the number of connected components is unchanged.
    """

    keep: ShareLeft | None = None
    threshold: Finite | None = None
    symmetric: Combination | None = None
    min_degree: CountOrZero = 0
    keep_connected: bool = False

    def __post_init__(self) -> None:
        """Refuse values that mean nothing, and rules that contradict each other."""
        super().__post_init__()
        if self.keep is not None and self.threshold is not None:
            raise ValueError(
                f"`keep` and `threshold` exclude each other, got {self.keep} and"
                f" {self.threshold}."
            )

    def gate_threshold(
        self,
        threshold: float,
        lowest_kept: float | None = None,
        highest_removed: float | None = None,
    ) -> float:
        """The log α above which gates are open: the model's own, or the cut if lower.

        Rules that keep more edges than the model move its threshold down, so that every
        edge that the score keeps sends messages. Rules that keep fewer leave the gates
        of the kept edges as they are.

        Args:
            threshold: The model's own.
            lowest_kept: Lowest score among the round(keep · E) best; None without any.
            highest_removed: Highest score among the others; None without any.
        """
        if self.threshold is not None:
            return min(self.threshold, threshold)
        if self.keep is None or lowest_kept is None:
            return threshold
        if highest_removed is None:
            return min(threshold, lowest_kept - MARGIN)
        return min(threshold, (lowest_kept + highest_removed) / 2)


def too_many_guaranteed(guaranteed: int, wanted: int, keep: float) -> str:
    """The note that guarantees alone are more than the share to keep."""
    return (
        f"the rules guarantee {guaranteed:,} edges, more than the {wanted:,} of a"
        f" share of {keep:g}; all of those stay, and no others"
    )
