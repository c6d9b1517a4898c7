"""Gates that see pairs: what products of vectors add to the gate pass and to a step.

python -m benchmarks.pairs [--device cuda] [--scale 1] [--rank 0 16 64] [--open 100 20]
    [--tiles 64 32] [--step-rank 0 16] [--peer-scale 0.25]

The graph is `sgat_lab.synthetic.reddit_shaped`. First the gate pass and its gradient
by themselves, as CUDA graphs, for each rank and each tile (edges of a block); without
`--tiles` with the package's own, which rank 0 always has. Then the whole training step
of `benchmarks.training_step` with a bilinear scorer of each rank of `--step-rank`, and
beside PyG's `GATConv` on a part of the edges. `added` is what a rank adds to the time
of rank 0, `over_peer` how many times faster than `GATConv`. Rows are appended to
`results/pairs.csv`.
"""

from __future__ import annotations

import argparse
import dataclasses
import gc
import math
from collections.abc import Callable
from functools import partial
from typing import Any

import torch

from benchmarks.measure import append, measure, table
from benchmarks.ops import kernel_passes
from benchmarks.training_step import indexed, peer_step, sgat_step
from sgat_lab.synthetic.reddit_shaped import reddit_shaped

COLUMNS = [
    *("what", "edges", "rank", "tile", "open", "ms", "p20", "p80", "peak_gib"),
    *("added", "over_peer"),
]
BARS = (
    "bars: rank 16 adds at most 60 % to the gate pass both ways, and the step stays"
    " ahead of GATConv by 2/3 of what rank 0 is"
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cuda")
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--peer-scale", type=float, default=0.25)
    parser.add_argument("--rank", nargs="*", type=int, default=[0, 16, 64])
    parser.add_argument("--open", nargs="*", type=float, default=[100, 63, 20])
    parser.add_argument("--tiles", nargs="*", type=int, default=[])
    parser.add_argument("--step-rank", nargs="*", type=int, default=[0, 16])
    arguments = parser.parse_args()
    device = arguments.device
    if device == "cuda":
        from sgat.ops.gpu import gates
        from sgat.ops.gpu.records import shape_of
    torch.manual_seed(0)
    data = indexed(reddit_shaped(scale=arguments.scale, device=device).data)
    rows: list[dict[str, Any]] = []

    def add(
        row: dict[str, Any], make: Callable[[], Callable[[], Any]], *, capture: bool
    ) -> None:
        gc.collect()
        row = dict.fromkeys(COLUMNS, "") | row
        try:
            row |= measure(make(), device, capture=capture, budget=5.0)
        except torch.OutOfMemoryError:
            row["ms"] = math.nan
        if device == "cuda":
            torch.cuda.empty_cache()
        rows.append(row)
        print(table([row], COLUMNS).splitlines()[1], flush=True)

    def time_gates(rank: int, tile: str) -> None:
        for percent in arguments.open:
            setting = {"edges": data.graph.num_edges, "rank": rank, "tile": tile}
            setting["open"] = percent
            passes = kernel_passes(data.graph, torch.float32, percent, rank)
            for what in ("gate by target", "gate both ways", "gate backward"):
                timed = partial(passes.__getitem__, what)
                add({"what": what, **setting}, timed, capture=True)

    print("  ".join(COLUMNS))
    for rank in arguments.rank:
        if rank == 0 or device == "cpu":
            time_gates(rank, "")
            continue
        lanes, _ = shape_of(rank, torch.float32)
        own = gates.PAIR_BLOCKS[lanes]
        for tile in arguments.tiles or [own]:
            gates.PAIR_BLOCKS[lanes] = tile
            time_gates(rank, str(tile))
        gates.PAIR_BLOCKS[lanes] = own
    if arguments.step_rank:
        keep = torch.rand(data.graph.num_edges, device=device) < arguments.peer_scale
        part = dataclasses.replace(data, graph=data.graph.select(keep))
        peer = {"what": "step of GATConv", "edges": part.graph.num_edges}
        add(peer, partial(peer_step, "GATConv", part), capture=False)
        for some in (part, data):
            for rank in arguments.step_rank:
                for percent in arguments.open:
                    options = (percent, "attention", 0.0, torch.float32, rank)
                    setting = {"what": "step", "edges": some.graph.num_edges}
                    setting |= {"rank": rank, "open": percent}
                    add(setting, partial(sgat_step, some, *options), capture=True)
    compare(rows)
    print()
    print(table(rows, COLUMNS))
    print(BARS)
    print("appended to", append("pairs", rows, device).name)


def compare(rows: list[dict[str, Any]]) -> None:
    """Fill what a rank adds, and by how much a step is ahead of the peer's."""
    base = {
        (row["what"], row["edges"], row["open"]): row["ms"]
        for row in rows
        if row["rank"] == 0
    }
    peer = [row for row in rows if row["what"] == "step of GATConv"]
    for row in rows:
        plain = base.get((row["what"], row["edges"], row["open"]))
        if plain and row["rank"]:
            row["added"] = f"{row['ms'] / plain - 1:.0%}"
        if peer and row["what"] == "step" and row["edges"] == peer[0]["edges"]:
            row["over_peer"] = round(peer[0]["ms"] / row["ms"], 2)


if __name__ == "__main__":
    main()
