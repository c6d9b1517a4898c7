"""Time and memory of judging a large graph on a GPU, fit and verdicts together.

python -m benchmarks.judge_gpu [--scale 1 0.5] [--features 602] [--times 3]

The graph is `sgat_lab.synthetic.reddit_shaped` with three in ten edges between classes;
all of its training nodes have a label. `EdgeJudge.fit` learns the labels and judges all
edges. The first time compiles kernels. `peak_gib` counts the graph and its features,
which are on the GPU before, too. AUC is that of two million edges at random. A line for
each time is appended to `results/judge_gpu.csv`.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.metrics import roc_auc_score

from benchmarks.measure import append, table
from sgat.judging import EdgeJudge, Example
from sgat_lab.synthetic.reddit_shaped import reddit_shaped

HOMOPHILY = 0.7
LOOKED_AT = 2_000_000
COLUMNS = ["edges", "features", "time", "seconds", "peak_gib", "share", "auc", "same"]


def auc_of(odds: torch.Tensor, is_real: torch.Tensor) -> float:
    """AUC of some edges."""
    some = np.random.default_rng(0).integers(0, len(odds), LOOKED_AT)
    some = torch.from_numpy(some).to(odds.device)
    return float(roc_auc_score(is_real[some].cpu(), odds[some].cpu()))


def main() -> None:
    """Judge a few times, print and append what it takes."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--scale", type=float, nargs="+", default=[1.0])
    parser.add_argument("--features", type=int, default=602)
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--results", type=Path, default=Path("benchmarks/results"))
    options = parser.parse_args()
    rows: list[dict[str, Any]] = []
    for scale in options.scale:
        made = reddit_shaped(
            scale=scale,
            num_features=options.features,
            homophily=HOMOPHILY,
            device="cuda",
        )
        data, is_real, first = made.data, made.is_signal, None
        example = Example.of(data.graph, data.x, data.y, data.train)
        for number in range(options.times):
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
            torch.cuda.synchronize()
            begin = time.perf_counter()
            judge = EdgeJudge().to("cuda")
            (odds,) = judge.fit([example], seed=0)
            torch.cuda.synchronize()
            seconds = time.perf_counter() - begin
            first = odds if first is None else first
            sizes = data.graph.num_edges, options.features, number, seconds
            peak = torch.cuda.max_memory_allocated() / 2**30
            found = peak, judge.noise_share, auc_of(odds, is_real)
            same = torch.equal(odds, first)
            rows.append(dict(zip(COLUMNS, (*sizes, *found, same), strict=True)))
        del made, data, example, odds, first
    append("judge_gpu", rows, "cuda", options.results)
    print(table(rows, COLUMNS))


if __name__ == "__main__":
    main()
