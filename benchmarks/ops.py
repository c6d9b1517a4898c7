"""One layer, forward and backward, against its peers in the same run.

python -m benchmarks.ops [--device cpu] [--graph computers-shaped] [--scale 1]
    [--dtype float32] [--peers all|none|NAME ...] [--open 100 63 20 5]
    [--rank 0 16 64] [--dgl [PYTHON]]

The layer is width 128 → 2 x 64 with features that require a gradient, so that every
gradient is computed. SGAT runs with a share of its gates open; its gates all have the
same log α. `computers-shaped` has the 13,752 nodes and 491,722 directed edges of Amazon
Computers and heavy-tailed degrees; `reddit-shaped` is `sgat_lab.synthetic`'s, its size
set by --scale. On a GPU the passes are also timed by themselves, as CUDA graphs; those
over gates once for each --rank, the length of the vectors they see, 0 for none. With
--dgl, DGL's `GATConv` is timed as well, by an interpreter that has it. Rows are
appended to `results/ops.csv`.
"""

from __future__ import annotations

import argparse
import contextlib
import math
import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.dgl_peer import INTERPRETER, time_layer
from benchmarks.measure import append, measure, table
from sgat.conv import SGATConv
from sgat.gates import HardConcrete
from sgat.graph import Graph
from sgat.ops.operators.aggregate import (
    AggregateGradInputs,
    aggregate_rows,
    aggregate_rows_bwd,
)
from sgat.ops.operators.gates import (
    NUM_SLOTS,
    GateGradInputs,
    GateSums,
    OpenRows,
    open_rows,
    open_rows_bwd,
)
from sgat.ops.operators.slotted_edges import (
    SlottedEdges,
    aggregate_inputs,
    gate_inputs,
)

WIDTH, HEADS = 128, 2
PEERS = ("GATConv", "GATv2Conv", "GCNConv", "torch CSR matmul", "eager scatter SGAT")
COLUMNS = [
    "name",
    "open",
    "pass",
    "ms",
    "p20",
    "p80",
    "peak_gib",
    "speedup",
    "over_dgl",
]


def location(percent: float) -> float:
    """The log α at which this share of the drawn gates is open."""
    if percent >= 100:
        return 12.0
    return math.log(percent / (100 - percent)) + HardConcrete().threshold


def build_graph(name: str, scale: float, device: str) -> Graph:
    """The graph by its name."""
    if name == "reddit-shaped":
        from sgat_lab.synthetic.reddit_shaped import reddit_shaped

        made = reddit_shaped(scale=scale, features=False, device=device)
        return made.data.graph
    num_nodes, num_pairs = 13_752, 491_722 // 2
    generator = torch.Generator().manual_seed(0)
    weight = torch.rand(num_nodes, generator=generator).pow(-0.6).clamp(max=80)
    pairs = torch.multinomial(
        weight, 4 * num_pairs, replacement=True, generator=generator
    ).view(2, -1)
    low, high = pairs.min(0).values, pairs.max(0).values
    key = (low * num_nodes + high)[low != high].unique()
    key = key[torch.randperm(len(key), generator=generator)[:num_pairs]]
    edges = torch.stack([key // num_nodes, key % num_nodes])
    return Graph.from_edges(edges, num_nodes, make_undirected=True).to(device)


def sgat_layer(percent: float, backend: Any) -> SGATConv:
    """A layer whose gates are open at the given rate."""
    layer = SGATConv(
        WIDTH, WIDTH // HEADS, HEADS, gate_bias=location(percent), backend=backend
    )
    nn.init.zeros_(layer.scorer.weight)
    return layer


def csr_matrix(graph: Graph) -> Tensor:
    """The graph as torch's sparse matrix of ones, row by target, [N, N]."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.sparse_csr_tensor(
            graph.row_ptr,
            graph.src.long(),
            torch.ones(graph.num_edges, device=graph.device),
            (graph.num_nodes, graph.num_nodes),
        )


def peer(name: str, graph: Graph) -> Callable[[Tensor], Tensor]:
    """The forward pass of a peer."""
    from torch_geometric import nn as pyg

    if name == "torch CSR matmul":
        matrix = csr_matrix(graph)
        return lambda x: matrix @ x
    edge_index = graph.edge_index
    if name == "eager scatter SGAT":
        layer: Any = sgat_layer(100, "reference").to(graph.device)
        return lambda x: layer(x, graph, seed=3)
    if name == "GCNConv":
        layer = pyg.GCNConv(WIDTH, WIDTH, cached=True)
    else:
        layer = getattr(pyg, name)(WIDTH, WIDTH // HEADS, heads=HEADS)
    layer = layer.to(graph.device)
    return lambda x: layer(x, edge_index)


def passes(
    forward: Callable[[Tensor], Tensor], x: Tensor, context: Callable[[], Any]
) -> dict[str, Callable[[], Any]]:
    """Forward alone, and forward with backward."""
    upstream = torch.randn(len(x), WIDTH, device=x.device)

    def only_forward() -> None:
        with torch.no_grad(), context():
            forward(x)

    def both() -> None:
        x.grad = None
        with context():
            out = forward(x)
        out.backward(upstream.to(out.dtype))

    return {"forward": only_forward, "both": both}


def kernel_passes(
    graph: Graph, dtype: torch.dtype, percent: float, rank: int = 0
) -> dict[str, Any]:
    """The passes of the fast operators by themselves; those over gates with a rank."""
    num_nodes, device = graph.num_nodes, graph.device
    backend: Any = "gpu" if device.type == "cuda" else "cpu"
    score = torch.full((num_nodes,), location(percent) / 2, device=device)
    # Products so small that they move no gate.
    pair: Any = (None, None)
    if rank:
        pair = tuple(1e-4 * torch.randn(2, num_nodes, rank, device=device))
    scores, gates = (score, score, None, *pair), HardConcrete()
    seed = torch.tensor([3], device=device)
    both_ways = gate_inputs(graph, scores, seed, gates, backend)
    both_ways = both_ways._replace(with_pairs=rank > 0)
    nothing = {"sources": None, "source_dst": None, "source_edge": None}
    by_target = both_ways._replace(**nothing, with_pairs=False)
    outputs = open_rows(*both_ways)
    rows, sums = OpenRows(*outputs[:NUM_SLOTS]), GateSums(*outputs[NUM_SLOTS:])
    opened = SlottedEdges(
        graph, rows, sums.row_sum, sums.penalty, scores, seed, gates, backend
    )
    x = torch.randn(num_nodes, WIDTH, device=device).to(dtype)
    given = aggregate_inputs(opened, x, None, 0.0, 0)
    out, wide_out, kept = aggregate_rows(*given)
    backward = AggregateGradInputs(
        torch.randn_like(x),
        x,
        wide_out if wide_out.numel() else out,
        kept,
        *(given.rows, given.row_sum, given.sources),
        *(None, None, None, 0.0, 0, True, backend),
    )
    _, grad_gate, grad_row_sum = aggregate_rows_bwd(*backward)
    gate_backward = GateGradInputs(
        grad_gate,
        grad_row_sum,
        *pair,
        *(both_ways.src, None, both_ways.targets, both_ways.sources, given.rows),
        *(gates.temperature, gates.gamma, gates.zeta, False, backend),
    )
    over_gates = {
        "gate by target": lambda: open_rows(*by_target),
        "gate both ways": lambda: open_rows(*both_ways),
        "gate backward": lambda: open_rows_bwd(*gate_backward),
    }
    if rank:
        return over_gates
    return {
        **over_gates,
        "aggregate forward": lambda: aggregate_rows(*given),
        "aggregate backward": lambda: aggregate_rows_bwd(*backward),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--graph", default="computers-shaped")
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--dtype", choices=["float32", "bfloat16"], default="float32")
    parser.add_argument("--peers", nargs="*", default=["all"])
    parser.add_argument("--open", nargs="*", type=float, default=[100, 63, 20, 5])
    parser.add_argument("--rank", nargs="*", type=int, default=[0])
    parser.add_argument("--no-layers", action="store_true", help="only the passes")
    parser.add_argument(
        "--dgl", nargs="?", const=INTERPRETER, help="a Python with DGL, for its GATConv"
    )
    arguments = parser.parse_args()
    if arguments.dgl and (arguments.device, arguments.dtype) != ("cpu", "float32"):
        parser.error("--dgl is for the CPU in float32")
    device, dtype = arguments.device, getattr(torch, arguments.dtype)
    torch.manual_seed(0)
    graph = build_graph(arguments.graph, arguments.scale, device)
    setting = {
        "graph": arguments.graph,
        "nodes": graph.num_nodes,
        "edges": graph.num_edges,
        "dtype": arguments.dtype,
    }
    x = torch.randn(graph.num_nodes, WIDTH, device=device, requires_grad=True)

    def context() -> Any:
        if dtype == torch.float32:
            return contextlib.nullcontext()
        return torch.autocast(device, dtype)

    rows: list[dict[str, Any]] = []

    def add(name: str, percent: float | str, functions: dict[str, Any]) -> None:
        for what, function in functions.items():
            row = {**setting, "name": name, "open": percent, "pass": what}
            try:
                capture = name.startswith("kernels")
                row.update(measure(function, device, capture=capture))
            except torch.OutOfMemoryError:
                row["ms"] = math.nan
                torch.cuda.empty_cache()
            rows.append(row)

    names = PEERS if arguments.peers == ["all"] else arguments.peers
    for name in names:
        if name != "none":
            with contextlib.suppress(torch.OutOfMemoryError):
                add(name, "", passes(peer(name, graph), x, context))
    if arguments.dgl:
        versions, times = time_layer(graph.edge_index, graph.num_nodes, arguments.dgl)
        name = f"DGL {versions['dgl']} GATConv"
        for what, found in times.items():
            row = {**setting, "name": name, "open": "", "pass": what}
            rows.append({**row, **found, "torch": versions["torch"]})
    for percent in arguments.open:
        if not arguments.no_layers:
            layer = sgat_layer(percent, "auto").to(device)

            def forward(x: Tensor, layer: Any = layer) -> Tensor:
                out: Tensor = layer(x, graph, seed=3)
                return out

            add("SGATConv", percent, passes(forward, x, context))
        if device == "cuda":
            for rank in arguments.rank:
                name = f"kernels rank {rank}" if rank else "kernels"
                add(name, percent, kernel_passes(graph, dtype, percent, rank))
    for column, base in (("speedup", "GATConv"), ("over_dgl", "DGL")):
        slow = {
            row["pass"]: row["ms"] for row in rows if row["name"].split()[0] == base
        }
        for row in rows:
            if row["pass"] in slow:
                row[column] = round(slow[row["pass"]] / row["ms"], 2)
    print(f"{graph}, {arguments.dtype}; speed-up over PyG's GATConv and over DGL's")
    print(table(rows, COLUMNS))
    print("appended to", append("ops", rows, device).name)


if __name__ == "__main__":
    main()
