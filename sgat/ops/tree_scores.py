"""Scores of rows by boosted trees of at most 8 leaves, over at most 64 levels."""

from typing import Any

from sgat.ops.device_array import kernels


def tree_scores(signals: Any, part: Any, cuts: Any, reach: Any, value: Any) -> Any:
    """Sums of leaves of rows of signals [P, F], float64 [P].

        level_k = number of cuts_k below signal k
        score = Σ_t value[t, AND_k reach[k, level_k, t]]

    Bit l of `reach` says whether leaf l of a tree can still be reached: one is left.
    `part` says which of several sets of trees scores a row, [P] uint8. Of each set,
    `cuts` are [F, 63], `reach` [F, 64, T] uint8, T a multiple of 8, `value` [T, 256].
    """
    where = kernels("tree_scores", signals)
    return where.tree_scores(signals, part, cuts, reach, value)
