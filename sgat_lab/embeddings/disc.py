"""Disc: nodes with places in the hyperbolic plane, as Poincaré's disc shows it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.spatial import cKDTree

from sgat_lab.embeddings.neighbours import Array, Integers
from sgat_lab.embeddings.radius import find_radius


def hyperbolic_distance(x: Array, y: Array) -> Array:
    """Distance of points of the disc, [M].

    d = arcosh(1 + 2 |x - y|² / ((1 - |x|²)(1 - |y|²)))

    Args:
        x: Points, |x| < 1, [M, 2].
        y: Other points, [M, 2].
    """
    room = (1 - (x**2).sum(axis=1)) * (1 - (y**2).sum(axis=1))
    excess = 2 * ((x - y) ** 2).sum(axis=1) / room
    # arcosh(1 + e), in a form that keeps small distances.
    found: Array = np.log1p(excess + np.sqrt(excess * (excess + 2)))
    return found


def euclidean_balls(places: Array, radius: float) -> tuple[Array, Array]:
    """The balls of the plane that are the hyperbolic balls around points of the disc.

        T = tanh(r/2),  centre = x (1 - T²) / (1 - T² |x|²)
        radius = T (1 - |x|²) / (1 - T² |x|²)

    Returns:
        Centres, [N, 2], and radii, [N].
    """
    reach = np.tanh(radius / 2)
    square = (places**2).sum(axis=1)
    scale = 1 / (1 - reach**2 * square)
    return places * ((1 - reach**2) * scale)[:, None], reach * (1 - square) * scale


class Disc(NamedTuple):
    """Places of nodes in the hyperbolic plane.

    Attributes:
        places: Coordinates in Poincaré's disc, of length below 1, [N, 2].
        component: Which nodes are comparable: those with the same number, [N].
    """

    places: Array
    component: Integers

    def direction(self, src: Integers, dst: Integers) -> Integers:
        """Direction of src as seen from dst: 0 lower left, 1 lower right, 2, 3 upper.

        Upper is nearer to the origin, as in the paper; right is counter-clockwise by at
        most half a turn.
        """
        one, other = self.places[src], self.places[dst]
        is_right = other[:, 0] * one[:, 1] - other[:, 1] * one[:, 0] >= 0
        is_upper = (one**2).sum(axis=1) <= (other**2).sum(axis=1)
        found: Integers = is_right + 2 * is_upper
        return found

    def near_pairs(self, number: int) -> Integers:
        """Ordered pairs of nodes of one component that are close, [2, M].

        The `number` closest by hyperbolic distance, and those as close as the last of
        them; fewer where components are too small for so many pairs.

        Raises:
            ValueError: If so many nodes share a place that there are too many pairs.
        """
        size = len(self.places)
        # Discs of components are layers too far apart to be near each other.
        layer = 8 * self.component
        tree = cKDTree(np.column_stack([self.places, layer]))

        def within(radius: float, *, only_count: bool) -> Integers:
            centres, radii = euclidean_balls(self.places, radius)
            found: Integers = tree.query_ball_point(
                np.column_stack([centres, layer]),
                radii * (1 + 1e-9),
                return_length=only_count,
            )
            return found

        def count(radius: float) -> int:
            return int(within(radius, only_count=True).sum()) - size

        origin = np.zeros_like(self.places)
        outermost = hyperbolic_distance(origin, self.places).max(initial=0)
        radius = find_radius(count, number, 2 * float(outermost) + 1, 1e-4)
        lists = within(radius, only_count=False)
        lengths = [len(found) for found in lists]
        one = np.repeat(np.arange(size), lengths)
        other = np.concatenate([*lists, []]).astype(np.int64)
        pairs = np.stack([one, other])[:, one < other]
        apart = hyperbolic_distance(self.places[pairs[0]], self.places[pairs[1]])
        wanted = min((number + 1) // 2, len(apart))
        if wanted == 0:
            return np.empty((2, 0), dtype=np.int64)
        pairs = pairs[:, apart <= np.partition(apart, wanted - 1)[wanted - 1]]
        return np.concatenate([pairs, pairs[::-1]], axis=1)
