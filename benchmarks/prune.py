"""Pruning stored tables of edges with `sgat prune`: time and peak memory.

python -m benchmarks.prune [--rows 100e6] [--strings 10e6] [--folder /tmp]
    [--memory 2GB] [--only integer-threshold integer-keep …]
python -m benchmarks.prune --own [--rows 1e6]
python -m benchmarks.prune --measure [--rows 8e6] [--shapes 1x8 2x64 …]

Random edges between a fiftieth as many nodes with 8 features, in one Parquet file: two
ids and one further column. The run is trained on a sample of a thousand nodes and
scores all others by their features (`--nodes`). Each row of `results/prune.csv` is one
`sgat prune` in a process of its own, imports, scoring and writing included;
`peak_gib` is the largest resident set of the whole process, and `cpu_seconds` what it
took of both cores, which is the number to compare where others were at work (`load`).

With `--own`, `sgat prune RUN` alone: runs of one epoch on such a graph, with the
scorers additive and evidence, whose edges have their scores in the run folder.

With `--measure`, the times that `sgat prune --keep 0.2 --measure` reports for 10,000
nodes and models of several shapes (heads x features each), in
`results/prune_measure.csv`: of an evaluation over all edges, of one that gates the full
graph, and of one over the pruned graph; the passes take turns in one process.
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

import numpy as np

from benchmarks.measure import append, table

CHUNK = 5_000_000
FEATURES = 8
VARIANTS: dict[str, tuple[str, list[str]]] = {
    "integer-threshold": ("integer", []),
    "integer-keep": ("integer", ["--keep", "0.2"]),
    "integer-min-degree": ("integer", ["--keep", "0.2", "--min-degree", "1"]),
    "integer-connected": ("integer", ["--keep", "0.2", "--keep-connected"]),
    "integer-symmetric": ("integer", ["--keep", "0.2", "--symmetric", "mean"]),
    "string-threshold": ("string", []),
    "string-keep": ("string", ["--keep", "0.2"]),
}
SHAPES = ("1x8", "2x16", "2x32", "2x64")
MEASURED = [
    *("shape", "rows", "edges", "all_edges_ms", "gated_ms", "pruned_ms"),
    *("speedup_over_all", "speedup_over_gated", "predictions_changed"),
]
COLUMNS = [
    *("name", "rows", "nodes", "ids", "kept", "seconds", "cpu_seconds"),
    *("peak_gib", "in_gib", "out_gib", "memory", "in_order"),
]


def node_ids(num_nodes: int, kind: str) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    generator = np.random.default_rng(0)
    # Sparse ids, so that no reader can take them for positions.
    ids = pa.array(np.unique(generator.integers(0, 2**60, num_nodes * 2))[:num_nodes])
    if kind == "integer":
        return ids
    return pc.binary_join_element_wise("node", ids.cast(pa.string()), "-")


def write_nodes(path: Path, ids: Any) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    generator = np.random.default_rng(1)
    x = generator.normal(size=(len(ids), FEATURES)).astype(np.float32)
    columns = {f"x{k}": x[:, k] for k in range(FEATURES)}
    labels = np.where(x[:, 0] > 0, "a", "b")
    pq.write_table(pa.table({"id": ids, **columns, "y": labels}), path)


def write_edges(path: Path, ids: Any, num_rows: int) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    generator = np.random.default_rng(2)
    writer = None
    for start in range(0, num_rows, CHUNK):
        size = min(CHUNK, num_rows - start)
        ends = generator.integers(0, len(ids), (2, size))
        part = pa.table(
            {
                "src": ids.take(pa.array(ends[0])),
                "dst": ids.take(pa.array(ends[1])),
                "number": np.arange(start, start + size),
            }
        )
        if writer is None:
            writer = pq.ParquetWriter(path, part.schema, compression="zstd")
        writer.write_table(part)
    assert writer is not None
    writer.close()


def sgat(*arguments: str) -> list[str]:
    code = "import sys; from sgat.cli import main; sys.exit(main(sys.argv[1:]))"
    return [sys.executable, "-c", code, *arguments]


def train(folder: Path, kind: str, *shape: str) -> Path:
    """A run on a thousand nodes with the same columns."""
    edges, nodes = folder / f"{kind}-few.parquet", folder / f"{kind}-sample.parquet"
    ids = node_ids(1000, kind)
    write_nodes(nodes, ids)
    write_edges(edges, ids, 20_000)
    run = folder / "-".join([kind, *shape, "run"])
    files = ["--edges", str(edges), "--nodes", str(nodes), "--label", "y"]
    options = ["--drop", "number", "--keep", "0.2", "--epochs", "30", "--quiet", *shape]
    # Gates that a database scores, whatever the number of rows.
    options += ["--scorer", "additive", "--readout", "linear"]
    subprocess.run(
        sgat("fit", *files, *options, "--out", str(run)),
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return run


def prune_own(folder: Path, num_rows: int) -> None:
    """Prune the edges of runs by the scores in their folders."""
    ids = node_ids(num_rows // 20, "integer")
    edges, nodes = folder / "edges.parquet", folder / "nodes.parquet"
    write_nodes(nodes, ids)
    write_edges(edges, ids, num_rows)
    results = []
    for scorer in ("additive", "evidence"):
        run, out = folder / scorer, folder / f"{scorer}.parquet"
        files = ["--edges", str(edges), "--nodes", str(nodes), "--label", "y"]
        options = ["--drop", "number", "--epochs", "1", "--scorer", scorer, "--quiet"]
        options += ["--readout", "linear", "--out", str(run)]
        fit = sgat("fit", *files, *options)
        subprocess.run(fit, check=True, stdout=subprocess.DEVNULL)
        said = ["--out", str(out), "--json", "--quiet"]
        found, cost = timed(sgat("prune", str(run), *said))
        row = {"name": f"own-{scorer}", "rows": num_rows, "nodes": len(ids)}
        row |= {"ids": "integer", "kept": found["kept"], **cost, "memory": "2GB"}
        for what, path in (("in", run / "edges.parquet"), ("out", out)):
            row[f"{what}_gib"] = round(path.stat().st_size / 2**30, 2)
        row["in_order"] = is_in_order(out)
        print(json.dumps(row), flush=True)
        append("prune", [{name: row[name] for name in COLUMNS}], "cpu")
        results.append(row)
    print(table(results, COLUMNS))


def timed(command: list[str]) -> tuple[dict[str, Any], dict[str, float]]:
    """The JSON that a process prints, and its seconds, processor seconds and peak."""
    start = time.perf_counter()
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(command, stdout=said)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise SystemExit(f"{' '.join(command[3:])} failed")
        said.seek(0)
        found: dict[str, Any] = json.loads(said.read())
    return found, {
        "seconds": round(time.perf_counter() - start, 1),
        "cpu_seconds": round(usage.ru_utime + usage.ru_stime, 1),
        "peak_gib": round(usage.ru_maxrss / 2**20, 2),
    }


def is_in_order(path: Path) -> bool:
    """Whether the rows of the output stand as in the input."""
    import pyarrow.parquet as pq

    last = -1
    for batch in pq.ParquetFile(path).iter_batches(columns=["number"]):
        number = batch.column(0).to_numpy()
        if len(number) and (number[0] <= last or (np.diff(number) <= 0).any()):
            return False
        last = int(number[-1]) if len(number) else last
    return True


def measure_shapes(folder: Path, num_rows: int, shapes: list[str]) -> None:
    """Time evaluation on the full and on the pruned graph."""
    ids = node_ids(10_000, "integer")
    edges, nodes = folder / "edges.parquet", folder / "nodes.parquet"
    write_nodes(nodes, ids)
    write_edges(edges, ids, num_rows)
    results = []
    for shape in shapes:
        heads, hidden = shape.split("x")
        run = train(folder, "integer", "--heads", heads, "--hidden", hidden)
        tables = ["--edges", str(edges), "--nodes", str(nodes), "--overwrite"]
        options = ["--keep", "0.2", "--measure", "--json", "--quiet"]
        out = ["--out", str(folder / "out.parquet")]
        found, _ = timed(sgat("prune", str(run), *tables, *options, *out))
        row = {"shape": shape, "rows": num_rows, **found["measure"]}
        row = {
            name: round(row[name], 2) if isinstance(row[name], float) else row[name]
            for name in MEASURED
        }
        print(json.dumps(row), flush=True)
        append("prune_measure", [row], "cpu")
        results.append(row)
    print(table(results, MEASURED))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=float, default=None)
    parser.add_argument("--strings", type=float, default=10e6)
    parser.add_argument("--folder", default=None)
    parser.add_argument("--memory", default="2GB")
    parser.add_argument("--only", nargs="+", choices=VARIANTS, default=list(VARIANTS))
    parser.add_argument("--own", action="store_true")
    parser.add_argument("--measure", action="store_true")
    parser.add_argument("--shapes", nargs="+", default=list(SHAPES))
    arguments = parser.parse_args()
    if arguments.own:
        with tempfile.TemporaryDirectory(dir=arguments.folder) as place:
            return prune_own(Path(place), int(arguments.rows or 1e6))
    if arguments.measure:
        with tempfile.TemporaryDirectory(dir=arguments.folder) as place:
            rows = int(arguments.rows or 8e6)
            return measure_shapes(Path(place), rows, arguments.shapes)
    results = []
    with tempfile.TemporaryDirectory(dir=arguments.folder) as place:
        folder = Path(place)
        for kind, size in (
            ("integer", arguments.rows or 100e6),
            ("string", arguments.strings),
        ):
            chosen = [name for name in arguments.only if VARIANTS[name][0] == kind]
            if not chosen:
                continue
            num_rows = int(size)
            ids = node_ids(max(num_rows // 50, 100), kind)
            edges, nodes = folder / f"{kind}.parquet", folder / f"{kind}-nodes.parquet"
            write_nodes(nodes, ids)
            write_edges(edges, ids, num_rows)
            run = train(folder, kind)
            for name in chosen:
                out = folder / "out.parquet"
                tables = ["--edges", str(edges), "--nodes", str(nodes)]
                options = ["--memory", arguments.memory, "--json", *VARIANTS[name][1]]
                command = sgat(
                    "prune", str(run), *tables, "--out", str(out), "--quiet", *options
                )
                found, cost = timed(command)
                row = {
                    "name": name,
                    "rows": num_rows,
                    "nodes": len(ids),
                    "ids": kind,
                    "kept": found["kept"],
                    **cost,
                    "in_gib": round(edges.stat().st_size / 2**30, 2),
                    "out_gib": round(out.stat().st_size / 2**30, 2),
                    "memory": arguments.memory,
                    "in_order": is_in_order(out),
                }
                print(json.dumps(row), flush=True)
                append("prune", [row], "cpu")
                results.append(row)
                out.unlink()
            edges.unlink()
    print(table(results, COLUMNS))


if __name__ == "__main__":
    main()
