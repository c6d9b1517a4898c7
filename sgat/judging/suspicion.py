"""Suspicion: wrong edges gather at nodes, so the others of a node say something."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit, log_expit, ndtri

from sgat.judging import shares
from sgat.judging.fitting import minimise
from sgat.judging.matrices import sums_at_ends
from sgat.ops.blocks import by_rows, empty, in_blocks
from sgat.ops.device_array import host

Array = np.ndarray[Any, Any]

LOW = 0.4
"""Share of the pairs of a source that count as unlike."""
TAIL = 0.03
"""How many real edges are so unlike, over the pairs that are, at most."""
RIDGE = 3.0
"""How much the weight of a trait costs, by its square."""


def suspicion(
    ends: Array, num_nodes: int, wrong: Array, usual: float | None = None
) -> Array:
    """How suspect the other edges at both ends of an edge are, in log-odds, [E, 2].

    The sum and the distance of both ends; 0 is as suspect as the average, or `usual`.
    """
    prior, mean = 5.0, float(wrong.mean()) if usual is None else usual
    degree = sums_at_ends(ends, num_nodes)
    total = sums_at_ends(ends, num_nodes, wrong)
    found = empty((len(wrong), 2), np.float32)

    def work(rows: slice) -> None:
        own, sides = wrong[rows], []
        for end in ends[:, rows]:
            bad = total[end] - own
            good = degree[end] - 1 - bad
            odds = (bad + prior * mean + 1e-3) / (good + prior * (1 - mean) + 1e-3)
            sides.append(np.log(odds) - np.log((mean + 1e-4) / (1 - mean + 1e-4)))
        found[rows, 0], found[rows, 1] = sides[0] + sides[1], abs(sides[0] - sides[1])

    in_blocks(work, len(wrong))
    return found


def fit_prior(score: Array, *traits: Array) -> Array:
    """Log-odds that an edge is wrong by its traits alone, each [E, some], [E].

    Unlike edges (score below the quantile LOW of pairs) are nearly all wrong, and of
    the wrong ones a share of LOW is unlike: a logistic regression of being unlike.
    """
    some = slice(None, None, max(len(score) // shares.EDGES, 1))
    few = [host(part[some]) for part in (score, *traits)]
    z = np.column_stack([np.ones(len(few[0])), *few[1:]])
    is_low = few[0] < ndtri(LOW)

    def loss(weight: Array) -> tuple[float, Array]:
        odds = expit(z @ weight)
        share = LOW * (TAIL + (1 - TAIL) * odds)
        fit = np.log(np.where(is_low, share, 1 - share)).sum()
        steep = np.where(is_low, 1 / share, -1 / (1 - share))
        slope = -z.T @ (steep * LOW * (1 - TAIL) * odds * (1 - odds))
        slope[0] -= 2 * (1 - 2 * expit(weight[0]))
        slope[1:] += 2 * RIDGE * weight[1:]
        steady = 2 * (log_expit(weight[0]) + log_expit(-weight[0]))
        return -fit - steady + RIDGE * (weight[1:] ** 2).sum(), slope

    found = minimise(loss, np.r_[-2.0, np.zeros(z.shape[1] - 1)])

    def log_odds(*parts: Array) -> Any:
        return found[0] + np.concatenate(parts, axis=1, dtype=float) @ found[1:]

    return by_rows(log_odds, *traits)
