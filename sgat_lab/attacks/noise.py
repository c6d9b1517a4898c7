"""Wrong edges of more kinds than `inject` has: of degrees, spam, likeness, a place.

    dice           half of the changes are edges between classes, and half are edges
                   within a class that are taken away
    preferential   ends drawn by one more than their degree
    spam           few nodes, drawn at random, joined with any others
    alike          a node and one of those whose features are most like its own
    unlike         a node and the least like it of some that are drawn
    aimed          a node to train on and one of another class
    ring           few small groups of nodes, all joined within
    community      both ends within a fifth of the nodes, around one that is drawn
    rewired        edges of the graph one end of which goes to any other node

Names joined by + stand for several kinds, one after the other, each at the full rate.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sgat.data.node_data import NodeData
from sgat.data.synthetic import inject
from sgat.data.synthetic.pairs import draw_distinct, generator_for
from sgat.graph import Graph
from sgat.judging.embedding import unit_rows, vectors

INJECTED = ("random", "cross-class", "hub")
"""Kinds that `sgat data inject` has, too."""
SPAM, PLACE = 0.01, 0.2
"""Shares of the nodes that send spam, and that are a community."""
RING, DRAWN_FROM = 8, 16
"""Nodes of a ring, and nodes of which the least like one is taken."""
ROOM = 4
"""Pairs at least among which one is drawn, so that there is room."""
ROWS = 512

Ends = tuple[Tensor, Tensor]
Draw = Callable[[int], Ends]


def add(data: NodeData, kind: str, rate: float, seed: int) -> NodeData:
    """Undirected data with rate · E wrong edges more, or changed (dice).

    Raises:
        ValueError: If the data has no features, and wrong edges go by them.
    """
    for part in kind.split("+"):
        if part in INJECTED:
            data = inject(data, part, rate, seed).data  # type: ignore[arg-type]
        elif part in CHANGED:
            data = CHANGED[part](data, rate, seed)
        else:
            data = _drawn(data, part, rate, seed)
    return data


def _without(data: NodeData, gone: Tensor) -> NodeData:
    """The data without these edges, given in one direction."""
    graph = data.graph
    keep = torch.ones(graph.num_edges, dtype=torch.bool)
    src, dst = graph.src.long(), graph.dst.long()
    keep[gone] = keep[graph.find(dst[gone], src[gone])] = False
    return dataclasses.replace(data, graph=graph.select(keep))


def _dice(data: NodeData, rate: float, seed: int) -> NodeData:
    src, dst = data.graph.src.long(), data.graph.dst.long()
    within = ((data.y[src] == data.y[dst]) & (src < dst)).nonzero()[:, 0]
    order = torch.randperm(len(within), generator=generator_for(seed, 1))
    count = round(rate * data.graph.num_edges / 4)
    left = _without(data, within[order[:count]])
    added = 2 * count / max(left.graph.num_edges, 1)
    return inject(left, "cross-class", added, seed).data


def _rewired(data: NodeData, rate: float, seed: int) -> NodeData:
    graph, generator = data.graph, generator_for(seed, 1)
    single = (graph.src < graph.dst).nonzero()[:, 0]
    # As many wrong edges next to right ones as the other kinds have.
    count = round(rate / (1 + rate) * len(single))
    gone = single[torch.randperm(len(single), generator=generator)[:count]]
    stays = graph.src[gone].long()

    def pairs(number: int) -> Ends:
        any_node = torch.randint(data.num_nodes, (number,), generator=generator)
        return _any_of(stays, generator, number), any_node

    left = _without(data, gone)
    return _joined(left, pairs, count, generator, avoid=graph)


def _drawn(data: NodeData, kind: str, rate: float, seed: int) -> NodeData:
    generator = generator_for(seed, 1)
    count = round(rate * data.graph.num_edges / 2)
    pair = DRAWN[kind](data, count, generator)
    return _joined(data, pair, count, generator, avoid=data.graph)


def _joined(
    data: NodeData,
    pair: Draw,
    count: int,
    generator: torch.Generator,
    *,
    avoid: Graph,
) -> NodeData:
    """The data with this number of pairs more, none of them an edge to avoid."""
    graph, size = data.graph, data.num_nodes

    def keys(number: int) -> Tensor:
        one, other = pair(number)
        low, high = torch.minimum(one, other), torch.maximum(one, other)
        return (low * size + high)[low < high]

    low, high = torch.minimum(avoid.src, avoid.dst), avoid.src.maximum(avoid.dst)
    taken = (low.long() * size + high).unique()
    found = draw_distinct(keys, count, generator, taken=taken)
    new = torch.stack([found // size, found % size])
    joined = torch.cat([graph.edge_index.long(), new, new.flip(0)], dim=1)
    return dataclasses.replace(data, graph=Graph.from_edges(joined, size))


def _any_of(nodes: Tensor, generator: torch.Generator, number: int) -> Tensor:
    return nodes[torch.randint(len(nodes), (number,), generator=generator)]


def _preferential(data: NodeData, count: int, generator: torch.Generator) -> Draw:
    weight = torch.bincount(data.graph.dst, minlength=data.num_nodes) + 1.0

    def draw(number: int) -> Ends:
        one, other = (
            torch.multinomial(weight, number, True, generator=generator)
            for _ in range(2)
        )
        return one, other

    return draw


def _spam(data: NodeData, count: int, generator: torch.Generator) -> Draw:
    size = data.num_nodes
    senders = max(math.ceil(SPAM * size), math.ceil(ROOM * count / size))
    every = torch.randperm(size, generator=generator)
    nodes = every[:senders]
    return lambda n: (_any_of(nodes, generator, n), _any_of(every, generator, n))


def _community(data: NodeData, count: int, generator: torch.Generator) -> Draw:
    size, graph = data.num_nodes, data.graph
    wanted = min(max(math.ceil(PLACE * size), math.isqrt(2 * ROOM * count) + 2), size)
    order = torch.randperm(size, generator=generator)
    near = torch.zeros(size, dtype=torch.bool)
    for node in order:
        near[node] = True
        while int(near.sum()) < wanted:
            reached = near.clone()
            reached[graph.dst[near[graph.src]]] = True
            if torch.equal(reached, near):
                break
            near = reached
        if int(near.sum()) >= wanted:
            break
    # Of the last ring as many as are wanted.
    nodes = order[near[order]][:wanted]
    return lambda n: (_any_of(nodes, generator, n), _any_of(nodes, generator, n))


def _ring(data: NodeData, count: int, generator: torch.Generator) -> Draw:
    size, inside = data.num_nodes, RING * (RING - 1) // 2
    # Groups of all nodes take turns, so there is room for more pairs than are wanted.
    number = max(math.ceil(2 * count / inside), 1)
    turns = [
        torch.randperm(size, generator=generator)
        for _ in range(math.ceil(number * RING / size))
    ]
    groups = torch.cat(turns)[: number * RING]
    groups = groups[: len(groups) // RING * RING].view(-1, RING)

    def draw(number: int) -> Ends:
        group = torch.randint(len(groups), (number,), generator=generator)
        one, other = torch.randint(RING, (2, number), generator=generator)
        return groups[group, one], groups[group, other]

    return draw


def _aimed(data: NodeData, count: int, generator: torch.Generator) -> Draw:
    size, y = data.num_nodes, data.y
    known = data.train if data.train is not None else y >= 0
    # Where they are few, they have no room for all the edges: others join them.
    some = torch.randperm(size, generator=generator)[: math.ceil(ROOM * count / size)]
    nodes = torch.cat([known.nonzero()[:, 0], some]).unique()

    def draw(number: int) -> Ends:
        one = _any_of(nodes, generator, number)
        other = torch.randint(size, (number,), generator=generator)
        apart = y[one] != y[other]
        return one[apart], other[apart]

    return draw


def _unlike(data: NodeData, count: int, generator: torch.Generator) -> Draw:
    _must_have_features(data, "unlike")
    size, u = data.num_nodes, torch.from_numpy(vectors(data.x))

    def draw(number: int) -> Ends:
        one = torch.randint(size, (number,), generator=generator)
        others = torch.randint(size, (number, DRAWN_FROM), generator=generator)
        likeness = torch.stack([(u[one] * u[o]).sum(dim=1) for o in others.T], dim=1)
        least = likeness.argmin(dim=1, keepdim=True)
        return one, others.gather(1, least)[:, 0]

    return draw


def _must_have_features(data: NodeData, kind: str) -> None:
    if not data.x.shape[1]:
        raise ValueError(
            f"{data.name!r} needs features for edges between {kind} nodes."
        )


def _alike(data: NodeData, count: int, generator: torch.Generator) -> Draw:
    _must_have_features(data, "alike")
    size = data.num_nodes
    most = min(max(5, math.ceil(2 * ROOM * count / size)), size - 1)
    rows = unit_rows(data.x)
    near = np.empty((size, most), dtype=np.int64)
    for first in range(0, size, ROWS):
        part = slice(first, min(first + ROWS, size))
        likeness: Any = rows[part] @ rows.T
        likeness = likeness.toarray() if hasattr(likeness, "toarray") else likeness
        likeness[np.arange(part.stop - first), np.arange(first, part.stop)] = -np.inf
        near[part] = np.argpartition(-likeness, most - 1, axis=1)[:, :most]
    of_node = torch.from_numpy(near)

    def draw(number: int) -> Ends:
        one = torch.randint(size, (number,), generator=generator)
        place = torch.randint(most, (number,), generator=generator)
        return one, of_node[one, place]

    return draw


DRAWN: dict[str, Callable[[NodeData, int, torch.Generator], Draw]] = {
    "preferential": _preferential,
    "spam": _spam,
    "alike": _alike,
    "unlike": _unlike,
    "aimed": _aimed,
    "ring": _ring,
    "community": _community,
}
CHANGED: dict[str, Callable[[NodeData, float, int], NodeData]] = {
    "dice": _dice,
    "rewired": _rewired,
}
"""Kinds that take right edges away as well."""
KINDS = (*INJECTED, *CHANGED, *DRAWN)
