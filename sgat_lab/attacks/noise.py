"""Wrong edges of more kinds than `inject` has: of degrees, spam, likeness, a place.

    dice           half of the changes are edges between classes, and half are edges
                   within a class that are taken away
    preferential   ends drawn by one more than their degree
    spam           few nodes, drawn at random, joined with any others
    alike          a node and one of those whose features are most like its own
    community      both ends within a fifth of the nodes, around one that is drawn

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
from sgat.judging.embedding import unit_rows

INJECTED = ("random", "cross-class", "hub")
"""Kinds that `sgat data inject` has, too."""
SPAM, PLACE = 0.01, 0.2
"""Shares of the nodes that send spam, and that are a community."""
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
        elif part == "dice":
            data = _dice(data, rate, seed)
        else:
            data = _drawn(data, part, rate, seed)
    return data


def _dice(data: NodeData, rate: float, seed: int) -> NodeData:
    src, dst = data.graph.src.long(), data.graph.dst.long()
    within = ((data.y[src] == data.y[dst]) & (src < dst)).nonzero()[:, 0]
    order = torch.randperm(len(within), generator=generator_for(seed, 1))
    count = round(rate * data.graph.num_edges / 4)
    gone = within[order[:count]]
    keep = torch.ones(data.graph.num_edges, dtype=torch.bool)
    keep[gone] = keep[data.graph.find(dst[gone], src[gone])] = False
    left = dataclasses.replace(data, graph=data.graph.select(keep))
    added = 2 * count / max(left.graph.num_edges, 1)
    return inject(left, "cross-class", added, seed).data


def _drawn(data: NodeData, kind: str, rate: float, seed: int) -> NodeData:
    graph, size = data.graph, data.num_nodes
    generator = generator_for(seed, 1)
    count = round(rate * graph.num_edges / 2)
    pair = DRAWN[kind](data, count, generator)

    def keys(number: int) -> Tensor:
        one, other = pair(number)
        low, high = torch.minimum(one, other), torch.maximum(one, other)
        return (low * size + high)[low < high]

    low, high = torch.minimum(graph.src, graph.dst), graph.src.maximum(graph.dst)
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


def _alike(data: NodeData, count: int, generator: torch.Generator) -> Draw:
    if not data.x.shape[1]:
        raise ValueError(f"{data.name!r} needs features for edges between alike nodes.")
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
    "community": _community,
}
KINDS = (*INJECTED, "dice", *DRAWN)
