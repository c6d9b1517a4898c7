"""Sums of the leaves of boosted trees, found by bits instead of by branches."""

from typing import Any

import numpy as np

from sgat.ops import threads
from sgat.ops.cpu.lanes import compiled
from sgat.ops.cpu.pieces import Array

HALF_LEVELS = 32
TREES_IN_WORD, BITS, LEAVES_OF_TREE = 8, np.uint64(8), np.uint64(255)


@compiled
def tree_scores_kernel(first, last, signals, part, cuts, reach, value, score):
    """score_p = Σ_t value of the one leaf of tree t that every signal leaves open."""
    num_words = reach.shape[3]
    still_open = np.empty(num_words, dtype=np.uint64)
    for row in range(first, last):
        trees = part[row]
        still_open[:] = ~np.uint64(0)
        for k in range(signals.shape[1]):
            level, step = 0, HALF_LEVELS
            while step:
                level += step * (cuts[trees, k, level + step - 1] < signals[row, k])
                step >>= 1
            for word in range(num_words):
                still_open[word] &= reach[trees, k, level, word]
        total = 0.0
        for word in range(num_words):
            bits = still_open[word]
            for tree in range(TREES_IN_WORD * word, TREES_IN_WORD * (word + 1)):
                total += value[trees, tree, bits & LEAVES_OF_TREE]
                bits >>= BITS
        score[row] = total


def tree_scores(signals: Any, part: Any, cuts: Any, reach: Any, value: Any) -> Array:
    """See `sgat.ops.tree_scores.tree_scores`."""
    score = np.empty(len(signals))
    ranges = threads.even_ranges(len(signals), value.shape[1])
    given = signals, part, cuts, reach.view(np.uint64), value, score
    threads.run(tree_scores_kernel, ranges, *given)
    return score
