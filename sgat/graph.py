"""Graph: validated edges in target order, with the self-loops set apart."""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import logging
from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import torch
from torch import Tensor

logger = logging.getLogger(__name__)


class SourceOrder(NamedTuple):
    """The edges of a `Graph` once more, sorted by source and then by target.

    Attributes:
        ptr: Edges of source j stand at positions ptr[j] to ptr[j + 1], [N + 1].
        dst: Target of each edge in this order, [E].
        edge: Position of each edge in the order of the graph, [E].
    """

    ptr: Tensor
    dst: Tensor
    edge: Tensor


@dataclasses.dataclass(frozen=True, eq=False)
class Graph:
    """Directed edges src → dst without loops or duplicates, sorted by (dst, src).

    Every node also hears itself: the self-loop has the weight `loop_weight` and a gate
    fixed at 1. Loops are never among the edges, so nothing per edge ever counts them.
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
        node_id: What names a node in the noise, [N] int64; None for 0 … N-1. The low 32
            bits number the node within its graph, the high bits number the graph.
        num_merged: How many given edges were duplicates of another and added their
            weight to it.
        feature: Features of each edge, [E, F], for scorers that look at them; None if
            there are none.
        log_odds: Log-odds that each edge is real and not noise, [E]; None if the graph
            was not judged (see `sgat.judging`).
        degree: Number of edges into each node before closed ones were left out, [N];
            None if all are there.
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
    feature: Tensor | None = None
    log_odds: Tensor | None = None
    degree: Tensor | None = None

    @classmethod
    def from_edges(
        cls,
        edge_index: Tensor,
        num_nodes: int | None = None,
        edge_weight: Tensor | None = None,
        *,
        edge_feature: Tensor | None = None,
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
            edge_feature: Features of the edges, [M, F]; duplicates get their mean.
            make_undirected: Add the reverse of every edge. Where a pair is given more
                than once, in one direction or in both, the largest weight counts, so an
                undirected graph stays as it is.
            say_merged: Log how many duplicates were merged.

        Raises:
            ValueError: If a shape, type, id or weight is not as described; the message
                names it.
        """
        edge_index = _checked_edge_index(edge_index)
        num_nodes = _checked_num_nodes(edge_index, num_nodes)
        if edge_weight is not None:
            edge_weight = _checked_weight(edge_weight, edge_index)
        if edge_feature is not None:
            _check_feature(edge_feature, edge_index)
        src, dst = edge_index[0].long(), edge_index[1].long()

        is_loop = src == dst
        loop_weight = None
        if bool(is_loop.any()):
            loop_weight = _loop_weights(
                src[is_loop], num_nodes, _pick(edge_weight, is_loop)
            )
        edge = (~is_loop).nonzero().squeeze(1)
        key = dst[edge] * num_nodes + src[edge]
        unique_key, position = key.unique(return_inverse=True)
        num_merged = len(key) - len(unique_key)
        if num_merged and say_merged:
            logger.warning(
                "%d duplicate edges were merged; %s.",
                num_merged,
                _merging(edge_weight is not None, make_undirected),
            )

        weight = None
        if edge_weight is not None:
            weight = edge_weight.new_zeros(len(unique_key)).scatter_reduce(
                0, position, edge_weight[edge], "amax" if make_undirected else "sum"
            )
        elif num_merged and not make_undirected:
            weight = torch.bincount(position, minlength=len(unique_key)).to(
                torch.get_default_dtype()
            )
        feature = None
        if edge_feature is not None:
            feature = _mean(edge_feature[edge], position, len(unique_key))
        if make_undirected:
            unique_key, weight, feature, new_position = _symmetrised(
                unique_key, weight, feature, num_nodes
            )
            position = new_position[position]

        input_edge = torch.full_like(src, -1)
        input_edge[edge] = position
        return cls._from_sorted_keys(
            unique_key,
            num_nodes,
            weight=weight,
            loop_weight=loop_weight,
            input_edge=input_edge,
            num_merged=num_merged,
            feature=feature,
        )

    @classmethod
    def _from_sorted_keys(cls, key: Tensor, num_nodes: int, **fields: Any) -> Graph:
        dtype = torch.int32 if num_nodes < 2**31 else torch.int64
        dst = torch.div(key, max(num_nodes, 1), rounding_mode="floor")
        src = key - dst * num_nodes
        return cls(
            num_nodes=num_nodes,
            dst=dst.to(dtype),
            src=src.to(dtype),
            row_ptr=_pointers(dst, num_nodes),
            **fields,
        )

    @classmethod
    def merge(cls, graphs: Sequence[Graph]) -> Graph:
        """Put graphs side by side as one graph without edges between them.

        The nodes keep their names in the noise, numbered by graph where they had none,
        so that the same seed gives a graph's edges the same noise in every batch it is
        part of.
        """
        if not graphs:
            raise ValueError("`graphs` must hold at least one graph, got none.")
        node_offset, edge_offset = 0, 0
        dst, src, row_ptr, node_id, input_edge = [], [], [graphs[0].row_ptr[:1]], [], []
        named = [graph.node_id for graph in graphs if graph.node_id is not None]
        # Graphs that have no name yet get the first numbers that are not taken.
        taken = {int(n) for ids in named for n in (ids >> 32).unique()}
        free = (number for number in itertools.count() if number not in taken)
        for graph in graphs:
            dst.append(graph.dst + node_offset)
            src.append(graph.src + node_offset)
            row_ptr.append(graph.row_ptr[1:] + edge_offset)
            node_id.append(
                graph.noise_id
                if graph.node_id is not None
                else graph.noise_id + (next(free) << 32)
            )
            if graph.input_edge is not None:
                given = graph.input_edge
                input_edge.append(torch.where(given < 0, given, given + edge_offset))
            node_offset += graph.num_nodes
            edge_offset += graph.num_edges
        weighted = any(graph.weight is not None for graph in graphs)
        looped = any(graph.loop_weight is not None for graph in graphs)
        features = [graph.feature for graph in graphs if graph.feature is not None]
        if len({part.shape[1] for part in features}) > 1 or (
            0 < len(features) < len(graphs)
        ):
            raise ValueError(
                "`graphs` must all have the same number of features of each edge, or"
                " none of them any."
            )
        odds = [graph.log_odds for graph in graphs if graph.log_odds is not None]
        if 0 < len(odds) < len(graphs):
            raise ValueError(
                "`graphs` must all have `log_odds`, or none of them; got"
                f" {len(odds)} of {len(graphs)} with."
            )
        return cls(
            num_nodes=node_offset,
            dst=torch.cat(dst),
            src=torch.cat(src),
            row_ptr=torch.cat(row_ptr),
            weight=torch.cat([graph.edge_weight for graph in graphs])
            if weighted
            else None,
            loop_weight=torch.cat([graph.loop_weights for graph in graphs])
            if looped
            else None,
            input_edge=torch.cat(input_edge)
            if len(input_edge) == len(graphs)
            else None,
            node_id=torch.cat(node_id),
            num_merged=sum(graph.num_merged for graph in graphs),
            feature=torch.cat(features) if features else None,
            log_odds=torch.cat(odds) if odds else None,
            degree=torch.cat([graph.in_degree for graph in graphs])
            if any(graph.degree is not None for graph in graphs)
            else None,
        )

    @property
    def num_edges(self) -> int:
        """Number of gated edges E, loops left out."""
        return self.src.numel()

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
        return (
            self.weight
            if self.weight is not None
            else _ones(self.num_edges, self.loop_weight, self.device)
        )

    @property
    def loop_weights(self) -> Tensor:
        """Weight A_ii of each node's self-loop, ones where none were given, [N]."""
        return (
            self.loop_weight
            if self.loop_weight is not None
            else _ones(self.num_nodes, self.weight, self.device)
        )

    @property
    def in_degree(self) -> Tensor:
        """Number of edges into each node, closed ones that were left out too, [N]."""
        return self.row_ptr.diff() if self.degree is None else self.degree

    @property
    def noise_id(self) -> Tensor:
        """What names each node in the noise, [N] int64."""
        return (
            self.node_id
            if self.node_id is not None
            else torch.arange(self.num_nodes, device=self.device)
        )

    @cached_property
    def by_source(self) -> SourceOrder:
        """The edges sorted by source, for passes over what each node sends."""
        edge = (self.src.long() * self.num_nodes + self.dst.long()).argsort()
        return SourceOrder(
            _pointers(self.src[edge].long(), self.num_nodes), self.dst[edge], edge
        )

    @cached_property
    def is_undirected(self) -> bool:
        """Whether every edge has a reverse edge of the same weight."""
        order = self.by_source
        same_ends = torch.equal(order.dst, self.src) and torch.equal(
            self.src[order.edge], self.dst
        )
        return same_ends and (
            self.weight is None or torch.equal(self.weight, self.weight[order.edge])
        )

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the edges, the same for the same nodes and edges."""
        digest = hashlib.sha256(str(self.num_nodes).encode())
        for part in (self.src, self.dst):
            digest.update(part.numpy(force=True).data)
        return digest.hexdigest()

    def to(self, device: torch.device | str) -> Graph:
        """The same graph on another device."""
        moved: dict[str, Any] = {
            field.name: value.to(device)
            for field in dataclasses.fields(self)
            if isinstance(value := getattr(self, field.name), Tensor)
        }
        return dataclasses.replace(self, **moved)

    def larger_direction(self, value: Tensor) -> Tensor:
        """Per edge the larger value of its two directions, [E]; undirected graphs."""
        return torch.maximum(value, value[self.by_source.edge])

    def select(self, keep: Tensor, weight: Tensor | None = None) -> Graph:
        """The graph of the edges marked in `keep`, [E], with new weights if given."""
        new_weight = self.weight if weight is None else weight
        return dataclasses.replace(
            self,
            dst=self.dst[keep],
            src=self.src[keep],
            row_ptr=_pointers(self.dst[keep].long(), self.num_nodes),
            weight=_pick(new_weight, keep),
            input_edge=None,
            feature=_pick(self.feature, keep),
            log_odds=_pick(self.log_odds, keep),
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


def _checked_edge_index(edge_index: Tensor) -> Tensor:
    if hasattr(edge_index, "as_tensor"):
        edge_index = edge_index.as_tensor()
    if edge_index.dim() != 2 or edge_index.shape[0] != 2:
        raise ValueError(
            f"`edge_index` must have shape [2, E], got {list(edge_index.shape)}."
        )
    if (
        edge_index.is_floating_point()
        or edge_index.is_complex()
        or edge_index.dtype == torch.bool
    ):
        raise ValueError(f"`edge_index` must hold integers, got {edge_index.dtype}.")
    return edge_index


def _checked_num_nodes(edge_index: Tensor, num_nodes: int | None) -> int:
    largest = int(edge_index.max()) if edge_index.numel() else -1
    if num_nodes is None:
        num_nodes = largest + 1
    if num_nodes < 0:
        raise ValueError(f"`num_nodes` must be at least 0, got {num_nodes}.")
    out_of_range = (edge_index < 0) | (edge_index >= num_nodes)
    if bool(out_of_range.any()):
        row, column = (int(i) for i in out_of_range.nonzero()[0])
        raise ValueError(
            f"`edge_index` must name nodes 0 to {num_nodes - 1},"
            f" got {int(edge_index[row, column])}"
            f" as {('source', 'target')[row]} of edge {column}."
        )
    return num_nodes


def _checked_weight(edge_weight: Tensor, edge_index: Tensor) -> Tensor:
    if edge_weight.shape != edge_index.shape[1:]:
        raise ValueError(
            f"`edge_weight` must have shape [{edge_index.shape[1]}],"
            f" got {list(edge_weight.shape)}."
        )
    if not edge_weight.is_floating_point():
        edge_weight = edge_weight.to(torch.get_default_dtype())
    bad = ~(edge_weight.isfinite() & (edge_weight >= 0))
    if bool(bad.any()):
        edge = int(bad.nonzero()[0])
        raise ValueError(
            f"`edge_weight` must be finite and at least 0,"
            f" got {float(edge_weight[edge])} at edge {edge}."
        )
    return edge_weight


def _loop_weights(node: Tensor, num_nodes: int, weight: Tensor | None) -> Tensor:
    given = torch.zeros(num_nodes, dtype=torch.bool, device=node.device)
    given[node] = True
    weight = _ones(len(node), None, node.device) if weight is None else weight
    total = weight.new_zeros(num_nodes).index_add(0, node, weight)
    return torch.where(given, total, torch.ones_like(total))


def _merging(is_weighted: bool, is_undirected: bool) -> str:
    """What became of the weights of edges that are given more than once."""
    if is_undirected:
        return "the largest weight counts" if is_weighted else "each pair counts once"
    if is_weighted:
        return "their weights were added"
    return "an edge named twice weighs double"


def _symmetrised(
    key: Tensor, weight: Tensor | None, feature: Tensor | None, num_nodes: int
) -> tuple[Tensor, Tensor | None, Tensor | None, Tensor]:
    """Keys, weights of A_ij = max(A_ij, A_ji), features; where each old key went."""
    dst = torch.div(key, max(num_nodes, 1), rounding_mode="floor")
    reverse = (key - dst * num_nodes) * num_nodes + dst
    both, position = torch.cat([key, reverse]).unique(return_inverse=True)
    if weight is not None:
        weight = weight.new_zeros(len(both)).scatter_reduce(
            0, position, weight.repeat(2), "amax"
        )
    if feature is not None:
        wide = feature.new_empty(len(both), feature.shape[1])
        wide[position[len(key) :]] = feature
        wide[position[: len(key)]] = feature
        feature = wide
    return both, weight, feature, position[: len(key)]


def _check_feature(edge_feature: Tensor, edge_index: Tensor) -> None:
    num_edges = edge_index.shape[1]
    if edge_feature.dim() != 2 or len(edge_feature) != num_edges:
        raise ValueError(
            f"`edge_feature` must have shape [{num_edges}, F],"
            f" got {list(edge_feature.shape)}."
        )
    if not edge_feature.is_floating_point():
        raise ValueError(
            "`edge_feature` must hold floating-point numbers,"
            f" got {edge_feature.dtype}."
        )


def _mean(value: Tensor, position: Tensor, size: int) -> Tensor:
    total = value.new_zeros(size, value.shape[1]).index_add(0, position, value)
    return total / torch.bincount(position, minlength=size)[:, None].to(value)


def _pointers(sorted_id: Tensor, num_nodes: int) -> Tensor:
    count = torch.bincount(sorted_id, minlength=num_nodes)
    return torch.cat([count.new_zeros(1), count.cumsum(0)])


def _pick(value: Tensor | None, mask: Tensor) -> Tensor | None:
    return None if value is None else value[mask]


def _ones(size: int, like: Tensor | None, device: torch.device) -> Tensor:
    return torch.ones(size, dtype=None if like is None else like.dtype, device=device)
