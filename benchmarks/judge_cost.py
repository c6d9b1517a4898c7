"""Time and memory of `sgat judge` on a made graph, from files, as users run it.

python -m benchmarks.judge_cost [--edges 1000000] [--nodes 100000] [--classes 40]

Four in five edges join two nodes of a class, the others any two. A node has 32 features
around the mean of its class, and one in twenty has a label. Each edge is in the file in
both directions. The command runs in a process of its own. A line is appended to
`results/judge_cost.csv`.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.measure import append, table

FEATURES = 32
EDGES_AT_ONCE, NODES_AT_ONCE = 1 << 22, 1 << 18
"""Made at a time, so that making files takes little memory."""
COLUMNS = ["edges", "nodes", "classes", "threads", "seconds", "processor", "peak_mib"]


def write_files(folder: Path, edges: int, nodes: int, classes: int) -> list[str]:
    """Write both files; returns the arguments of the command that name them."""
    rng = np.random.default_rng(0)
    y = np.sort(rng.integers(0, classes, nodes))
    start = np.searchsorted(y, np.arange(classes))
    number = np.bincount(y, minlength=classes)
    schema = pa.schema([("src", pa.int64()), ("dst", pa.int64())])
    with pq.ParquetWriter(folder / "edges.parquet", schema) as file:
        for first in range(0, edges // 2, EDGES_AT_ONCE):
            one = rng.integers(0, nodes, min(EDGES_AT_ONCE, edges // 2 - first))
            alike = start[y[one]] + (rng.random(len(one)) * number[y[one]]).astype(int)
            is_alike = rng.random(len(one)) < 0.8
            other = np.where(is_alike, alike, rng.integers(0, nodes, len(one)))
            both = np.r_[one, other], np.r_[other, one]
            file.write_table(pa.table(list(map(pa.array, both)), schema))
    mean = rng.standard_normal((classes, FEATURES))
    names = [f"f{k}" for k in range(FEATURES)]
    kinds = [(name, pa.float64()) for name in names]
    schema = pa.schema([*kinds, ("id", pa.int64()), ("y", pa.string())])
    with pq.ParquetWriter(folder / "nodes.parquet", schema) as file:
        for first in range(0, nodes, NODES_AT_ONCE):
            own = y[first : first + NODES_AT_ONCE]
            x = mean[own] + 2 * rng.standard_normal((len(own), FEATURES))
            table = pd.DataFrame(x, columns=names)
            table["id"] = np.arange(first, first + len(own))
            table["y"] = np.where(rng.random(len(own)) < 0.05, own.astype(str), None)
            file.write_table(pa.Table.from_pandas(table, schema, preserve_index=False))
    given = ["--edges", str(folder / "edges.parquet"), "--label", "y"]
    return [*given, "--nodes", str(folder / "nodes.parquet")]


def main() -> None:
    """Make the files, run the command, print and append its cost."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--edges", type=int, default=1_000_000)
    parser.add_argument("--nodes", type=int, default=100_000)
    parser.add_argument("--classes", type=int, default=40)
    parser.add_argument("--results", type=Path, default=Path("benchmarks/results"))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        sizes = (options.edges, options.nodes, options.classes)
        files = write_files(Path(folder), *sizes)
        out = ["--out", str(Path(folder) / "judged.parquet"), "--quiet"]
        begin = time.perf_counter()
        subprocess.run(
            [sys.executable, "-m", "sgat", "judge", *files, *out], check=True
        )
        seconds = time.perf_counter() - begin
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    threads = int(os.environ.get("OMP_NUM_THREADS") or os.cpu_count() or 1)
    cost = [seconds, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024]
    row = dict(zip(COLUMNS, [*sizes, threads, *cost], strict=True))
    append("judge_cost", [row], "cpu", options.results)
    print(table([row], COLUMNS))


if __name__ == "__main__":
    main()
