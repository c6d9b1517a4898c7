"""Time and peak memory of making synthetic graphs.

python benchmarks/generate.py [NAME ...] [--scale 1] [--device cpu] [--repeats 3]

NAME is one of reddit-shaped, reddit-shaped-edges (without features), ppi-shaped,
block-model and inject-random, inject-cross-class, inject-hub (as many edges as a
Reddit-shaped graph of that scale has, which is not timed). Each runs in a process of
its own: a small graph to warm up, then `repeats` times the full one. The peak is that
of the whole process, libraries included; on a GPU it is the memory of torch's
allocator. A line per name is appended to `results/generate.csv`; `load` is the number
of running processes over the minute before, by which to judge whether the machine was
free.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import platform
import re
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

RESULTS = Path(__file__).parent / "results" / "generate.csv"
INJECTED = ("random", "cross-class", "hub")
NAMES = (
    "reddit-shaped",
    "reddit-shaped-edges",
    "ppi-shaped",
    "block-model",
    *(f"inject-{kind}" for kind in INJECTED),
)
SMALL = 0.02


def setup(name: str, scale: float, device: str) -> Callable[[], tuple[int, int]]:
    """What is timed: makes the graph, returns its numbers of nodes and edges."""
    from sgat.data.synthetic import inject
    from sgat_lab.synthetic.block_models import contextual_block_model
    from sgat_lab.synthetic.ppi_shaped import ppi_shaped
    from sgat_lab.synthetic.reddit_shaped import reddit_shaped

    if name.startswith("inject-"):
        data = reddit_shaped(scale=scale, device=device, features=False).data
        kind = next(kind for kind in INJECTED if name == f"inject-{kind}")
        return lambda: _counts([inject(data, kind).data])
    if name == "ppi-shaped":
        return lambda: _counts([m.data for m in ppi_shaped(scale=scale, device=device)])
    if name == "block-model":
        num_nodes = round(1_000_000 * scale)
        return lambda: _counts(
            [contextual_block_model(num_nodes=num_nodes, device=device).data]
        )
    features = name == "reddit-shaped"
    return lambda: _counts(
        [reddit_shaped(scale=scale, device=device, features=features).data]
    )


def _counts(graphs: list) -> tuple[int, int]:
    return (
        sum(data.num_nodes for data in graphs),
        sum(data.graph.num_edges for data in graphs),
    )


def peak_gib(device: str) -> float:
    import torch

    if device.startswith("cuda"):
        return torch.cuda.max_memory_allocated() / 2**30
    # Not `ru_maxrss`, which a process inherits from the one that started it.
    status = Path("/proc/self/status").read_text()
    found = re.search(r"VmHWM:\s+(\d+) kB", status)
    assert found is not None
    return int(found.group(1)) / 2**20


def measure(name: str, scale: float, device: str, repeats: int) -> dict[str, object]:
    import numpy as np
    import torch

    def synchronise() -> None:
        if device.startswith("cuda"):
            torch.cuda.synchronize()

    setup(name, min(SMALL, scale), device)()
    make = setup(name, scale, device)
    load = os.getloadavg()[0]
    seconds = []
    for _ in range(repeats):
        synchronise()
        start = time.perf_counter()
        nodes, edges = make()
        synchronise()
        seconds.append(time.perf_counter() - start)
    low, median, high = np.percentile(seconds, [20, 50, 80]).round(3).tolist()
    return {
        "name": name,
        "scale": scale,
        "nodes": nodes,
        "edges": edges,
        "device": torch.cuda.get_device_name() if "cuda" in device else _processor(),
        "cores": len(os.sched_getaffinity(0)),
        "load": round(load, 2),
        "repeats": repeats,
        "seconds": median,
        "seconds_p20": low,
        "seconds_p80": high,
        "peak_gib": round(peak_gib(device), 2),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "date": datetime.now(UTC).date().isoformat(),
        "commit": _commit(),
    }


def _processor() -> str:
    found = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    return found.group(1) if found else platform.machine()


def _commit() -> str:
    return subprocess.run(
        ["git", "describe", "--always", "--exclude", "*"],
        capture_output=True,
        text=True,
    ).stdout.strip()


def append(record: dict[str, object]) -> None:
    RESULTS.parent.mkdir(exist_ok=True)
    is_new = not RESULTS.exists()
    with RESULTS.open("a", newline="") as file:
        writer = csv.DictWriter(file, list(record), lineterminator="\n")
        if is_new:
            writer.writeheader()
        writer.writerow(record)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(NAMES))
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    for name in options.names or NAMES:
        if name not in NAMES:
            parser.error(f"unknown name {name!r}; choose from {', '.join(NAMES)}")
        if options.child:
            record = measure(name, options.scale, options.device, options.repeats)
            print(json.dumps(record))
            continue
        again = [sys.executable, __file__, name, "--child"]
        for option in ("scale", "device", "repeats"):
            again += [f"--{option}", str(getattr(options, option))]
        done = subprocess.run(again, check=True, stdout=subprocess.PIPE, text=True)
        print(done.stdout, end="", flush=True)
        append(json.loads(done.stdout))


if __name__ == "__main__":
    main()
