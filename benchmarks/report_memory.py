"""Peak memory of `sgat report` against that of reading the edges of its run.

python -m benchmarks.report_memory [--edges 10000000] [--nodes 500000] [--rows shuffled]

The run is made without training: an untrained network scores a random graph. The rows
of its edges stand in the order of the graph (`sorted`), or in any order, as those of a
file do (`shuffled`), with ids that are text (`text`). Each reader runs in a process of
its own; its peak is that of the whole process, libraries included. A line per reader is
appended to `results/report_memory.csv`; `ratio` is its peak against that of `pyarrow`.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.measure import append, table

READERS = {
    "pyarrow": "from pyarrow.parquet import read_table; read_table(EDGES)",
    "pandas": "import pandas; pandas.read_parquet(EDGES)",
    "report": "from sgat.cli import main; main(['report', run, '--quiet'])",
}
CHILD = """
import json, re, sys, time
from pathlib import Path
run, start = sys.argv[1], time.perf_counter()
EDGES = run + "/edges.parquet"
{work}
# Not `ru_maxrss`, which a process inherits from the one that started it.
peak = re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text()).group(1)
print(json.dumps({{"seconds": time.perf_counter() - start, "kib": int(peak)}}))
"""
COLUMNS = ["reader", "rows", "edges", "nodes", "seconds", "peak_mib", "ratio"]


def make_run(folder: Path, num_edges: int, num_nodes: int, rows: str) -> None:
    """A run folder on a random graph, as `sgat fit` leaves it."""
    import torch

    from sgat.config import Config
    from sgat.data.node_data import NodeData
    from sgat.graph import Graph
    from sgat.runs.folder import RunFolder
    from sgat.runs.results import write_results
    from sgat.scored import score_graphs
    from sgat.training.fresh_model import build_sgat
    from sgat.training.result import EpochRecord, Result

    draw = torch.Generator().manual_seed(0)
    ends = torch.randint(num_nodes, (2, num_edges), generator=draw)
    graph = Graph.from_edges(ends, num_nodes, torch.ones(num_edges), say_merged=False)
    role = torch.randint(3, (num_nodes,), generator=draw)
    data = NodeData(
        graph=graph,
        x=torch.randn(num_nodes, 8, generator=draw),
        y=torch.randint(7, (num_nodes,), generator=draw),
        **{name: role == k for k, name in enumerate(("train", "val", "test"))},
        classes=tuple("abcdefg"),
    )
    settings = {"hidden": 8, "scorer": "additive", "readout": "linear"}
    config = Config().replace(model={**settings, "symmetric": False})
    model = build_sgat(config.model, 8, 7, graph.num_edges)
    model.reset_parameters(draw)
    record = EpochRecord(1, *[0.5] * 6, None, None, 0.0, 1.0)
    result = Result(model.eval(), [data], [record], 1, [])
    run = RunFolder(folder)
    run.start(config)
    start = time.perf_counter()
    scored = score_graphs(model, [data])
    write_results(run, config, result, scored)
    print(f"scored and written in {time.perf_counter() - start:.1f} s", file=sys.stderr)
    if rows != "sorted":
        shuffle(run, rows)


def shuffle(run: Any, rows: str) -> None:
    """Put the rows of the edges in another order, perhaps with ids that are text."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    edges = pq.read_table(run.edges)
    edges = edges.take(np.random.default_rng(0).permutation(len(edges)))
    nodes = pq.read_table(run.nodes)
    if rows == "text":
        names = pa.array([f"node-{k:08d}" for k in range(len(nodes))])
        nodes = nodes.set_column(0, "id", names)
        for place, end in enumerate(("src", "dst")):
            edges = edges.set_column(place, end, names.take(edges.column(end)))
    pq.write_table(edges, run.edges, compression="zstd")
    pq.write_table(nodes, run.nodes, compression="zstd")


def measured(reader: str, run: Path) -> dict[str, float]:
    """Seconds and peak memory of a reader in a process of its own."""
    code = CHILD.format(work=READERS[reader])
    root = Path(__file__).parents[1]
    done = subprocess.run(
        [sys.executable, "-c", code, str(run)],
        env={**os.environ, "PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        check=True,
    )
    found = json.loads(done.stdout.splitlines()[-1])
    return {"seconds": round(found["seconds"], 2), "peak_mib": found["kib"] // 1024}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--edges", type=int, default=10_000_000)
    parser.add_argument("--nodes", type=int, default=500_000)
    parser.add_argument(
        "--rows",
        choices=("sorted", "shuffled", "text"),
        nargs="+",
        default=["sorted", "shuffled", "text"],
    )
    arguments = parser.parse_args()
    size = {"edges": arguments.edges, "nodes": arguments.nodes}
    found = []
    for rows in arguments.rows:
        with tempfile.TemporaryDirectory() as place:
            run = Path(place) / "run"
            make_run(run, arguments.edges, arguments.nodes, rows)
            parts = [
                {"reader": reader, "rows": rows, **size, **measured(reader, run)}
                for reader in READERS
            ]
        for part in parts:
            part["ratio"] = round(part["peak_mib"] / parts[0]["peak_mib"], 2)
            print(part, file=sys.stderr, flush=True)
        found += parts
    append("report_memory", found, "cpu")
    print(table(found, COLUMNS))


if __name__ == "__main__":
    main()
