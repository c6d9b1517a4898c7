"""Signals: what two nodes and their surroundings say about an edge between them.

With u the vector of a node's features (`embedding`), w the weight of an edge (how
likely it is real, as far as known) and m_a the mean vector of the neighbours of a, w as
weights and one 0 added:

    content     cosine of the features, u_a · u_b
    means       u_a · m_b + u_b · m_a,   m_a · m_b,   cosine of m_a and m_b
    shared      Σ_k w_ak w_bk / d_k,   Σ_k w_ak w_bk / (d_a + d_b - Σ_k w_ak w_bk)
    counted     shared, with a weight of 1 for every edge
    classes     the means with c for u, c the belief in the classes of a node
    spectral    product and cosine of the spectral vectors of both ends
    degrees     l_a + l_b,   |l_a - l_b|,   l the log of one more than the degree

All but classes and degrees, the last five, rise with likeness. All leave out what
`Pairs` leaves out. Weights that are wrong mislead: `counted` does not know them. A
spectral vector comes from the edges of all folds but that of the pair.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import torch
from scipy import sparse

from sgat.features import Features
from sgat.judging.beliefs import class_beliefs, fit_classes
from sgat.judging.embedding import unit_rows, vectors
from sgat.judging.matrices import chosen, entries, products, weighted
from sgat.judging.pairs import Pairs
from sgat.ops.common_neighbours import row_products
from sgat.ops.pair_products import mean_products, pair_products

Array = np.ndarray[Any, Any]

FOLDS, RANK, STEPS = 2, 16, 4
"""Of the spectral vectors: parts of the edges, length, steps of the power iteration."""
PAIRS_AT_ONCE = 1 << 19
NO_DIRECTION = 1e-12
"""Square of the length, over the largest, of a direction that is rounding alone."""


class Signals:
    """The signals of a set of pairs, for any weights of the edges.

    The columns of the degrees come last. Without features only the shared neighbours,
    the spectral vectors and the degrees are left.
    """

    def __init__(
        self,
        ends: Array,
        num_nodes: int,
        x: Features | None,
        pairs: Pairs,
        label: Array,
        seed: int,
    ) -> None:
        self.ends, self.num_nodes, self.seed = ends, num_nodes, seed
        self.pairs, self._numbers = (
            dataclasses.replace(pairs, numbers=None),
            pairs.numbers,
        )
        self.vector = None if x is None else vectors(x, seed=seed)
        self.belief = _beliefs(self.vector, label)
        self.has_features, self.has_classes = x is not None, self.belief is not None
        width = 8 + 5 * self.has_features + 3 * self.has_classes
        self._found = np.zeros((len(pairs.a), width), dtype=np.float32)
        degree = np.bincount(ends.ravel(), minlength=num_nodes)
        log_a, log_b = (
            np.log1p(degree[end] - pairs.is_out) for end in (pairs.a, pairs.b)
        )
        self.degrees = self._found[:, -2:]
        self.degrees[:, 0], self.degrees[:, 1] = log_a + log_b, np.abs(log_a - log_b)
        self.content = self._found[:, : 2 * (x is not None)]
        if x is not None and self.vector is not None:
            rows, u = unit_rows(x), self.vector
            if sparse.issparse(rows):
                one = np.ones((rows.shape[1], 1))
                self.content[:, 0] = row_products(rows, pairs.a, pairs.b, one)[:, 0]
            else:
                self.content[:, 0] = pair_products(rows, rows, pairs.a, pairs.b)
            self.content[:, 1] = pair_products(u, u, pairs.a, pairs.b)
        self._is_begun = False

    @property
    def of_content(self) -> Array:
        """Content and degrees: no edge has a say in it but by number, [P, 4]."""
        return np.concatenate([self.content, self.degrees], axis=1)

    def of_all(self, weight: Array) -> Array:
        """All signals, with weights for the edges, [P, F].

        The next call writes into the same array.
        """
        first = self.shared
        if not self._is_begun:
            self._found[:, first + 2 : first + 4] = self._spectra(weight)
            self._share(np.ones(len(weight)), first + 4)
            self._is_begun = True
        strength = self._share(weight, first)
        for u, place in ((self.vector, 2), (self.belief, first + 6)):
            if u is None:
                continue
            total = weighted(self._numbers, weight.astype(np.float32)) @ u
            for rows in self._parts():
                given = u, total, strength, weight, rows
                self._found[rows, place : place + 3] = self._means(*given)
            del total, given
        return self._found

    def _share(self, weight: Array, place: int) -> Array:
        """Fill in shared neighbours from a column on; returns Σ w of nodes, [N]."""
        matrix = weighted(self._numbers, weight)
        strength: Array = matrix.sum(axis=1)
        for rows in self._parts():
            found = self._shared(matrix, strength, weight, rows)
            self._found[rows, place : place + 2] = found
        return strength

    def release(self) -> None:
        """Let go of what only `of_all` reads: there are no more rounds."""
        self.vector = self.belief = self._numbers = None

    def _parts(self) -> Iterator[slice]:
        """Parts of the pairs, each of one kind, so that little is held at a time."""
        for kind in (self.pairs.edges, self.pairs.swapped, self.pairs.any):
            begin, end, _ = kind.indices(len(self.pairs.a))
            for first in range(begin, end, PAIRS_AT_ONCE):
                yield slice(first, min(first + PAIRS_AT_ONCE, end))

    @property
    def shared(self) -> int:
        """Column that is above 0 if the ends share a neighbour."""
        return 5 if self.has_features else 0

    @property
    def num_free(self) -> int:
        """Number of the last columns that may fall with likeness as well."""
        return 5 if self.has_classes else 2

    def _means(
        self, u: Array, total: Array, strength: Array, weight: Array, rows: slice
    ) -> Array:
        pairs = self.pairs
        one, other = (
            (node[rows], gone[rows], pairs.is_out[rows] * weight[edge[rows]])
            for node, gone, edge in (
                (pairs.a, pairs.out_a, pairs.edge_a),
                (pairs.b, pairs.out_b, pairs.edge_b),
            )
        )
        found: Array = mean_products(u, total, strength, one, other)
        return found

    def _shared(
        self, matrix: Any, strength: Array, weight: Array, rows: slice
    ) -> Array:
        pairs, a, b = self.pairs, self.pairs.a[rows], self.pairs.b[rows]
        share = 1 / np.maximum(strength, 1)
        value = np.stack([np.ones_like(share), share], axis=1)
        total = row_products(matrix, a, b, value)
        around = strength[a] + strength[b]
        for end, out, edge in (
            (b, pairs.out_a[rows], pairs.edge_a[rows]),
            (a, pairs.out_b[rows], pairs.edge_b[rows]),
        ):
            around -= pairs.is_out[rows] * weight[edge]
            # A neighbour that is left out is no common one.
            if pairs.swapped.start <= rows.start < pairs.swapped.stop:
                lost = weight[edge] * entries(matrix, out, end)
                total -= lost[:, None] * value[out]
        count, shares = np.maximum(total, 0).T
        around -= count
        both = np.stack([shares, count / np.maximum(around, 0.5)], axis=1)
        found: Array = np.log1p(10 * both)
        return found

    def _spectra(self, weight: Array) -> Array:
        """Product and cosine of spectral vectors that do not know the pair, [P, 2]."""
        rng = np.random.default_rng(self.seed)
        fold = rng.integers(0, FOLDS, len(self.pairs.a)).astype(np.uint8)
        count, number = self.ends.shape[1], self.num_nodes
        found = np.zeros((len(fold), 2), dtype=np.float32)
        start = rng.standard_normal((FOLDS, number, min(RANK, number)), np.float32)

        def spectral_vectors(number: int) -> tuple[Array, Array]:
            kept = fold[:count] != number
            given = chosen(self._numbers, kept), self.ends[:, kept], weight[kept]
            return _spectral_vectors(*given, start[number])

        with ThreadPoolExecutor(FOLDS) as threads:
            of_folds = list(threads.map(spectral_vectors, range(FOLDS)))
        for number, (vector, sign) in enumerate(of_folds):
            length = np.sqrt((vector**2).sum(axis=1)).clip(min=1e-9)
            place = np.flatnonzero(fold == number)
            a, b = self.pairs.a[place], self.pairs.b[place]
            found[place, 0] = pair_products(vector * sign, vector, a, b)
            unit = vector / length[:, None]
            found[place, 1] = pair_products(unit, unit, a, b)
        return found


def _beliefs(vector: Array | None, label: Array) -> Array | None:
    """Beliefs in classes less the mean one, sure where a label is not -1, [N, C]."""
    known = torch.from_numpy(label >= 0)
    if vector is None or not bool(known.any()):
        return None
    u, y = torch.from_numpy(vector), torch.from_numpy(label)
    weight = fit_classes(u, y, known, int(y.max()) + 1)
    belief: Array = class_beliefs(u, weight, y).numpy()
    centred: Array = belief - belief.mean(axis=0)
    return centred


def _spectral_vectors(
    numbers: Any, ends: Array, weight: Array, basis: Array
) -> tuple[Array, Array]:
    """Main eigenvectors of the normalised matrix times √|λ|, and the signs of λ."""
    both = np.concatenate([weight, weight])
    strength = np.bincount(ends.ravel(), weights=both, minlength=numbers.shape[0])
    del both
    root = 1 / np.sqrt(strength + max(strength.mean(), 1e-9))
    scaled = (weight * root[ends[0]] * root[ends[1]]).astype(np.float32)
    matrix = weighted(numbers, scaled)
    for _ in range(STEPS):
        basis = _orthogonal(matrix @ basis)
    small = basis.T @ (matrix @ basis)
    size, turn = np.linalg.eigh((small + small.T) / 2)
    return (basis @ turn) * np.sqrt(np.abs(size)), np.sign(size)


def _orthogonal(basis: Array) -> Array:
    """A basis of the same space, [N, R], 0 where columns depend on others.

    By its products, which takes one pass; QR of so tall a matrix takes many.
    """
    size, turn = np.linalg.eigh(products(basis))
    kept = size > NO_DIRECTION * size[-1]
    scale = np.where(kept, 1 / np.sqrt(np.where(kept, size, 1)), 0)
    found: Array = basis @ (turn * scale).astype(np.float32)
    return found
