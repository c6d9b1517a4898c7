"""Time and memory of `sgat fit` and `sgat report` on a large graph, as users run them.

python -m benchmarks.fit_card [--scale 1] [--epochs 50] [--features 602] [--times 2]
    [--files FOLDER] [--out FOLDER] [--sorted]

The graph is `sgat_lab.synthetic.reddit_shaped` with three in ten edges between classes,
written as two Parquet files: edges in random order (by target with `--sorted`), ids in
int64; nodes with a column for each feature, label and split. `sgat fit --fast` and
`sgat report` run in processes of their own, from files to files, imports included; the
first time compiles kernels. `anonymous_gib` is the most memory that is no pages of
files, `peak_gib` counts these too (both looked up 20 times a second), and `card_gib`
is the memory used on the GPU, which the system tells twice a second. AUC is that of two
million rows of the score table at random. Files in `--files` are made if they are not
there, and stay. A line for each command is appended to `results/fit_card.csv`.
"""

from __future__ import annotations

import argparse
import contextlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch
from sklearn.metrics import roc_auc_score

from benchmarks.measure import append, table
from sgat_lab.synthetic.reddit_shaped import reddit_shaped

HOMOPHILY = 0.7
LOOKED_AT = 2_000_000
EDGES_AT_ONCE, NODES_AT_ONCE = 1 << 22, 1 << 16
COLUMNS = ["command", "edges", "features", "epochs", "order", "time"]
FOUND = ["seconds", "anonymous_gib", "peak_gib", "card_gib", "auc"]
LOOK, LOOKS_TO_A_CARD = 0.05, 10
"""Seconds between two looks at the memory of the command; looks to one at the GPU."""


def write_files(folder: Path, scale: float, features: int, *, shuffled: bool) -> None:
    """Write both files, some rows at a time."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    how: dict[str, Any] = {"num_features": features, "homophily": HOMOPHILY}
    data = reddit_shaped(scale=scale, **how, device=device).data
    graph = data.graph
    draw = torch.Generator(device).manual_seed(0)
    number = graph.num_edges
    order = torch.arange(number, device=device)
    if shuffled:
        order = torch.randperm(number, generator=draw, device=device)
    schema = pa.schema([("src", pa.int64()), ("dst", pa.int64())])
    with pq.ParquetWriter(folder / "edges.parquet", schema) as file:
        for part in order.split(EDGES_AT_ONCE):
            ends = (end[part].long().cpu().numpy() for end in (graph.src, graph.dst))
            file.write_table(pa.table(list(map(pa.array, ends)), schema))
    split = np.array(["train", "val", "test"])[data.role.numpy()]
    kinds = [(f"f{k}", pa.float32()) for k in range(features)]
    schema = pa.schema(
        [("id", pa.int64()), ("y", pa.int64()), ("split", pa.string()), *kinds]
    )
    with pq.ParquetWriter(folder / "nodes.parquet", schema) as file:
        for first in range(0, data.num_nodes, NODES_AT_ONCE):
            own = slice(first, min(first + NODES_AT_ONCE, data.num_nodes))
            columns = [
                np.arange(own.start, own.stop),
                data.y[own].cpu().numpy(),
                split[own],
            ]
            columns += list(np.ascontiguousarray(data.x[own].T.cpu().numpy()))
            file.write_table(pa.table(list(map(pa.array, columns)), schema))


def on_card() -> float:
    """GiB used on the first GPU; 0 without one."""
    asked = ["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits"]
    try:
        found = subprocess.run(asked, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return 0.0
    return int(found.stdout.split()[0]) / 1024


def in_memory(process: int) -> tuple[float, float]:
    """GiB of a process that are no pages of files, and the most with them."""
    found = {"RssAnon": 0, "VmHWM": 0}
    with contextlib.suppress(OSError):
        status = Path(f"/proc/{process}/status").read_text()
        found |= {n: int(k) for n, k in re.findall(r"(\w+):\s+(\d+) kB", status)}
    return found["RssAnon"] / 2**20, found["VmHWM"] / 2**20


def run(command: list[str]) -> dict[str, float]:
    """Run a command of `sgat`; its time and the most memory that was seen."""
    most, before, looks = [0.0, 0.0, 0.0], on_card(), 0
    begin = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-m", "sgat", *command])
    while process.poll() is None:
        card = on_card() - before if looks % LOOKS_TO_A_CARD == 0 else 0.0
        most = list(map(max, most, (*in_memory(process.pid), card)))
        looks += 1
        time.sleep(LOOK)
    seconds = time.perf_counter() - begin
    if process.returncode:
        raise SystemExit(f"the command ended with {process.returncode}")
    return dict(zip(FOUND, (seconds, *most), strict=False))


def auc_of(scores: Path, nodes: Path) -> float:
    """AUC of the probability of some rows; edges between classes are wrong."""
    y = pq.read_table(nodes, columns=["y"])["y"].to_numpy()
    rows = pq.read_metadata(scores).num_rows
    share, rng = min(LOOKED_AT / rows, 1.0), np.random.default_rng(0)
    is_real, found = [], []
    with pq.ParquetFile(scores) as file:
        columns = ["src", "dst", "probability"]
        for batch in file.iter_batches(EDGES_AT_ONCE, columns=columns):
            some = rng.random(len(batch)) < share
            src, dst, probability = (c.to_numpy()[some] for c in batch.columns)
            is_real.append(y[src] == y[dst])
            found.append(probability)
    return float(roc_auc_score(np.concatenate(is_real), np.concatenate(found)))


def main() -> None:
    """Make the files, run the commands, print and append what they take."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--epochs", type=int, default=50)
    parser.add_argument("--features", type=int, default=602)
    parser.add_argument("--times", type=int, default=2)
    parser.add_argument("--sorted", action="store_true")
    parser.add_argument("--only-files", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--files", type=Path)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--results", type=Path, default=Path("benchmarks/results"))
    options = parser.parse_args()
    if options.only_files:
        given = options.files, options.scale, options.features
        write_files(*given, shuffled=not options.sorted)
        return
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as place:
        files, out = options.files or Path(place), options.out or Path(place) / "run"
        edges, nodes = files / "edges.parquet", files / "nodes.parquet"
        if not nodes.exists():
            # In a process of its own, whose memory on the GPU goes with it.
            again = [*sys.argv[1:], "--only-files", "--files", str(files)]
            files.mkdir(parents=True, exist_ok=True)
            make = [sys.executable, "-m", "benchmarks.fit_card", *again]
            subprocess.run(make, check=True)
        fit = ["fit", "--edges", str(edges), "--nodes", str(nodes), "--label", "y"]
        fit += ["--fast", "--epochs", str(options.epochs), "--out", str(out)]
        sizes = pq.read_metadata(edges).num_rows, options.features, options.epochs
        order = "by target" if options.sorted else "random"
        for number in range(options.times):
            shutil.rmtree(out, ignore_errors=True)
            found = run([*fit, "--quiet"])
            found["auc"] = auc_of(out / "edges.parquet", nodes)
            for name, cost in (
                ("fit", found),
                ("report", run(["report", str(out), "--quiet"])),
            ):
                given = dict(zip(COLUMNS, (name, *sizes, order, number), strict=True))
                rows.append(given | dict.fromkeys(FOUND, "") | cost)
                print(rows[-1], file=sys.stderr, flush=True)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    append("fit_card", rows, device, options.results)
    print(table(rows, COLUMNS + FOUND))


if __name__ == "__main__":
    main()
