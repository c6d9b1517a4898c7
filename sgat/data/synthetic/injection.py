"""Noise put into a real graph, with a note of every edge added."""

from __future__ import annotations

import dataclasses
import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import pyarrow as pa
import pyarrow.parquet as pq
import torch
from torch import Tensor

from sgat.data.files.atomic import replacing
from sgat.data.files.data_tables import edge_table, node_table
from sgat.data.node_data import NodeData
from sgat.data.synthetic.pairs import (
    PairSpace,
    block_space,
    front_space,
    generator_for,
    other_classes,
    sample_pairs,
)
from sgat.graph import Graph

if TYPE_CHECKING:
    from sgat.data.files import FileGraph

Kind = Literal["random", "cross-class", "hub"]

HUB_SHARE = 0.05
"""Share of the nodes that count as hubs where their number is not given."""


@dataclasses.dataclass(frozen=True, eq=False)
class Injected:
    """Data with the old and the new edges."""

    data: NodeData
    added: Tensor  # which edges are new, in the order of `data.graph`, [E] bool


def inject(
    data: NodeData,
    kind: Kind = "random",
    rate: float = 1.0,
    seed: int = 0,
    *,
    undirected: bool = True,
    hubs: int | None = None,
) -> Injected:
    """Add edges that mean nothing, or mislead, and say which ones they are.

    Adds rate · E edges that were not in the graph, without loops, chosen uniformly
    among those of their kind:

        random        any two nodes
        cross-class   two nodes of different class; nodes without a label take no part
        hub           an edge to a node of high degree (undirected: and back)

    Where no node is both a source and a target of the edges given, as in tables of
    users and items, new edges go from sources to targets too.

    Old edges keep their weights, new ones weigh 1.

    Args:
        data: The data; it is not changed.
        kind: Which edges to add.
        rate: Number of new edges over the number of old ones, rounded to a whole number
            of edges (undirected: of pairs).
        seed: The same seed adds the same edges on the same type of device.
        undirected: Add both directions of pairs of which the graph has neither. False
            adds single directed edges.
        hubs: For `kind="hub"`, how many nodes of the highest degree (in and out, the
            smaller number first among equals) are hubs; None for 5 % of the nodes.
    """
    _check(data, kind, rate, hubs)
    graph = data.graph
    total = round(rate * graph.num_edges / (2 if undirected else 1))
    generator = generator_for(seed, 0, graph.device)
    old = taken = graph.keys
    if undirected:
        low, high = torch.minimum(graph.dst, graph.src), graph.dst.maximum(graph.src)
        taken = (low.long() * graph.num_nodes + high).unique()
    space, size = _space(data, kind, hubs, undirected), graph.num_nodes
    new = sample_pairs(
        space, total, size, generator, undirected=undirected, taken=taken
    )
    if new is None:
        what = f"{kind} {'pairs' if undirected else 'edges'}"
        raise ValueError(
            f"{data.name!r} has no room for {total} new {what}; lower `rate`, which"
            f" was {rate}{', or raise `hubs`' if kind == 'hub' else ''}."
        )
    if undirected:
        low = torch.div(new, max(graph.num_nodes, 1), rounding_mode="floor")
        reverse = (new - low * graph.num_nodes) * graph.num_nodes + low
        new = torch.cat([new, reverse])
    return _merged(data, old, new)


def write_injected(
    graphs: Sequence[Injected],
    folder: str | os.PathLike[str],
    files: FileGraph | None = None,
) -> list[Path]:
    """Write graphs with added edges as Parquet tables, all of them or nothing.

    `edges.parquet` and `nodes.parquet` are those of `sgat.data.files.data_tables`;
    `added.parquet` has src and dst of the added edges alone, so that no reader of the
    edges takes the answer for a feature. Several graphs get a folder each, named by
    their number. One that came from `files` is written as their rows, in their order
    and with all their columns, and the new rows last. The folder must be new or empty;
    the files written are returned.
    """
    target = Path(folder)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise ValueError(
            f"The output folder {os.fspath(folder)!r} must be new or empty;"
            f" choose another or remove it."
        )
    target.parent.mkdir(parents=True, exist_ok=True)
    width = len(str(len(graphs) - 1))
    with replacing(target, is_folder=True) as temporary:
        for number, injected in enumerate(graphs):
            place = temporary / f"{number:0{width}d}" if len(graphs) > 1 else temporary
            place.mkdir(parents=True)
            edges = edge_table(injected.data)
            new = edges.filter(pa.array(injected.added.cpu().numpy()))
            nodes = node_table(injected.data) if files is None else files.nodes
            if files is not None:
                new = _as_rows(new, injected, files)
                edges = pa.concat_tables(
                    [files.edges, new], promote_options="permissive"
                )
            pq.write_table(edges, place / "edges.parquet")
            pq.write_table(new.select([0, 1]), place / "added.parquet")
            if nodes is not None:
                pq.write_table(nodes, place / "nodes.parquet")
    return sorted(target.rglob("*.parquet"))


def _as_rows(new: Any, injected: Injected, files: FileGraph) -> Any:
    """The new edges as rows of the user's table; a pair is one row if it is there."""
    if files.undirected:
        graph, added = injected.data.graph, injected.added
        side = _sides(files.data.graph)
        end = torch.arange(graph.num_nodes) if side is None else side
        new = new.filter(pa.array((end[graph.src] < end[graph.dst])[added].numpy()))
    options = files.options
    columns = {options.src: new.column("src"), options.dst: new.column("dst")}
    if files.weight is not None:
        columns[files.weight] = pa.array([1.0] * len(new), pa.float64())
    fields = [files.edges.schema.field(name) for name in columns]
    return pa.table(columns).cast(pa.schema(fields))


def _merged(data: NodeData, old: Tensor, new: Tensor) -> Injected:
    """The data with the edges `new` besides."""
    graph = data.graph
    key, order = torch.cat([old, new]).sort()
    weight = graph.weight
    if weight is not None:
        weight = torch.cat([weight, weight.new_ones(len(new))])[order]
    known = {"loop_weight": graph.loop_weight, "node_id": graph.node_id}
    merged = Graph.from_keys(key, graph.num_nodes, weight=weight, **known)
    return Injected(dataclasses.replace(data, graph=merged), order >= len(old))


def _space(data: NodeData, kind: Kind, hubs: int | None, undirected: bool) -> PairSpace:
    graph, side = data.graph, _sides(data.graph)
    every = torch.arange(graph.num_nodes, device=graph.device)
    sent = torch.bincount(graph.src, minlength=graph.num_nodes)
    degree = graph.row_ptr.diff() + sent  # [N]
    if kind == "hub":
        if side is not None and not undirected:
            degree = degree.where(side == 1, 0)
        by_degree = degree.argsort(descending=True, stable=True)
        number = math.ceil(HUB_SHARE * graph.num_nodes) if hubs is None else hubs
    if side is None:
        if kind == "cross-class":
            return other_classes(data.y, data.num_classes)
        if kind == "random":
            return front_space(every, graph.num_nodes)
        return front_space(by_degree, number)
    # Blocks of the sources, and of the targets after them.
    block, allowed = torch.zeros_like(every), torch.ones(1, 1)
    if kind == "cross-class":
        block, allowed = data.y, 1 - torch.eye(data.num_classes)
    elif kind == "hub":
        block[by_degree[:number]], allowed = 1, torch.tensor([[0.0, 0.0], [1.0, 1.0]])
    ways = torch.tensor([[0.0, float(undirected)], [1.0, 0.0]])
    numbered = torch.where((block < 0) | (side < 0), -1, side * len(allowed) + block)
    return block_space(numbered, torch.kron(ways, allowed).to(graph.device))


def _sides(graph: Graph) -> Tensor | None:
    """1 for targets of the edges given, 0 for sources, -1 for others, [N].

    None where a node is both, or where it is not known what was given.
    """
    if graph.input_edge is None:
        return None
    given = graph.input_edge[graph.input_edge >= 0]
    src, dst = graph.src[given].long(), graph.dst[given].long()
    side = torch.full((graph.num_nodes,), -1, device=graph.device)
    side[src] = 0
    if not len(src) or bool((side[dst] == 0).any()):
        return None
    side[dst] = 1
    return side


def _check(data: NodeData, kind: Kind, rate: float, hubs: int | None) -> None:
    if kind not in get_args(Kind):
        raise ValueError(
            f"`kind` must be one of {', '.join(get_args(Kind))}, got {kind!r}."
        )
    if not 0 <= rate < math.inf:
        raise ValueError(f"`rate` must be finite and at least 0, got {rate}.")
    if hubs is not None and not 1 <= hubs <= data.num_nodes:
        raise ValueError(
            f"`hubs` must be from 1 to the number of nodes, {data.num_nodes},"
            f" got {hubs}."
        )
    if kind == "cross-class" and not data.classes:
        raise ValueError(
            "`kind` cross-class needs classes; name their column, `label`."
        )
    if kind == "cross-class" and data.is_multilabel:
        raise ValueError(
            f"`kind` must be random or hub for {data.name!r}, whose nodes have several"
            f" labels at once, got 'cross-class'."
        )
