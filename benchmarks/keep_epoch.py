"""Time of an epoch with `keep` beside one without, and of finding the border.

python -m benchmarks.keep_epoch [--device cuda] [--scale 1] [--epochs 10]

The graph is `sgat_lab.synthetic.reddit_shaped` with 64 features, the read-out is
attention. Three trainings take epochs in turns: λ = 0, where all gates stay open;
`keep` with the paper's gates; and `keep` with odds that are drawn at random here.
Seconds are medians by the clock, and of processor time. `border` is the time to find
which edges go; it is compared with that of a sort, and its place counts. Rows are
appended to `results/keep_epoch.csv`.
"""

from __future__ import annotations

import argparse
import statistics
import time
from pathlib import Path
from typing import Any

import torch

from benchmarks.measure import append, measure, synchronize, table
from sgat.config import ModelConfig, TrainConfig
from sgat.judging import EdgeJudge
from sgat.ops.border import border
from sgat.training.loop import Training
from sgat_lab.synthetic.reddit_shaped import reddit_shaped

KEEP = 0.3
COLUMNS = ["name", "edges", "seconds", "processor", "times_first", "open_share"]


def check_border(size: int, device: str) -> dict[str, Any]:
    """Time of the border of random scores with many ties; it must be that of a sort."""
    score = torch.randn(size, device=device).mul_(1000).round_().div_(1000)
    score[: size // 2].normal_()
    place = torch.tensor(round((1 - KEEP) * size), device=device)
    found = torch.stack(border(score, place))
    wanted = score.sort().values[place - 1 : place + 1]
    assert torch.equal(found, wanted), (found, wanted)
    taken = measure(lambda: border(score, place), device)
    return {"name": "border", "edges": size, "seconds": taken["ms"] / 1e3}


def main() -> None:
    """Train in turns, print and append the times."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cuda")
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--results", type=Path, default=Path("benchmarks/results"))
    options = parser.parse_args()
    device = options.device
    shape: dict[str, Any] = {"scale": options.scale, "num_features": 64}
    data = reddit_shaped(**shape, device=device).data
    odds = 3 + 2 * torch.randn(data.graph.num_edges, device=device)
    # Judging takes longer than all epochs, and is not what is timed here.
    EdgeJudge.log_odds = lambda self, x, graph: odds  # type: ignore[method-assign]
    settings: dict[str, tuple[str, dict[str, Any]]] = {
        "lambda": ("additive", {"l0_weight": 0.0}),
        "keep": ("additive", {"keep": KEEP, "warmup": 0}),
        "keep, judged": ("evidence", {"keep": KEEP, "warmup": 0}),
    }
    runs = {}
    for name, (scorer, given) in settings.items():
        model = ModelConfig(scorer=scorer, readout="attention", symmetric=False)
        train = TrainConfig(epochs=options.epochs + 2, device=device, **given)
        runs[name] = Training([data], model, train)
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in runs}
    for _ in range(options.epochs + 2):
        for name, run in runs.items():
            start = time.perf_counter(), time.process_time()
            run.run_epochs(1)
            synchronize(device)
            end = time.perf_counter(), time.process_time()
            times[name].append((end[0] - start[0], end[1] - start[1]))
    rows = []
    for name, run in runs.items():
        clock, processor = map(statistics.median, zip(*times[name][2:], strict=True))
        row = {"name": name, "edges": data.graph.num_edges, "seconds": clock}
        row |= {"processor": processor, "open_share": run.records[-1].open_share}
        key = "seconds" if device == "cuda" else "processor"
        rows.append(row | {"times_first": row[key] / (rows or [row])[0][key]})
    rows.append(check_border(data.graph.num_edges, device))
    append("keep_epoch", rows, device, options.results)
    print(table(rows, COLUMNS))


if __name__ == "__main__":
    main()
