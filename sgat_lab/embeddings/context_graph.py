"""Context graph: layers in which nodes alike within k hops are linked (struc2vec)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sgat_lab.embeddings.neighbours import Array, Integers
from sgat_lab.embeddings.structural_distance import Rings, structural_distance

STAY = 0.3
"""Chance that a walk goes on in its layer, before each step."""


class Classes(NamedTuple):
    """Nodes with neighbours, those whose rings are the same taken together.

    Attributes:
        ptr: Class c has the nodes at positions ptr[c] to ptr[c + 1] of `member`.
        member: The nodes, by class, and classes by degree, [N].
    """

    ptr: Integers
    member: Integers


class ContextGraph(NamedTuple):
    """The layers, over classes that stand in the order of their degrees.

    Attributes:
        classes: Which nodes are alike.
        step: How many classes each possible partner is away, 0 the class itself, [P].
        cumulative: Sums of the chances of the partners, [layers, classes, P].
        rise: Chance to go up a layer rather than down, [layers, classes].
    """

    classes: Classes
    step: Integers
    cumulative: Array
    rise: Array

    def walk(self, rounds: int, length: int, rng: np.random.Generator) -> Integers:
        """Walks from every node, [N rounds, length], as positions in `member`."""
        from sgat_lab.embeddings.kernels.walks import walk_layers

        walks = np.empty((len(self.classes.member) * rounds, length), np.int32)
        ways = (self.step, self.cumulative, self.rise)
        walk_layers(self.classes.ptr, *ways, STAY, rng, walks)
        return walks


def find_classes(rings: Rings) -> Classes:
    """Group the nodes by their rings, and order the groups by degree.

    Groups of one degree are ordered by the sums of the degrees around them, from ring
    to ring, so that those alike stand together; the paper leaves that order open.
    """
    sums = np.concatenate([[0], np.cumsum(rings.degree * rings.frequency)])
    around = np.diff(sums[rings.ptr]).reshape(-1, rings.hops)
    order = np.lexsort(around.T[::-1])
    order = order[around[order, 0] > 0]
    groups: dict[bytes, list[int]] = {}
    for node in order.tolist():
        bounds = rings.ptr[node * rings.hops : (node + 1) * rings.hops + 1]
        part = slice(bounds[0], bounds[-1])
        parts = (np.diff(bounds), rings.degree[part], rings.frequency[part])
        key = b"".join(part.tobytes() for part in parts)
        groups.setdefault(key, []).append(node)
    sizes = [len(group) for group in groups.values()]
    member = [node for group in groups.values() for node in group]
    return Classes(np.cumsum([0, *sizes]), np.array(member, dtype=np.int64))


def context_graph(rings: Rings) -> ContextGraph:
    """Link every node with those alike, and with the classes next to its own (OPT2).

        w_k(u, v) = exp(-f_k(u, v))                             within layer k
        w(u_k, u_k+1) = log(Γ_k(u) + e),  w(u_k, u_k-1) = 1     between layers

    with f the structural distance and Γ_k(u) the number of links of u in layer k that
    weigh more than the layer's average (Ribeiro et al., eq. 3 to 8). Those next to a
    class are the log₂ N before it by degree and as many after it. The paper takes nodes
    here; where many are alike these would be linked in chains, not with each other.
    """
    classes = find_classes(rings)
    reach = int(np.ceil(np.log2(max(len(classes.member), 1))))
    reach = min(reach, max(len(classes.ptr) - 2, 0))
    apart, number = _compare(rings, classes, reach)
    least = apart.min(axis=2, initial=np.inf)
    is_linked = np.isfinite(least)
    # Weights over the largest of their node, which may itself be too small for a float.
    weight = number * np.exp(np.where(is_linked, least, 0)[:, :, None] - apart)
    total = np.where(is_linked, weight.sum(axis=2), 1)
    up = np.log(_heavy_links(apart, number, np.diff(classes.ptr)) + np.e)
    up[:-1][~is_linked[1:]] = 0
    up[-1:] = 0
    down = np.arange(rings.hops)[:, None] > 0
    return ContextGraph(
        classes,
        step=np.arange(-reach, reach + 1),
        cumulative=weight.cumsum(axis=2) / total[:, :, None],
        rise=np.divide(up, up + down, out=np.zeros_like(up), where=up > 0),
    )


def _compare(rings: Rings, classes: Classes, reach: int) -> tuple[Array, Array]:
    """Each class and those up to `reach` places before and after it, P = 2 reach + 1.

    Returns:
        The structural distance to them, [layers, classes, P], and with how many nodes
        of theirs a node is linked, [classes, P].
    """
    first, size = classes.member[classes.ptr[:-1]], np.diff(classes.ptr)
    apart = np.full((rings.hops, len(size), 2 * reach + 1), np.inf)
    number = np.zeros((len(size), 2 * reach + 1))
    is_empty = np.diff(rings.ptr).reshape(-1, rings.hops)[first] == 0
    apart[:, :, reach] = np.where(is_empty | (size == 1)[:, None], np.inf, 0).T
    number[:, reach] = size - 1
    for far in range(1, reach + 1):
        found = structural_distance(rings, first[:-far], first[far:]).T
        apart[:, :-far, reach + far], apart[:, far:, reach - far] = found, found
        number[:-far, reach + far], number[far:, reach - far] = size[far:], size[:-far]
    return apart, number


def _heavy_links(apart: Array, number: Array, size: Integers) -> Array:
    """Γ: links of a node heavier than the average of the layer, [layers, classes]."""
    heavy = np.zeros(apart.shape[:2])
    links = number * size[:, None]
    for layer, each in enumerate(apart):
        known = np.isfinite(each)
        if known.any():
            # The logarithm of the average of exp(-f), whose terms may be tiny.
            least = each[known].min()
            average = np.average(np.exp(least - each[known]), weights=links[known])
            heavy[layer] = ((least - each > np.log(average)) * number).sum(axis=1)
    return heavy
