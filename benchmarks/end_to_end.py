"""200 epochs on real data sets against the same training with PyG's 2-head GATConv.

python -m benchmarks.end_to_end [--device cpu] [--epochs 200] [NAME ...]

Both train full-batch with Adam, evaluate every epoch, and differ in the model alone:
K → 2 x 64 → classes with dropout 0.5 on features and coefficients. On a GPU the epoch
of SGAT is captured in a CUDA graph and replayed. Compilation is reported apart: it
happens once, and on the CPU Numba keeps it on disk between runs. Data sets are found
as `sgat data` finds them ($SGAT_DATA). Rows are appended to `results/end_to_end.csv`.
"""

from __future__ import annotations

import argparse
import dataclasses
import time
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from benchmarks.measure import Captured, append, synchronize, table
from sgat.data import load
from sgat.data.node_data import NodeData
from sgat.features import SparseFeatures
from sgat.models import SGAT

NAMES = ("cora", "citeseer", "pubmed", "computers")
COLUMNS = ["dataset", "name", "epochs", "seconds", "compile_seconds", "val", "speedup"]
RATE = 0.5


class GAT(nn.Module):
    """Two layers of PyG's GATConv with 2 heads."""

    def __init__(self, num_features: int, num_classes: int) -> None:
        super().__init__()
        from torch_geometric.nn import GATConv

        self.first = GATConv(num_features, 64, heads=2, dropout=RATE)
        self.second = GATConv(128, num_classes, heads=2, concat=False, dropout=RATE)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        """Class scores."""
        x = F.dropout(x, RATE, self.training)
        x = F.elu(self.first(x, edge_index))
        x = F.dropout(x, RATE, self.training)
        out: Tensor = self.second(x, edge_index)
        return out


def adam(model: nn.Module, device: str) -> torch.optim.Optimizer:
    """The optimizer of both."""
    on_gpu = device == "cuda"
    return torch.optim.Adam(
        model.parameters(), lr=0.005, weight_decay=5e-4, fused=True, capturable=on_gpu
    )


def accuracy(logits: Tensor, data: NodeData) -> Tensor:
    """Accuracy on the validation nodes."""
    return (logits[data.val].argmax(1) == data.y[data.val]).float().mean()


def gat_epoch(data: NodeData, device: str) -> Callable[[], Tensor]:
    """One epoch of PyG's GAT: a step and an evaluation."""
    dense = data.x.to_dense() if isinstance(data.x, SparseFeatures) else data.x
    model = GAT(dense.shape[1], len(data.classes)).to(device)
    optimizer = adam(model, device)
    edge_index = data.graph.edge_index

    def epoch() -> Tensor:
        model.train()
        optimizer.zero_grad()
        logits = model(dense, edge_index)
        F.cross_entropy(logits[data.train], data.y[data.train]).backward()
        optimizer.step()
        model.eval()
        with torch.no_grad():
            return accuracy(model(dense, edge_index), data)

    return epoch


def sgat_epoch(data: NodeData, device: str) -> Callable[[], Tensor]:
    """One epoch of SGAT: a step and an evaluation."""
    model = SGAT(
        data.x.shape[1],
        64,
        len(data.classes),
        heads=2,
        readout="attention",
        output_heads=2,
        activation="elu",
        dropout=RATE,
        attention_dropout=RATE,
        gate_bias=None,
    ).to(device)
    optimizer = adam(model, device)
    seed = torch.zeros(1, dtype=torch.int64, device=device)

    def epoch() -> Tensor:
        model.train()
        optimizer.zero_grad()
        seed.add_(1)
        out = model.compute(data.x, data.graph, seed=seed)
        loss = F.cross_entropy(out.logits[data.train], data.y[data.train])
        (loss + 1e-6 * out.opened.penalty).backward()
        optimizer.step()
        model.eval()
        with torch.no_grad():
            return accuracy(model(data.x, data.graph), data)

    return epoch


def run(
    name: str, make: Callable[[], Callable[[], Tensor]], epochs: int, device: str
) -> dict[str, Any]:
    """Seconds of the epochs after the first two, scaled up, and of what came before."""
    torch.manual_seed(0)
    start = time.perf_counter()
    epoch = make()
    best = epoch().clone()
    synchronize(device)
    first = time.perf_counter() - start
    start = time.perf_counter()
    for _ in range(epochs):
        best = torch.maximum(best, epoch())
    synchronize(device)
    seconds = time.perf_counter() - start
    return {
        "name": name,
        "epochs": epochs,
        "seconds": round(seconds, 4),
        "compile_seconds": round(max(first - seconds / epochs, 0.0), 3),
        "val": round(float(best), 4),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=list(NAMES))
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--epochs", type=int, default=200)
    arguments = parser.parse_args()
    device = arguments.device
    rows: list[dict[str, Any]] = []
    for name in arguments.names:
        data = by_number(load(name)[0]).to(device)

        def fast(data: NodeData = data) -> Callable[[], Tensor]:
            epoch = sgat_epoch(data, device)
            return Captured(epoch) if device == "cuda" else epoch

        def plain(data: NodeData = data) -> Callable[[], Tensor]:
            return gat_epoch(data, device)

        gat = run("PyG GATConv", plain, arguments.epochs, device)
        ours = run("SGAT", fast, arguments.epochs, device)
        gat["speedup"] = 1.0
        ours["speedup"] = round(gat["seconds"] / ours["seconds"], 2)
        rows += [{"dataset": name, **row} for row in (gat, ours)]
        print(table(rows[-2:], COLUMNS), flush=True)
    print()
    print(table(rows, COLUMNS))
    print("appended to", append("end_to_end", rows, device).name)


def by_number(data: NodeData) -> NodeData:
    """The data with roles by number: a mask would wait for its size."""
    return dataclasses.replace(
        data,
        train=data.train.nonzero().squeeze(1),
        val=data.val.nonzero().squeeze(1),
    )


if __name__ == "__main__":
    main()
