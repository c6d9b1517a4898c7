"""Random walks over the layers of the context graph of struc2vec.

Tested by `tests/lab/embeddings/test_context_graph.py`.
"""

from __future__ import annotations

import numba
import numpy as np

compiled = numba.njit(nogil=True, cache=True, error_model="numpy")


@compiled
def walk_layers(ptr, step, cumulative, rise, stay, rng, walks):
    """Fill walks, [N rounds, length], that start at every node in turn, in layer 0.

    Class c has the nodes ptr[c] to ptr[c + 1]. With the chance `stay` a walk goes on in
    its layer, to a class by the chances that `cumulative` sums up and to any node of it
    but where it is, and notes it; else it moves to the layer above, with the chance
    `rise`, or below, where there is one.
    """
    num_nodes, length = ptr[-1], walks.shape[1]
    for number in range(len(walks)):
        node, layer = number % num_nodes, 0
        at = np.searchsorted(ptr, node, side="right") - 1
        walks[number, 0] = node
        noted = 1
        while noted < length:
            if rng.random() < stay:
                row = cumulative[layer, at]
                # Above 0 and up to the last sum, so that the class has a chance.
                drawn = (1 - rng.random()) * row[-1]
                away = step[np.searchsorted(row, drawn)]
                at += away
                begin, size = ptr[at], ptr[at + 1] - ptr[at]
                if away == 0:
                    other = begin + int(rng.random() * (size - 1))
                    node = other if other < node else other + 1
                else:
                    node = begin + int(rng.random() * size)
                walks[number, noted] = node
                noted += 1
            elif rng.random() < rise[layer, at]:
                layer += 1
            elif layer > 0:
                layer -= 1
