"""Graph: validated edges in target order, with the self-loops set apart."""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from sgat.graph.compressed_rows import by_column, index_type, once, pointers, to_scipy
from sgat.graph.edge_list import merged_edges, picked

if TYPE_CHECKING:
    from sgat.parallel.part import Halo

FILLED = {
    "weight": "edge_weight",
    "loop_weight": "loop_weights",
    "square_sum": "square_sums",
}
"""Attributes that may be None, and those that have a value for every edge or node."""


class SourceOrder(NamedTuple):
    """The edges of a `Graph` once more, sorted by source and then by target."""

    ptr: Tensor  # edges of source j stand at positions ptr[j] to ptr[j + 1], [N + 1]
    dst: Tensor  # target of each edge in this order, [E]
    edge: Tensor  # position of each edge in the order of the graph, [E]


@dataclasses.dataclass(frozen=True, eq=False)
class Graph:
    """Directed edges src → dst without loops or duplicates, sorted by (dst, src).

    Every node has a self-loop with the weight `loop_weight` and a gate fixed at 1.
    Loops are never among the edges, so nothing per edge ever counts them.
    Build one with `Graph.from_edges`, which validates; the constructor does not.

    Attributes:
        num_nodes: Number of nodes N.
        dst: Target of each edge, ascending, [E].
        src: Source of each edge, ascending within a target, [E].
        row_ptr: Edges into node i stand at positions row_ptr[i] to row_ptr[i + 1], [N +
            1].
        weight: Edge weights A_ij ≥ 0, [E]; None if all are 1.
        loop_weight: Weights A_ii ≥ 0, [N]; None if all are 1.
        input_edge: Where each edge given to `from_edges` went, [M]; -1 for a self-loop.
        node_id: Name of each node in the noise, [N] int64; None for 0 … N-1. The low 32
            bits number the node within its graph, the high bits number the graph.
        num_merged: How many given edges were duplicates of another and added their
            weight to it.
        edge_attr: Numbers e_ij of each edge, for gates that look at them, [E, F]; None
            without any.
        log_odds: Log-odds that each edge is real and not noise, [E]; None if the graph
            was not judged (see `sgat.judging`).
        square_sum: Σ_j A_ij² of each node before closed edges were left out, [N]; None
            if all are there.
        halo: Where the nodes are those of one of several processes, the others that
            edges come from: `src` are their places (see `sgat.parallel.part`). None
            for a whole graph.
        derived: Results worked out from this graph, by name; they go with the graph
            (see `sgat.graph.compressed_rows.once`).
    """

    num_nodes: int
    dst: Tensor
    src: Tensor
    row_ptr: Tensor
    weight: Tensor | None = None
    loop_weight: Tensor | None = None
    input_edge: Tensor | None = None
    node_id: Tensor | None = None
    num_merged: int = 0
    edge_attr: Tensor | None = None
    log_odds: Tensor | None = None
    square_sum: Tensor | None = None
    halo: Halo | None = None
    derived: dict[str, Any] = dataclasses.field(
        default_factory=dict, init=False, repr=False
    )

    @classmethod
    def from_edges(
        cls,
        edge_index: Tensor,
        num_nodes: int | None = None,
        edge_weight: Tensor | None = None,
        edge_attr: Tensor | None = None,
        *,
        make_undirected: bool = False,
        say_merged: bool = True,
    ) -> Graph:
        """Check the edges, sort them, merge duplicates and set the loops apart.

        Duplicates of an edge become one edge with the sum of their weights, or the
        largest where edges have no direction (a log message says how many). A self-loop
        i → i in the input replaces the default loop weight 1 of node i.

        Args:
            edge_index: Rows `src` and `dst`, [2, M], any integer type; PyG's
                `EdgeIndex` will do.
            num_nodes: Number of nodes; None takes the largest id + 1.
            edge_weight: Weights A ≥ 0, [M]; None for all 1.
            edge_attr: Numbers of the edges, [M, F] or [M]; duplicates, and rows of the
                same pair without direction, get their mean.
            make_undirected: Add the reverse of every edge. Where a pair is given more
                than once, in one direction or in both, the largest weight counts, so an
                undirected graph stays as it is.
            say_merged: Log how many duplicates were merged.

        Raises:
            ValueError: If a shape, type, id or weight is not as described; the message
                names it.
        """
        how = {"make_undirected": make_undirected, "say_merged": say_merged}
        found = merged_edges(edge_index, num_nodes, edge_weight, edge_attr, **how)
        return cls.from_keys(**found._asdict())

    @classmethod
    def from_keys(cls, key: Tensor, num_nodes: int, **fields: Any) -> Graph:
        """The graph of edges with different, ascending keys dst · N + src, [E] int64.

        `fields` are further attributes of the graph, in the order of the keys.
        """
        dtype = index_type(num_nodes)
        dst = torch.div(key, max(num_nodes, 1), rounding_mode="floor")
        src = (key - dst * num_nodes).to(dtype)
        return cls(num_nodes, dst.to(dtype), src, pointers(dst, num_nodes), **fields)

    @classmethod
    def merge(cls, graphs: Sequence[Graph]) -> Graph:
        """Put graphs side by side as one graph without edges between them.

        The nodes keep their names in the noise, numbered by graph where they had none,
        so that the same seed gives a graph's edges the same noise in every batch.
        """
        if not graphs:
            raise ValueError("`graphs` must hold at least one graph, got none.")
        carried: dict[str, Any] = {}
        for name in ("log_odds", "edge_attr"):
            parts = [getattr(graph, name) for graph in graphs]
            known = [part for part in parts if part is not None]
            if 0 < len(known) < len(graphs):
                raise ValueError(
                    f"`graphs` must all have `{name}`, or none of them; got"
                    f" {len(known)} of {len(graphs)} with."
                )
            carried[name] = torch.cat(known) if known else None
        node = list(itertools.accumulate((g.num_nodes for g in graphs), initial=0))
        edge = itertools.accumulate((g.num_edges for g in graphs), initial=0)
        placed = list(zip(graphs, node, edge, strict=False))
        named = [graph.node_id for graph in graphs if graph.node_id is not None]
        # Graphs that have no name yet get the first numbers that are not taken.
        taken = {int(n) for ids in named for n in (ids >> 32).unique()}
        free = (number for number in itertools.count() if number not in taken)
        node_id = [
            graph.noise_id + (0 if graph.node_id is not None else next(free) << 32)
            for graph in graphs
        ]
        fields: dict[str, Any] = {
            name: torch.cat([getattr(graph, filled) for graph in graphs])
            for name, filled in FILLED.items()
            if any(getattr(graph, name) is not None for graph in graphs)
        }
        given = [
            torch.where(g.input_edge < 0, g.input_edge, g.input_edge + start)
            for g, _, start in placed
            if g.input_edge is not None
        ]
        return cls(
            num_nodes=node[-1],
            dst=torch.cat([graph.dst + start for graph, start, _ in placed]),
            src=torch.cat([graph.src + start for graph, start, _ in placed]),
            row_ptr=torch.cat(
                [node_id[0].new_zeros(1), *(g.row_ptr[1:] + n for g, _, n in placed)]
            ),
            input_edge=torch.cat(given) if len(given) == len(graphs) else None,
            node_id=torch.cat(node_id),
            num_merged=sum(graph.num_merged for graph in graphs),
            **carried,
            **fields,
        )

    def split(self) -> list[Graph]:
        """The graphs that `merge` put side by side, their edges alone; or this one."""
        if self.node_id is None:
            return [self]
        sizes = (self.node_id >> 32).unique_consecutive(return_counts=True)[1].tolist()
        if len(sizes) < 2:
            return [self]
        found, first = [], 0
        for size in sizes:
            ptr = self.row_ptr[first : first + size + 1]
            edges = slice(int(ptr[0]), int(ptr[-1]))
            ends = self.dst[edges] - first, self.src[edges] - first
            weight = None if self.weight is None else self.weight[edges]
            attr = None if self.edge_attr is None else self.edge_attr[edges]
            part = Graph(size, *ends, ptr - ptr[0], weight, edge_attr=attr)
            found.append(part)
            first += size
        return found

    @property
    def num_edges(self) -> int:
        """Number of gated edges E, loops left out."""
        return self.src.numel()

    @property
    def total_edges(self) -> int:
        """Number of gated edges, those of other processes included."""
        return self.num_edges if self.halo is None else self.halo.total_edges

    @property
    def device(self) -> torch.device:
        """Device of the edges."""
        return self.src.device

    @property
    def edge_index(self) -> Tensor:
        """Rows `src` and `dst` as PyG writes them, [2, E] int64."""
        return torch.stack([self.src, self.dst]).long()

    @property
    def edge_weight(self) -> Tensor:
        """Weight A_ij of each edge, ones where none were given, [E]."""
        if self.weight is not None:
            return self.weight
        return _ones(self.num_edges, self.loop_weight, self.device)

    @property
    def loop_weights(self) -> Tensor:
        """Weight A_ii of each node's self-loop, ones where none were given, [N]."""
        if self.loop_weight is not None:
            return self.loop_weight
        return _ones(self.num_nodes, self.weight, self.device)

    @property
    def square_sums(self) -> Tensor:
        """Σ_j A_ij² of each node, closed edges that were left out too, [N] float64."""
        if self.square_sum is not None:
            return self.square_sum
        if self.weight is None:
            return self.row_ptr.diff().double()
        square = self.weight.double() ** 2
        return square.new_zeros(self.num_nodes).index_add(0, self.dst, square)

    @property
    def noise_id(self) -> Tensor:
        """Name of each node in the noise, [N] int64."""
        if self.node_id is not None:
            return self.node_id
        return torch.arange(self.num_nodes, device=self.device)

    @property
    def keys(self) -> Tensor:
        """Key dst · N + src of each edge, ascending, [E] int64."""
        return self.dst.long() * self.num_nodes + self.src

    def find(self, src: Tensor, dst: Tensor) -> Tensor:
        """Position of each edge src → dst in the graph, -1 if there is none, [P]."""
        key, wanted = self.keys, dst.long() * self.num_nodes + src
        if not len(key):
            return torch.full_like(wanted, -1)
        place = torch.searchsorted(key, wanted).clamp(max=len(key) - 1)
        return torch.where(key[place] == wanted, place, -1)

    @property
    def by_source(self) -> SourceOrder:
        """The edges sorted by source, for passes over what each node sends."""
        given = self.row_ptr, self.src, self.num_nodes
        return once(self.derived, "by source", lambda: SourceOrder(*by_column(*given)))

    @property
    def reverse_edge(self) -> Tensor:
        """Position of the reverse of each edge of an undirected graph, [E]."""
        # Sorted by source, the edges stand in the order of their reverse edges.
        return self.by_source.edge

    @property
    def has_same_odds(self) -> bool:
        """Whether both directions of every edge are known to have the same log-odds."""
        odds = self.log_odds
        if odds is None or self.halo is not None or torch.compiler.is_compiling():
            return False
        reverse = self.of_reverse
        return once(self.derived, "same odds", lambda: torch.equal(odds, reverse(odds)))

    def of_reverse(self, value: Tensor) -> Tensor:
        """The value of the reverse of each edge of an undirected graph, [E]."""
        if self.halo is not None:
            return self.halo.of_reverse(value)
        return value[self.reverse_edge]

    @cached_property
    def is_undirected(self) -> bool:
        """Whether every edge has a reverse edge of the same weight."""
        _, dst, edge = self.by_source
        if not (torch.equal(dst, self.src) and torch.equal(self.src[edge], self.dst)):
            return False
        return self.weight is None or torch.equal(self.weight, self.weight[edge])

    def undirected(self) -> Graph:
        """The edges in both directions, without weights."""
        if not self.is_undirected:
            return Graph.from_edges(
                self.edge_index, self.num_nodes, make_undirected=True, say_merged=False
            )
        if self.weight is None and self.loop_weight is None:
            return self
        return dataclasses.replace(self, weight=None, loop_weight=None)

    def to_scipy(self, dtype: Any = np.int8) -> Any:
        """SciPy array with a 1 for every edge, row by target, [N, N]."""
        ones, size = np.ones(self.num_edges, dtype), self.num_nodes
        return to_scipy(self.row_ptr, self.src, ones, (size, size))

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the edges, the same for the same nodes and edges."""
        digest = hashlib.sha256(str(self.num_nodes).encode())
        for part in (self.src, self.dst):
            digest.update(part.numpy(force=True).data)
        return digest.hexdigest()

    def to(self, device: torch.device | str) -> Graph:
        """The same graph on another device; itself if it is there."""
        given = {k: v for k, v in vars(self).items() if isinstance(v, Tensor)}
        moved: dict[str, Any] = {name: part.to(device) for name, part in given.items()}
        if all(part is given[name] for name, part in moved.items()):
            return self
        return dataclasses.replace(self, **moved)

    def larger_direction(self, value: Tensor) -> Tensor:
        """Per edge the larger value of its two directions, [E]; undirected graphs."""
        return torch.maximum(value, value[self.reverse_edge])

    def select(self, keep: Tensor, weight: Tensor | None = None) -> Graph:
        """The graph of the edges marked in `keep`, [E], with new weights if given."""
        new_weight = self.weight if weight is None else weight
        return dataclasses.replace(
            self,
            dst=self.dst[keep],
            src=self.src[keep],
            row_ptr=pointers(self.dst[keep].long(), self.num_nodes),
            weight=picked(new_weight, keep),
            input_edge=None,
            edge_attr=picked(self.edge_attr, keep),
            log_odds=picked(self.log_odds, keep),
        )

    def to_input(self, value: Tensor, *, loop: float | bool) -> Tensor:
        """Values per edge in the order the edges were given; `loop` for given loops."""
        if self.input_edge is None:
            return value
        if not len(value):
            return torch.full_like(self.input_edge, loop, dtype=value.dtype)
        given = value[self.input_edge.clamp(min=0)]
        return torch.where(self.input_edge < 0, torch.full_like(given, loop), given)

    def __repr__(self) -> str:
        """One line: counts and what the graph carries."""
        weighted = ", weighted" if self.weight is not None else ""
        return f"Graph({self.num_nodes} nodes, {self.num_edges} edges{weighted})"


def _ones(size: int, like: Tensor | None, device: torch.device) -> Tensor:
    return torch.ones(size, dtype=None if like is None else like.dtype, device=device)
