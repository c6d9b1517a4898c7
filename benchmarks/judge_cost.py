"""Time and memory of `sgat judge` on a made graph, from files, as users run it.

python -m benchmarks.judge_cost [--edges 1000000] [--nodes 100000] [--classes 40]
    [--memory 2GiB] [--files FOLDER] [--cgroup FOLDER]

Four in five edges join two nodes of a class, the others any two. A node has 32 features
around the mean of its class, and one in twenty has a label. Each edge is in the file in
both directions. The command runs in a process of its own. A line is appended to
`results/judge_cost.csv`. `peak_mib` counts pages of mapped files, which the system
takes back when it needs the memory, `anonymous_mib` does not: it is the most that was
seen, ten times a second. `--files` keeps the made files in a folder, or finds them
there. `--cgroup` is a memory cgroup, made before, that the command runs in.
"""

from __future__ import annotations

import argparse
import contextlib
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
ON_DISK = ["memory", "anonymous_mib"]
LOOK = 0.1
"""Seconds between two looks at the memory of the command."""


def write_files(folder: Path, edges: int, nodes: int, classes: int) -> list[str]:
    """Write both files; returns the arguments of the command that name them.

    Those that are there already stay.
    """
    given = ["--edges", str(folder / "edges.parquet"), "--label", "y"]
    given += ["--nodes", str(folder / "nodes.parquet")]
    if (folder / "nodes.parquet").exists():
        return given
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
    return given


def join(cgroup: Path | None) -> None:
    """Have this process run in a cgroup."""
    if cgroup is not None:
        (cgroup / "cgroup.procs").write_text(str(os.getpid()))


def anonymous(process: int) -> int:
    """KiB of memory of a process that are no pages of files; 0 when it is over."""
    with contextlib.suppress(OSError, ValueError):
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
        return next((int(n.split()[1]) for n in lines if n.startswith("RssAnon")), 0)
    return 0


def main() -> None:
    """Make the files, run the command, print and append its cost."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--edges", type=int, default=1_000_000)
    parser.add_argument("--nodes", type=int, default=100_000)
    parser.add_argument("--classes", type=int, default=40)
    parser.add_argument("--results", type=Path, default=Path("benchmarks/results"))
    parser.add_argument("--memory", help="the option of the command")
    parser.add_argument("--files", type=Path)
    parser.add_argument("--cgroup", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        sizes = (options.edges, options.nodes, options.classes)
        files = write_files(options.files or Path(folder), *sizes)
        more = ["--memory", options.memory] if options.memory else []
        out = [*more, "--out", str(Path(folder) / "judged.parquet"), "--quiet"]
        begin = time.perf_counter()
        command = [sys.executable, "-m", "sgat", "judge", *files, *out]
        process = subprocess.Popen(command, preexec_fn=lambda: join(options.cgroup))
        most = 0
        while process.poll() is None:
            most = max(most, anonymous(process.pid))
            time.sleep(LOOK)
        seconds = time.perf_counter() - begin
        if process.returncode:
            raise SystemExit(f"the command ended with {process.returncode}")
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    threads = int(os.environ.get("OMP_NUM_THREADS") or os.cpu_count() or 1)
    cost = [seconds, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024]
    row = dict(zip(COLUMNS, [*sizes, threads, *cost], strict=True))
    row |= {"memory": options.memory or "", "anonymous_mib": most / 1024}
    append("judge_cost", [row], "cpu", options.results)
    print(table([row], COLUMNS + ON_DISK))


if __name__ == "__main__":
    main()
