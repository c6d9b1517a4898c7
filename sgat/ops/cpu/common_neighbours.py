"""Sums over the common neighbours of pairs of nodes, by merging sorted lists.

Tested by tests/ops/test_common_neighbours.py.
"""

import numpy as np
from torch import Tensor

from sgat.graph import Graph
from sgat.ops.cpu import threads
from sgat.ops.cpu.lanes import compiled
from sgat.ops.cpu.pieces import array

# Looking one node up in a list takes as long as walking over about so many.
LOOK_UP = 8


@compiled
def sum_common_kernel(first, last, ptr, neighbour, small, large, value, total):
    """total_p = Σ value_k over the k next to both small_p and large_p, ascending."""
    for pair in range(first, last):
        i, i_end = ptr[small[pair]], ptr[small[pair] + 1]
        j, j_end = ptr[large[pair]], ptr[large[pair] + 1]
        looks_up = LOOK_UP * (i_end - i) < j_end - j
        while i < i_end and j < j_end:
            wanted = neighbour[i]
            if looks_up:
                j += np.searchsorted(neighbour[j:j_end], wanted)
            else:
                while j < j_end and neighbour[j] < wanted:
                    j += 1
            if j < j_end and neighbour[j] == wanted:
                for column in range(value.shape[1]):
                    total[pair, column] += value[wanted, column]
            i += 1


def add_common(
    graph: Graph, small: Tensor, large: Tensor, value: Tensor, total: Tensor
) -> None:
    """Add to `total` the sums of `sgat.ops.common_neighbours.sum_common`."""
    degree = graph.row_ptr.diff()
    pair_ptr = np.concatenate([[0], array(degree[small].cumsum(0))])
    parts = threads.ranges(pair_ptr, LOOK_UP)
    pairs = (small, large, value.contiguous(), total)
    tensors = (graph.row_ptr, graph.src, *pairs)
    threads.run(sum_common_kernel, parts, *(array(tensor) for tensor in tensors))
