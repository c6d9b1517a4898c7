"""Plane: nodes with places in the Euclidean plane."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.spatial import cKDTree

from sgat_lab.embeddings.neighbours import Array, Integers
from sgat_lab.embeddings.radius import find_radius


class Plane(NamedTuple):
    """Places of nodes in the Euclidean plane.

    Attributes:
        places: Coordinates, [N, 2].
        component: Which nodes are comparable: those with the same number, [N].
    """

    places: Array
    component: Integers

    def direction(self, src: Integers, dst: Integers) -> Integers:
        """Direction of src seen from dst: 0 lower left, 1 lower right, 2, 3 upper."""
        step = self.places[src] - self.places[dst] >= 0
        found: Integers = step[:, 0] + 2 * step[:, 1]
        return found

    def near_pairs(self, number: int) -> Integers:
        """Ordered pairs of nodes of one component that are close, [2, M].

        The radius is the smallest that gives at least `number` pairs: the average node
        has as many neighbours in the plane as in the graph. It has more where many
        nodes share a place, and fewer where components are too small for so many pairs.

        Raises:
            ValueError: If so many nodes share a place that there are too many pairs.
        """
        size = len(self.places)
        widest = 4 * float(np.abs(self.places).max(initial=0)) + 1
        # Components are layers too far apart to be near each other.
        tree = cKDTree(np.column_stack([self.places, 2 * widest * self.component]))

        def count(radius: float) -> int:
            return int(tree.count_neighbors(tree, radius)) - size

        radius = find_radius(count, number, widest, 1e-9)
        pairs = tree.query_pairs(radius, output_type="ndarray").T
        return np.concatenate([pairs, pairs[::-1]], axis=1)
