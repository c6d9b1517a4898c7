"""Time and peak memory of reading ten million edges from a file.

python benchmarks/load_files.py [--edges 10000000] [--formats parquet csv npz mtx]

Each read runs in a process of its own; its peak memory is that of the whole process,
libraries included. A line per read is appended to `results/load_files.csv`.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import platform
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

RESULTS = Path(__file__).parent / "results" / "load_files.csv"
CHILD = """
import json, re, sys, time
from pathlib import Path
import sgat.data.files as files
# Not `ru_maxrss`, which a process inherits from the one that started it.
def peak_kib():
    status = Path("/proc/self/status").read_text()
    return int(re.search(r"VmHWM:\\s+(\\d+) kB", status).group(1))
baseline = peak_kib()
start = time.perf_counter()
graph = files.read_graph(sys.argv[1])
seconds = time.perf_counter() - start
peak = peak_kib()
print(json.dumps({
    "nodes": graph.data.num_nodes, "edges": graph.data.graph.num_edges,
    "seconds": round(seconds, 2), "peak_mib": peak // 1024,
    "baseline_mib": baseline // 1024,
}))
"""


def generate(folder: Path, num_edges: int, kind: str, formats: list[str]) -> list[Path]:
    """Random edges between a tenth as many nodes, two integer or string columns."""
    import numpy as np
    import pyarrow as pa

    from sgat.data.files import write_table

    generator = np.random.default_rng(0)
    num_nodes = max(num_edges // 10, 2)
    # Sparse ids, so that no reader can take them for positions.
    ids = np.sort(generator.choice(2**60, num_nodes, replace=False))
    ends = [pa.array(ids[generator.integers(0, num_nodes, num_edges)]) for _ in "sd"]
    if kind == "string":
        ends = [end.cast(pa.string()) for end in ends]
        ends = [pa.compute.binary_join_element_wise("n", end, "-") for end in ends]
    table = pa.table(ends, names=["src", "dst"])
    paths = []
    for format in formats:
        paths.append(folder / f"{kind}.{format}")
        write_table(table, paths[-1])
    return paths


def measure(path: Path) -> dict[str, object]:
    done = subprocess.run(
        [sys.executable, "-c", CHILD, str(path)],
        check=True,
        capture_output=True,
        text=True,
    )
    found: dict[str, object] = json.loads(done.stdout)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--edges", type=int, default=10_000_000)
    parser.add_argument("--formats", nargs="+", default=["parquet", "csv", "npz"])
    parser.add_argument("--ids", nargs="+", default=["integer", "string"])
    arguments = parser.parse_args()
    import pyarrow
    import torch

    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True
    ).stdout.strip()
    with tempfile.TemporaryDirectory() as folder:
        for kind in arguments.ids:
            paths = generate(Path(folder), arguments.edges, kind, arguments.formats)
            for path in paths:
                record = {
                    "format": path.suffix[1:],
                    "ids": kind,
                    "rows": arguments.edges,
                    "file_mib": path.stat().st_size // 2**20,
                    **measure(path),
                    "cores": len(os.sched_getaffinity(0)),
                    "processor": platform.machine(),
                    "python": platform.python_version(),
                    "pyarrow": pyarrow.__version__,
                    "torch": torch.__version__,
                    "date": datetime.now(UTC).date().isoformat(),
                    "commit": commit,
                }
                print(json.dumps(record), flush=True)
                append(record)
                path.unlink()


def append(record: dict[str, object]) -> None:
    RESULTS.parent.mkdir(exist_ok=True)
    is_new = not RESULTS.exists()
    with RESULTS.open("a", newline="") as file:
        writer = csv.DictWriter(file, list(record))
        if is_new:
            writer.writeheader()
        writer.writerow(record)


if __name__ == "__main__":
    main()
