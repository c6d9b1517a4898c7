"""Time and memory of a function, and the file its numbers are appended to."""

from __future__ import annotations

import csv
import os
import platform
import statistics
import subprocess
import time
from collections.abc import Callable
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

RESULTS = Path(__file__).parent / "results"


def synchronize(device: str) -> None:
    """Wait for the device, if it is one to wait for."""
    if device == "cuda":
        torch.cuda.synchronize()


class Captured:
    """A function as a CUDA graph: its kernels without the time to launch them.

    Calling it replays the kernels and returns the outputs of the capture. The function
    is kept, for it keeps the memory that the kernels read.
    """

    def __init__(self, function: Callable[[], Any]) -> None:
        self.function = function
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(3):
                function()
        torch.cuda.current_stream().wait_stream(stream)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.out = function()

    def __call__(self) -> Any:
        """Replay the kernels."""
        self.graph.replay()
        return self.out


def measure(
    function: Callable[[], Any],
    device: str,
    *,
    capture: bool = False,
    warm_up: int = 2,
    repeats: int = 9,
    budget: float = 20.0,
) -> dict[str, float]:
    """Median, 20th and 80th percentile in ms, and peak memory in GiB on a GPU.

    The peak is that of the warm-up. With `capture` the function is timed as a CUDA
    graph. Fewer repeats are made, three at least, once they have taken `budget`
    seconds.
    """
    if device == "cuda":
        # Every stream that a graph was captured on leaves cuBLAS a workspace for good.
        torch._C._cuda_clearCublasWorkspaces()
        torch.cuda.reset_peak_memory_stats()
    for _ in range(warm_up):
        function()
    synchronize(device)
    peak = torch.cuda.max_memory_allocated() / 2**30 if device == "cuda" else 0.0
    if capture and device == "cuda":
        function = Captured(function)
        function()
        synchronize(device)
    times: list[float] = []
    while len(times) < repeats and (len(times) < 3 or sum(times) < budget):
        start = time.perf_counter()
        function()
        synchronize(device)
        times.append(time.perf_counter() - start)
    low, *_, high = statistics.quantiles(times, n=5, method="inclusive")
    result = {"ms": statistics.median(times) * 1e3, "p20": low * 1e3, "p80": high * 1e3}
    if device == "cuda":
        result["peak_gib"] = peak
    return {name: round(value, 4) for name, value in result.items()}


def circumstances(device: str) -> dict[str, str]:
    """Device, versions, date, commit, and how busy the machine was."""
    name = f"{torch.get_num_threads()} CPU threads"
    if device == "cuda":
        name = torch.cuda.get_device_name()
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"],
        capture_output=True,
        text=True,
        check=False,
    )
    return {
        "device": name,
        "load": f"{os.getloadavg()[0]:.1f}",
        "python": platform.python_version(),
        "torch": torch.__version__,
        "torch_geometric": version("torch_geometric"),
        "date": datetime.now(UTC).date().isoformat(),
        "commit": commit.stdout.strip() or os.environ.get("COMMIT", ""),
    }


def append(
    name: str, rows: list[dict[str, Any]], device: str, results: Path = RESULTS
) -> Path:
    """Append rows to `results/<name>.csv`; columns are those of the first rows.

    What a row says of its circumstances (another torch, say) goes before what is found.
    """
    results.mkdir(parents=True, exist_ok=True)
    path = results / f"{name}.csv"
    rows = [{**row, **circumstances(device), **row} for row in rows]
    is_new = not path.exists()
    if is_new:
        columns = list(dict.fromkeys(key for row in rows for key in row))
    else:
        with path.open() as file:
            columns = next(csv.reader(file))
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(
            file, columns, restval="", extrasaction="ignore", lineterminator="\n"
        )
        if is_new:
            writer.writeheader()
        writer.writerows(rows)
    return path


def table(rows: list[dict[str, Any]], columns: list[str]) -> str:
    """The rows as a plain-text table."""
    cells = [columns] + [[_cell(row.get(name, "")) for name in columns] for row in rows]
    widths = [max(len(line[k]) for line in cells) for k in range(len(columns))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        for line in cells
    )


def _cell(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)
