"""Time and memory of `sgat fit` with its defaults on made tables, as users run it.

python -m benchmarks.fit_table [--rows 1000000] [--nodes 100000] [--seed 0]
    [--kind easy] [--format csv] [--results benchmarks/results]

A row is an edge that stands for both directions; a node has one of two blocks, two
features around the mean of its block, and the block as its class.

easy    the means are 6 spreads apart, 2 % of the rows join different blocks
hard    they are 1 spread apart, 20 % of the rows do, and 15 % of the nodes have the
        other class than their block has

The command runs in a process of its own. Its stages begin where it says so. A line is
appended to `results/fit_table.csv`.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.measure import append, table

APART = {"easy": 6.0, "hard": 1.0}
WRONG = {"easy": 0.02, "hard": 0.2}
OTHER = {"easy": 0.0, "hard": 0.15}
COLUMNS = [
    *("rows", "nodes", "seed", "kind", "format", "threads", "seconds", "processor"),
    *("peak_mib", "test", "validation", "removed", "chosen", "tried", "stages"),
]


def write_files(
    folder: Path, rows: int, nodes: int, seed: int, kind: str, format: str
) -> list[str]:
    """Write both files; returns the arguments of the command that name them."""
    rng = np.random.default_rng(seed)
    block = rng.permutation(np.arange(nodes) % 2)
    members = [np.flatnonzero(block == side) for side in (0, 1)]
    src = rng.integers(0, nodes, rows)
    side = block[src] ^ (rng.random(rows) < WRONG[kind])
    place = rng.random(rows)
    dst = np.where(
        side == 0,
        *(group[(place * len(group)).astype(int)] for group in members),
    )
    x = rng.standard_normal((nodes, 2))
    x[:, 0] += APART[kind] * block
    y = block ^ (rng.random(nodes) < OTHER[kind])
    paths = []
    for name, columns in (
        ("edges", {"src": src, "dst": dst}),
        ("nodes", {"id": np.arange(nodes), "a": x[:, 0], "b": x[:, 1], "y": y}),
    ):
        path = folder / f"{name}.{format}"
        written = pd.DataFrame(columns)
        if format == "csv":
            written.to_csv(path, index=False)
        else:
            written.to_parquet(path)
        paths += [f"--{name}", str(path)]
    return [*paths, "--label", "y", "--undirected"]


def processor(process: int) -> float:
    """Seconds of all processors that a process has used so far (Linux)."""
    used = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, used[11:13])) / os.sysconf("SC_CLK_TCK")


def timed(command: list[str]) -> tuple[float, list[str]]:
    """Run a command; its seconds, and those of each line of progress: clock, used."""
    begin = time.perf_counter()
    lines = []
    how: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, text=True, **how) as process:
        assert process.stderr is not None
        for line in process.stderr:
            now = time.perf_counter() - begin
            lines.append(f"{now:.1f} {processor(process.pid):.1f} {line.strip()}")
    if process.returncode:
        raise SystemExit("\n".join(lines))
    return time.perf_counter() - begin, lines


def main() -> None:
    """Make the files, run the command, print and append its cost."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--nodes", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kind", choices=list(APART), default="easy")
    parser.add_argument("--format", choices=["csv", "parquet"], default="csv")
    parser.add_argument("--results", type=Path, default=Path("benchmarks/results"))
    options = parser.parse_args()
    given = {name: getattr(options, name) for name in COLUMNS[:5]}
    with tempfile.TemporaryDirectory() as folder:
        files = write_files(Path(folder), **given)
        out = Path(folder) / "run"
        command = [sys.executable, "-m", "sgat", "fit", *files, "--out", str(out)]
        seconds, lines = timed(command)
        summary = json.loads((out / "summary.json").read_text())
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    row = {
        **given,
        "threads": int(os.environ.get("OMP_NUM_THREADS") or os.cpu_count() or 1),
        "seconds": round(seconds, 1),
        "processor": round(used.ru_utime + used.ru_stime, 1),
        "peak_mib": round(used.ru_maxrss / 1024),
        "test": round(summary["accuracy"], 4),
        "validation": round(summary["validation"], 4),
        "removed": summary["rows_removed"],
        "chosen": " + ".join(summary["chosen"]["names"]),
        "tried": len({trial["name"] for trial in summary["tried"]}),
        "stages": "; ".join(lines),
    }
    print("\n".join(lines))
    append("fit_table", [row], "cpu", options.results)
    print(table([row], COLUMNS[:-1]))


if __name__ == "__main__":
    main()
