"""One pass of skip-gram with negative sampling over walks, in two dimensions.

Tested by `tests/lab/embeddings/test_skip_gram.py`.
"""

from __future__ import annotations

import math

import numba
import numpy as np

compiled = numba.njit(nogil=True, cache=True, error_model="numpy")

# Knuth's linear generator, whose high words are good enough to draw negatives: with it
# a pass takes half as long.
FACTOR, SHIFT = np.uint64(6364136223846793005), np.uint64(1442695040888963407)
HALF = np.uint64(32)


@compiled
def read_walks(walks, order, inner, outer, noise, window, draws, rates, rng):
    """Descend for every node of the walks and the nodes around it; changes the vectors.

    The loss of node u and a node v of its context is
    -log σ(inner_u · outer_v) - Σ log σ(-inner_u · outer_v'), with v' drawn from
    `noise`. A context reaches 1 to `window` places, at random, as in word2vec. `rates`
    are those of the first and the last walk.
    """
    length, size = walks.shape[1], np.uint64(len(noise))
    state = np.uint64(rng.random() * 2**53)
    for number in range(len(order)):
        rate = rates[0] + (rates[1] - rates[0]) * number / len(order)
        walk = walks[order[number]]
        for centre in range(length):
            node = walk[centre]
            reach = 1 + int(rng.random() * window)
            for at in range(max(centre - reach, 0), min(centre + reach + 1, length)):
                if at == centre:
                    continue
                x0, x1 = inner[node, 0], inner[node, 1]
                move0, move1 = 0.0, 0.0
                for draw in range(draws + 1):
                    if draw == 0:
                        other, label = walk[at], 1.0
                    else:
                        state = state * FACTOR + SHIFT
                        drawn = ((state >> HALF) * size) >> HALF
                        other, label = noise[drawn], 0.0
                        if other == walk[at]:
                            continue
                    y0, y1 = outer[other, 0], outer[other, 1]
                    score = 1 / (1 + math.exp(-(x0 * y0 + x1 * y1)))
                    push = rate * (label - score)
                    move0 += push * y0
                    move1 += push * y1
                    outer[other, 0] += push * x0
                    outer[other, 1] += push * x1
                inner[node, 0] += move0
                inner[node, 1] += move1
