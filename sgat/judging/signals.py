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

No signal is stored for each edge but the cosine: they are made again for each use, a
block of edges at a time. In a large graph these are edges between two parts of the
nodes: then rows of two parts of the adjacency are read, and not here and there in all.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import torch

from sgat.features import Features
from sgat.judging.beliefs import class_beliefs, fit_classes
from sgat.judging.embedding import unit_rows, vectors
from sgat.judging.matrices import (
    chosen,
    entries,
    product,
    products,
    slices,
    sums_at_ends,
    weighted,
)
from sgat.judging.pairs import Pairs
from sgat.ops.blocks import ROWS, block_rows, by_rows, empty, placed, random_bits
from sgat.ops.common_neighbours import row_products
from sgat.ops.device_array import DeviceArray, host
from sgat.ops.pair_products import mean_products, pair_products

Array = np.ndarray[Any, Any]

FOLDS, RANK, STEPS = 2, 16, 4
"""Of the spectral vectors: parts of the edges, length, steps of the power iteration."""
EDGES_AT_ONCE, OF_GPU, KEPT = 1 << 17, 1 << 21, 1 << 19
"""Edges whose signals are made together, on a GPU, and up to how many are kept for a
next use."""
PART = 1 << 25
"""Entries of the adjacency in a part of the nodes: 256 MiB of it."""
NO_DIRECTION = 1e-12
"""Square of the length, over the largest, of a direction that is rounding alone."""


class OfEdges:
    """Signals of edges that are made when they are asked for, [E, F].

    `make` gets a slice or numbers of edges. Those of a small graph are made once.
    `blocks` are such, in the order in which it is best to make all signals.
    """

    def __init__(
        self, make: Callable[[Any], Array], number: int, blocks: Iterable[Any]
    ) -> None:
        self.number, self._make, self.blocks = number, make, blocks
        if number <= KEPT:
            whole = np.concatenate([make(part) for part in edge_blocks(number)])
            self._make = whole.__getitem__

    def __len__(self) -> int:
        """Number of edges."""
        return self.number

    def __getitem__(self, rows: Any) -> Array:
        """The signals of some edges, [rows, F]."""
        return self._make(rows)


def edge_blocks(number: int) -> Iterator[slice]:
    """The edges, a block at a time."""
    return slices(number, block_rows(EDGES_AT_ONCE, OF_GPU))


class Signals:
    """The signals of pairs, for any weights of the edges.

    The columns of the degrees come last. Without features only the shared neighbours,
    the spectral vectors and the degrees are left.

    Args:
        ends: Undirected edges, each once, [2, E].
        numbers: Their `numbered` matrix.
        x: Node features.
        drawn: All pairs that are no edges, in the order of their places.
        label: Class of each node, -1 where it is unknown, [N].
        seed: Of all that is drawn.
    """

    def __init__(
        self,
        ends: Array,
        numbers: Any,
        x: Features | None,
        drawn: Sequence[Pairs],
        label: Array,
        seed: int,
    ) -> None:
        self.ends, self.numbers, self.seed = ends, numbers, seed
        self.vector = None if x is None else vectors(x, seed=seed)
        self.belief = _beliefs(self.vector, label)
        self.has_features, self.has_classes = x is not None, self.belief is not None
        self.width = 8 + 5 * self.has_features + 3 * self.has_classes
        self._degree = sums_at_ends(ends, len(label))
        self._count = ends.shape[1] + sum(len(pairs.a) for pairs in drawn)
        self._spectral: list[tuple[Array, Array, Array]] = []
        if x is not None:
            rows, self.cosine = unit_rows(x), empty(self._count, np.float32)
            one = placed(np.ones((rows.shape[1], 1)))
            blocks = edge_blocks(ends.shape[1])
            for pairs in (*(Pairs.of_edges(ends, part) for part in blocks), *drawn):
                if hasattr(rows, "indptr"):
                    found = row_products(rows, pairs.a, pairs.b, one)[:, 0]
                else:
                    found = pair_products(rows, rows, pairs.a, pairs.b)
                self.cosine[pairs.place] = found

    def blocks(self) -> Iterator[Any]:
        """All edges, as slices or numbers: those between two parts come together."""
        ptr, count = self.numbers.indptr, self.ends.shape[1]
        if isinstance(ptr, DeviceArray) or ptr[-1] <= PART:
            yield from edge_blocks(count)
            return
        bounds = np.unique(np.searchsorted(ptr, np.arange(PART, ptr[-1], PART)))
        firsts = np.searchsorted(self.ends[0], bounds)
        for first, last in itertools.pairwise([0, *firsts.tolist(), count]):
            high = self.ends[1, first:last]
            part = by_rows(
                lambda b: np.searchsorted(bounds, b, side="right"), high, dtype=np.int16
            )
            at_once = EDGES_AT_ONCE * (len(bounds) + 1)
            for place, start in itertools.product(
                range(len(bounds) + 1), range(0, last - first, at_once)
            ):
                rows = np.flatnonzero(part[start : start + at_once] == place)
                rows += first + start
                yield from (rows[block] for block in edge_blocks(len(rows)))

    def degrees(self, pairs: Pairs) -> Array:
        """The two signals of the degrees, [P, 2]."""
        a, b = (np.log1p(self._degree[end] - pairs.is_out) for end in pairs[:2])
        return np.stack([a + b, np.abs(a - b)], axis=1, dtype=np.float32)

    def of_content(self, pairs: Pairs) -> Array:
        """Content and degrees: no edge has a say in it but by number, [P, 4]."""
        return np.concatenate([*self._content(pairs), self.degrees(pairs)], axis=1)

    def _content(self, pairs: Pairs) -> list[Array]:
        if (u := self.vector) is None:
            return []
        cosine = self.cosine[pairs.place], pair_products(u, u, pairs.a, pairs.b)
        return [np.stack(cosine, axis=1)]

    def weigh(self, weight: Array) -> None:
        """Take these weights of the edges from now on, [E]."""
        if not self._spectral:
            self._spectral = self._spectra(weight)
        self._weight = weight
        self._strength = sums_at_ends(self.ends, len(self._degree), weight)
        shares = [1 / np.maximum(each, 1) for each in (self._strength, self._degree)]
        self._value, self._plain = (
            np.stack([np.ones_like(share), share], axis=1) for share in shares
        )
        self._totals = []
        self._weighed: tuple[Any, Array | None] = self.numbers, weight
        self._kept: dict[int, tuple[Array, Array]] = {}
        on_gpu = isinstance(self.ends, DeviceArray)
        if self.vector is not None or on_gpu:
            matrix = weighted(self.numbers, weight.astype(np.float32, copy=False))
            both = self.vector, self.belief
            self._totals = [(u, product(matrix, u)) for u in both if u is not None]
        if on_gpu:
            # Which has room for the entries, so that no weight of an edge is looked up,
            # and for what neighbours are shared, which takes longest to find.
            self._weighed = matrix, None

    def release(self) -> None:
        """Let go of what signals are made of: there are no more rounds."""
        vars(self).clear()

    def of_all(self, pairs: Pairs) -> Array:
        """All signals, [P, F]."""
        shared, counted = self._kept_shared(pairs)
        content, means = self._content(pairs), [*self._means(pairs)]
        parts = [*content, *means[:1], shared, self._of_spectra(pairs), counted]
        return np.concatenate([*parts, *means[1:], self.degrees(pairs)], axis=1)

    @property
    def shared(self) -> int:
        """Column that is above 0 if the ends share a neighbour."""
        return 5 if self.has_features else 0

    @property
    def num_free(self) -> int:
        """Number of the last columns that may fall with likeness as well."""
        return 5 if self.has_classes else 2

    def _means(self, pairs: Pairs) -> Iterator[Array]:
        one, other = (
            (node, gone, pairs.is_out * self._weight[edge].astype(float))
            for node, gone, edge in (
                (pairs.a, pairs.out_a, pairs.edge_a),
                (pairs.b, pairs.out_b, pairs.edge_b),
            )
        )
        for u, total in self._totals:
            yield mean_products(u, total, self._strength, one, other)

    def _kept_shared(self, pairs: Pairs) -> tuple[Array, Array]:
        """The same on a GPU for a second use of these weights."""
        if self._weighed[1] is not None or not isinstance(pairs.place, slice):
            return self._shared(pairs)
        place = pairs.place.start
        if place not in self._kept:
            self._kept[place] = self._shared(pairs)
        return self._kept[place]

    def _shared(self, pairs: Pairs) -> tuple[Array, Array]:
        """Shared neighbours by the weights, and with a weight of 1, [P, 2] each."""
        a, b, weight = pairs.a, pairs.b, self._weight
        matrix, of_edges = self._weighed
        total = row_products(matrix, a, b, self._value, of_edges, self._plain)
        both = total[:, :2], total[:, 2:]
        around = (
            self._strength[a] + self._strength[b],
            self._degree[a] + self._degree[b],
        )
        # An edge has no end among its common neighbours, a swapped pair may have.
        is_swapped = pairs.is_out and pairs.out_a is not b
        for end, out, edge in (
            (b, pairs.out_a, pairs.edge_a),
            (a, pairs.out_b, pairs.edge_b),
        ):
            if not pairs.is_out:
                continue
            own = weight[edge]
            for of_kind, lost in zip(around, (own, 1), strict=True):
                of_kind -= lost
            if is_swapped:
                # A neighbour that is left out is no common one.
                number = entries(self.numbers, out, end)
                there = (number > 0)[:, None]
                lost = (own * weight[number - 1])[:, None]
                both[0][:] -= there * lost * self._value[out]
                both[1][:] -= there * self._plain[out]
        found = []
        for sums, ends in zip(both, around, strict=True):
            count, shares = np.maximum(sums, 0).T
            parts = shares, count / np.maximum(ends - count, 0.5)
            found.append(np.log1p(10 * np.stack(parts, axis=1)).astype(np.float32))
        return found[0], found[1]

    def _of_spectra(self, pairs: Pairs) -> Array:
        """Product and cosine of spectral vectors that do not know the pair, [P, 2]."""
        found = empty((len(pairs.a), 2), np.float32)
        fold = self._fold[pairs.place]
        for number, (vector, sign, length) in enumerate(self._spectral):
            here = np.flatnonzero(fold == number)
            a, b = pairs.a[here], pairs.b[here]
            found[here, 0] = pair_products(vector, vector, a, b, sign)
            plain = pair_products(vector, vector, a, b)
            found[here, 1] = plain / (length[a] * length[b])
        return found

    def _spectra(self, weight: Array) -> list[tuple[Array, Array, Array]]:
        """Spectral vectors without the edges of each fold, signs and lengths."""
        rng = np.random.default_rng(self.seed)
        self._fold = random_bits(self._count, FOLDS, rng)
        count, number = self.ends.shape[1], len(self._degree)
        shape = number, min(RANK, number)
        start = {n: rng.standard_normal(shape, np.float32) for n in range(FOLDS)}

        def spectral_vectors(number: int) -> tuple[Array, Array, Array]:
            fold = self._fold[:count]
            kept = by_rows(lambda own: own != number, fold, dtype=bool)
            kept_weight = by_rows(np.multiply, weight, kept)
            strength = sums_at_ends(self.ends, len(self._degree), kept_weight)
            matrix = chosen(self.numbers, self.ends, kept, kept_weight)
            del kept, kept_weight
            basis = placed(start.pop(number))
            vector, sign = _spectral_vectors(matrix, strength, basis)
            length = np.sqrt(np.einsum("nr,nr->n", vector, vector)).clip(min=1e-9)
            return vector, sign, length

        return [spectral_vectors(number) for number in range(FOLDS)]


def _beliefs(vector: Array | None, label: Array) -> Array | None:
    """Beliefs in classes less the mean one, sure where a label is not -1, [N, C]."""
    known = torch.from_numpy(label >= 0)
    if vector is None or not bool(known.any()):
        return None
    u, y = torch.from_numpy(host(vector)), torch.from_numpy(label)
    weight = fit_classes(u, y, known, int(y.max()) + 1)
    belief = class_beliefs(u, weight, y).numpy()
    return placed(belief - belief.mean(axis=0))


def _spectral_vectors(
    matrix: Any, strength: Array, basis: Array
) -> tuple[Array, Array]:
    """Main eigenvectors of the normalised matrix times √|λ|, and the signs of λ.

    They begin with a basis, [N, R], which is changed.
    """
    root = 1 / np.sqrt(strength + max(strength.mean(), 1e-9))
    root = root.astype(np.float32)[:, None]
    for _ in range(STEPS):
        basis *= root
        basis = product(matrix, basis)
        basis *= root
        _turn(basis, _orthogonal(basis))
    basis *= root
    small = host(basis.T @ product(matrix, basis))
    basis /= root
    size, turn = np.linalg.eigh((small + small.T) / 2)
    _turn(basis, turn * np.sqrt(np.abs(size)))
    return basis, np.sign(size)


def _turn(basis: Array, turn: Array) -> None:
    """Multiply a basis by a small matrix, [R, R], in its place."""
    for rows in slices(len(basis), ROWS):
        basis[rows] = basis[rows] @ turn


def _orthogonal(basis: Array) -> Array:
    """What makes a basis orthonormal, [R, R], with 0 where columns depend on others.

    By its products, which takes one pass; QR of so tall a matrix takes many.
    """
    size, turn = np.linalg.eigh(products(basis))
    kept = size > NO_DIRECTION * size[-1]
    scale = np.where(kept, 1 / np.sqrt(np.where(kept, size, 1)), 0)
    return (turn * scale).astype(np.float32)
