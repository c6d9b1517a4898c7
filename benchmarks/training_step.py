"""A whole training step with Adam, 602 → 2 x 64 → 41, against its peers.

python -m benchmarks.training_step [--device cuda] [--scale 1] [--peer-scale 0.25]
    [--open 100 63 20 10 5] [--readouts attention linear diffusion]

The graph is `sgat_lab.synthetic.reddit_shaped`. Three read-outs are timed: `attention`
has the two attention layers 602 → 2 x 64 → 41 of PyG's GAT; `linear` is the paper's,
602 → 2 x 64 → 2 x 64 and a classifier, and aggregates 128 columns twice; `diffusion`,
of the recommended settings, aggregates the 41 class scores ten times. All gates have
nearly the same log α at the start, held there by a learning rate of 0; every gradient
is computed and Adam runs. Peers run on a quarter of the edges, where they fit, and SGAT
once more beside them. `captured` steps are replayed as a CUDA graph, which takes the
time to launch kernels from Python away; a step never waits for the device, so it can
be. Rows are appended to `results/training_step.csv`.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import gc
import math
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from benchmarks.measure import append, measure, table
from benchmarks.ops import csr_matrix, location
from sgat.data.node_data import NodeData
from sgat.models import SGAT
from sgat.training.metrics import loss_on
from sgat_lab.synthetic.reddit_shaped import reddit_shaped

COLUMNS = [
    *(
        "name",
        "edges",
        "dtype",
        "dropout",
        "open",
        "captured",
        "tf32",
        "ms",
        "p20",
        "p80",
    ),
    *("peak_gib", "speedup", "memory_ratio"),
]


class PyGNet(nn.Module):
    """Two layers of a PyG convolution."""

    def __init__(self, name: str, num_features: int, num_classes: int) -> None:
        super().__init__()
        from torch_geometric import nn as pyg

        if name == "GCNConv":
            self.first: nn.Module = pyg.GCNConv(num_features, 128, cached=True)
            self.second: nn.Module = pyg.GCNConv(128, num_classes, cached=True)
        else:
            self.first = getattr(pyg, name)(num_features, 64, heads=2)
            self.second = getattr(pyg, name)(128, num_classes, heads=1)

    def forward(self, x: torch.Tensor, edge_index: torch.Tensor) -> torch.Tensor:
        """Class scores."""
        out: torch.Tensor = self.second(F.relu(self.first(x, edge_index)), edge_index)
        return out


class CSRNet(nn.Module):
    """Two layers of a dense and a sparse product: the least a graph network can do."""

    def __init__(self, num_features: int, num_classes: int) -> None:
        super().__init__()
        self.first = nn.Linear(num_features, 128)
        self.second = nn.Linear(128, num_classes)

    def forward(self, x: torch.Tensor, matrix: torch.Tensor) -> torch.Tensor:
        """Class scores."""
        out: torch.Tensor = matrix @ self.second(F.relu(matrix @ self.first(x)))
        return out


def adam(model: nn.Module, device: str) -> torch.optim.Optimizer:
    """Adam that changes nothing, so that the open share stays put."""
    on_gpu = device == "cuda"
    return torch.optim.Adam(model.parameters(), lr=0.0, fused=on_gpu, capturable=on_gpu)


def sgat_step(
    data: NodeData,
    percent: float,
    readout: Any,
    dropout: float,
    dtype: torch.dtype,
    rank: int = 0,
) -> Callable[[], Any]:
    """One step of SGAT; with a rank, of one whose gates see a bilinear product."""
    device = data.x.device.type
    model = SGAT(
        data.x.shape[1],
        64,
        len(data.classes),
        heads=2,
        readout=readout,
        activation="relu",
        dropout=dropout,
        attention_dropout=dropout,
        gate_bias=location(percent),
        scorer="bilinear" if rank else None,
        rank=max(rank, 1),
    ).to(device)
    for parameter in model.gating.scorer.parameters():
        nn.init.zeros_(parameter)
    optimizer = adam(model, device)
    seed = torch.ones(1, dtype=torch.int64, device=device)
    context: Any = contextlib.nullcontext()
    if dtype != torch.float32:
        context = torch.autocast(device, dtype)

    def step() -> None:
        optimizer.zero_grad()
        seed.add_(1)
        with context:
            out = model.compute(data.x, data.graph, seed=seed)
            loss = loss_on(out.logits.float()[data.train], data.y[data.train])
        (loss + 1e-9 * out.opened.penalty).backward()
        optimizer.step()

    return step


def peer_step(name: str, data: NodeData) -> Callable[[], Any]:
    """One step of a peer."""
    device = data.x.device.type
    sizes = (data.x.shape[1], len(data.classes))
    if name == "torch CSR matmul":
        model: nn.Module = CSRNet(*sizes).to(device)
        edges = csr_matrix(data.graph)
    else:
        model = PyGNet(name, *sizes).to(device)
        edges = data.graph.edge_index
    optimizer = adam(model, device)

    def step() -> None:
        optimizer.zero_grad()
        out = model(data.x, edges)
        loss_on(out[data.train], data.y[data.train]).backward()
        optimizer.step()

    return step


def indexed(data: NodeData) -> NodeData:
    """The data with training nodes by number: a mask would wait for its size."""
    return dataclasses.replace(data, train=data.train.nonzero().squeeze(1))


def compare(
    data: NodeData, share: float, peers: list[str], add: Callable[..., None]
) -> None:
    """Peers and SGAT on this share of the edges."""
    keep = torch.rand(data.graph.num_edges, device=data.x.device) < share
    part = dataclasses.replace(data, graph=data.graph.select(keep))
    for name in peers:
        add(name, part, partial(peer_step, name, part))
    for percent in (100, 20):
        for capture in (False, True):
            add(
                "SGAT attention",
                part,
                partial(sgat_step, part, percent, "attention", 0.0, torch.float32),
                open=percent,
                capture=capture,
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cuda")
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--peer-scale", type=float, default=0.25)
    parser.add_argument("--open", nargs="*", type=float, default=[100, 63, 20, 10, 5])
    parser.add_argument("--peers", nargs="*", default=["GATConv", "GCNConv"])
    readouts = ["attention", "linear", "diffusion"]
    parser.add_argument("--readouts", nargs="*", choices=readouts, default=readouts)
    parser.add_argument("--tf32", action="store_true", help="matrix products in TF32")
    arguments = parser.parse_args()
    device = arguments.device
    if arguments.tf32:
        torch.set_float32_matmul_precision("high")
    rows: list[dict[str, Any]] = []

    def add(
        name: str,
        data: NodeData,
        make: Callable[[], Any],
        *,
        capture: bool = False,
        **setting: Any,
    ) -> None:
        gc.collect()
        row = {"name": name, "nodes": data.num_nodes, "edges": data.graph.num_edges}
        row |= {"dtype": "float32", "dropout": 0.0, "open": "", **setting}
        row |= {"captured": capture, "tf32": arguments.tf32, "memory_ratio": ""}
        try:
            row.update(measure(make(), device, capture=capture, repeats=7, budget=5.0))
        except torch.OutOfMemoryError:
            row["ms"] = math.nan
        if device == "cuda":
            torch.cuda.empty_cache()
        rows.append(row)
        print(table([row], COLUMNS).splitlines()[1], flush=True)

    print("  ".join(COLUMNS))
    data = indexed(reddit_shaped(scale=arguments.scale, device=device).data)
    if arguments.peers:
        compare(data, arguments.peer_scale, arguments.peers, add)
        beside = rows[0]
        for row in rows:
            row["speedup"] = round(beside["ms"] / row["ms"], 2)
            if "peak_gib" in row:
                row["memory_ratio"] = round(beside["peak_gib"] / row["peak_gib"], 2)
    settings = [
        (readout, dtype, 0.0)
        for readout in arguments.readouts
        for dtype in (torch.float32, torch.bfloat16)
    ]
    if "linear" in arguments.readouts:
        settings.append(("linear", torch.float32, 0.5))
    for readout, dtype, dropout in settings:
        for percent in arguments.open:
            add(
                f"SGAT {readout}",
                data,
                partial(sgat_step, data, percent, readout, dropout, dtype),
                open=percent,
                capture=True,
                dropout=dropout,
                dtype=str(dtype).removeprefix("torch."),
            )
    print()
    print(table(rows, COLUMNS))
    print("appended to", append("training_step", rows, device).name)


if __name__ == "__main__":
    main()
