"""Scores of rows by boosted trees of at most 8 leaves, over at most 64 levels."""

from typing import Any

import numpy as np

from sgat.ops.device_array import DeviceArray


def tree_scores(signals: Any, part: Any, cuts: Any, reach: Any, value: Any) -> Any:
    """Sums of leaves of rows of signals [P, F], float64 [P].

        level_k = number of cuts_k below signal k
        score = Σ_t value[t, AND_k reach[k, level_k, t]]

    Bit l of `reach` says whether leaf l of a tree can still be reached: one is left.
    `part` says which of several sets of trees scores a row, [P] uint8. Of each set,
    `cuts` are [F, 63], `reach` [F, 64, T] uint8, T a multiple of 8, `value` [T, 256].
    """
    if isinstance(signals, DeviceArray):
        from sgat.ops.gpu.tree_scores import tree_scores as on_gpu

        return on_gpu(signals, part, cuts, reach, value)
    from sgat.ops.cpu import threads
    from sgat.ops.cpu.tree_scores import tree_scores_kernel

    score = np.empty(len(signals))
    ranges = threads.even_ranges(len(signals), value.shape[1])
    given = signals, part, cuts, reach.view(np.uint64), value, score
    threads.run(tree_scores_kernel, ranges, *given)
    return score
