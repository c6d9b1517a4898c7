"""A whole training step over sizes of graphs and shares of open edges, beside peers.

python -m benchmarks.sweep [--device cpu] [--edges 1e4 1e5 1e6 1e7]
    [--open 100 63 20 5] [--peers all|none|NAME ...] [--memory-gib FREE]
    [--results FOLDER]

The step is that of `training_step`: 602 → 2 x 64 → 41 on a `reddit_shaped` graph, Adam
included, float32, no dropout; the peers run the same step with layers of their own.
Below 14 million edges the mean degree of such a graph shrinks with it; the columns
`nodes` and `edges` say what was made. On the CPU every row has a process of its own:
its peak is the resident memory of that process, libraries and data included, and it may
take no more than --memory-gib, by default what the machine has free. On a GPU the peak
is that of torch's allocator, and SGAT is timed twice: launched from Python, as its
peers are, and `captured` in a CUDA graph. What does not fit is a row too, with the
status "out of memory". Rows are appended to `results/sweep.csv` one by one;
`benchmarks.plot` draws them.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import json
import math
import re
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch

from benchmarks.measure import RESULTS, append, measure, table
from benchmarks.training_step import indexed, peer_step, sgat_step
from sgat.data.node_data import NodeData
from sgat_lab.synthetic.reddit_shaped import NUM_EDGES, reddit_shaped

Row = dict[str, Any]

PEERS = ("GATConv", "GATv2Conv", "GCNConv", "torch CSR matmul")
SIZES = {
    "cpu": (1e4, 1e5, 1e6, 1e7),
    "cuda": (1e4, 1e5, 1e6, 1e7, NUM_EDGES),
}
COLUMNS = ["name", "edges", "open", "captured", "ms", "p20", "p80", "peak_gib"]
COLUMNS += ["status"]
OUT_OF_MEMORY = "out of memory"
LONGEST = 900
"""Seconds after which a row on the CPU is given up."""
SQUARE = 9.45e8
"""Edges of `reddit_shaped` over its scale squared, where its classes are full."""


def scale_for(num_edges: float) -> float:
    """The scale at which `reddit_shaped` has about this many edges."""
    return max(num_edges / NUM_EDGES, math.sqrt(num_edges / SQUARE))


def settings(device: str, peers: list[str], shares: list[float]) -> Iterator[Row]:
    """What is timed on each graph."""
    for name in peers:
        yield {"name": name, "open": "", "captured": False}
    for percent in shares:
        for captured in (False, True) if device == "cuda" else (False,):
            yield {"name": "SGAT", "open": percent, "captured": captured}


def build_step(setting: Row, data: NodeData) -> Callable[[], Any]:
    """The step of SGAT or of a peer."""
    if setting["name"] == "SGAT":
        return sgat_step(data, setting["open"], "attention", 0.0, torch.float32)
    return peer_step(setting["name"], data)


def fault_of(lines: list[str]) -> str:
    """The status that these lines of an error stand for; the first is shown."""
    # As torch's allocator, the C++ library and LLVM say it.
    words = r"can't allocate memory|bad_alloc|out of memory"
    if any(re.search(words, line, re.I) for line in lines):
        return OUT_OF_MEMORY
    return f"failed: {lines[0]}"


def fault(error: RuntimeError | MemoryError) -> str:
    """The status of a row that could not be timed."""
    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        return OUT_OF_MEMORY
    return fault_of(str(error).strip().splitlines() or [type(error).__name__])


def time_here(setting: Row, data: NodeData, repeats: int) -> Row:
    """Time, peak memory and status in this process."""
    device = data.x.device.type
    gc.collect()
    try:
        return measure(
            build_step(setting, data),
            device,
            capture=setting["captured"],
            repeats=repeats,
            budget=5.0,
        )
    except (RuntimeError, MemoryError) as error:
        return {"status": fault(error)}
    finally:
        if device == "cuda":
            torch.cuda.empty_cache()


def memory(where: str, name: str) -> int:
    """A size in bytes as the kernel states it, or -1 where it does not."""
    with contextlib.suppress(OSError):
        found = re.search(rf"^{name}:\s+(\d+) kB", Path(where).read_text(), re.M)
        if found:
            return int(found[1]) * 1024
    return -1


def time_child(path: str, setting: Row, repeats: int, most: int) -> Row:
    """What `time_apart` runs: time and peak memory of a process with one row."""
    if most > 0:
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    try:
        # The parent wrote this file a moment ago; nothing else is ever read here.
        data = torch.load(path, weights_only=False)
    except (RuntimeError, MemoryError) as error:
        return {"status": fault(error)}
    # Forget the peak of loading. Where that is not allowed, it is part of the peak.
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
    row = time_here(setting, data, repeats)
    peak = memory("/proc/self/status", "VmHWM")
    if "status" not in row and peak > 0:
        row["peak_gib"] = round(peak / 2**30, 4)
    return row


def time_apart(path: Path, setting: Row, repeats: int, gib: float | None) -> Row:
    """Time, peak memory and status in a process of its own, on the CPU."""
    free = memory("/proc/meminfo", "MemAvailable")
    order = {"path": str(path), "setting": setting, "repeats": repeats}
    order["most"] = free if gib is None else int(gib * 2**30)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.sweep", "--child", json.dumps(order)],
            cwd=Path(__file__).parents[1],
            capture_output=True,
            text=True,
            check=False,
            timeout=LONGEST,
        )
    except subprocess.TimeoutExpired:
        return {"status": f"no result in {LONGEST} s"}
    if done.returncode == -9:
        return {"status": OUT_OF_MEMORY}
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["no message"]
        return {"status": fault_of(lines[::-1])}
    row: Row = json.loads(done.stdout.splitlines()[-1])
    return row


def time_size(
    num_edges: float, device: str, todo: list[Row], repeats: int, gib: float | None
) -> Iterator[Row]:
    """The rows of one size of graph."""
    made = reddit_shaped(scale=scale_for(num_edges), device=device).data
    data = indexed(made)
    size = {"nodes": data.num_nodes, "edges": data.graph.num_edges}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data.pt"
        if device == "cpu":
            torch.save(data, path)
            del made, data
        for setting in todo:
            row = {**setting, **size, "dtype": "float32"}
            share = 100.0 if setting["open"] == "" else setting["open"]
            row["open_edges"] = round(size["edges"] * share / 100)
            row |= dict.fromkeys(("ms", "p20", "p80", "peak_gib"), "")
            row["status"] = "ok"
            if device == "cpu":
                yield row | time_apart(path, setting, repeats, gib)
            else:
                yield row | time_here(setting, data, repeats)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--edges", nargs="+", type=float, help="sizes of the graphs")
    parser.add_argument("--open", nargs="*", type=float, default=[100, 63, 20, 5])
    parser.add_argument("--peers", nargs="*", default=["all"], help=", ".join(PEERS))
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--memory-gib", type=float, help="most a row takes, on a CPU")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--child", type=json.loads, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.child:
        print(json.dumps(time_child(**options.child)))
        return
    peers = list(PEERS) if options.peers == ["all"] else options.peers
    peers = [] if peers == ["none"] else peers
    for name in peers:
        if name not in PEERS:
            parser.error(f"unknown peer {name!r}; choose from {', '.join(PEERS)}")
    todo = list(settings(options.device, peers, options.open))
    sizes = options.edges or SIZES[options.device]
    rows: list[Row] = []
    for num_edges in sizes:
        limits = (options.repeats, options.memory_gib)
        for row in time_size(num_edges, options.device, todo, *limits):
            rows.append(row)
            append("sweep", [row], options.device, options.results)
            share = f" {row['open']:g} %" if row["open"] != "" else ""
            what = f"{row['edges']:,} edges, {row['name']}{share}"
            what += " captured" if row["captured"] else ""
            outcome = f"{row['ms']:.4g} ms" if row["status"] == "ok" else row["status"]
            done = f"[{len(rows)}/{len(todo) * len(sizes)}]"
            print(f"{done} {what}: {outcome}", file=sys.stderr, flush=True)
    print(table(rows, COLUMNS))
    print("appended to sweep.csv")
    if any(row["status"] not in ("ok", OUT_OF_MEMORY) for row in rows):
        sys.exit("Some rows were not timed; their status says why.")


if __name__ == "__main__":
    main()
