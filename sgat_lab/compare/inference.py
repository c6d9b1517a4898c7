"""Time and memory of a forward pass on what each method keeps, side by side."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import torch
import torch.nn.functional as F

from sgat.data.files.atomic import write_text
from sgat.data.node_data import NodeData
from sgat.node_classifier import NodeClassifier
from sgat.runs.provenance import device_name
from sgat.training.loop import chosen_device
from sgat_lab.baselines import find_method
from sgat_lab.compare.allocations import Allocations
from sgat_lab.compare.plan import FULL, RETRAINED, Comparison, Place
from sgat_lab.compare.pruners import select
from sgat_lab.config import MethodConfig
from sgat_lab.trials.store import Store

ROUNDS = 301
"""Passes per graph; fewer, `FEWEST` at least, once they have taken `SECONDS`. Passes of
less than a millisecond need many, or a moment's work of others meets all of them."""
FEWEST = 5
SECONDS = 3.0


@dataclasses.dataclass(frozen=True)
class Cost:
    """Time and memory of a forward pass.

    Attributes:
        seconds: Median time.
        bytes: Most memory in use at a time for what the pass keeps of the edges and
            what it computes; weights and features left out.
        time: Median share of the time on the full graph, which was taken in turns.
        memory: Share of the memory on the full graph.
    """

    seconds: float
    bytes: int
    time: float
    memory: float


Costs = dict[Place, Cost]


def measure(comparison: Comparison, store: Store, path: Path, device: str) -> Costs:
    """Cost of a pass on every graph of the first seed, measured once.

    The full graph is measured beside each method's graphs, and is in the result once.

    Args:
        comparison: With all its trainings done.
        store: Their records.
        path: Where the measurements are kept; other trainings are measured anew.
        device: Where to run.
    """
    key = _key(comparison, store, device)
    known = _read(path, key)
    if known is not None:
        return known
    seed, found = comparison.seeds[0], Costs()
    for method in comparison.pruners:
        variants: dict[float, Sequence[NodeData]] = {1.0: comparison.graphs}
        for budget in comparison.budgets:
            kept = comparison.kept(method, budget, seed, store)
            assert kept is not None, "measured when all have learned"
            variants[budget] = select(comparison.graphs, kept)
        for model in RETRAINED:
            config = comparison.config(model, seed).model
            measured = costs(config, variants, chosen_device(device))
            found.setdefault(Place(FULL, None, model), measured.pop(1.0))
            found |= {Place(method, k, model): cost for k, cost in measured.items()}
    entries = [
        place._asdict() | dataclasses.asdict(cost) for place, cost in found.items()
    ]
    write_text(path, json.dumps({"key": key, "costs": entries}, indent=1) + "\n")
    return found


def _key(comparison: Comparison, store: Store, device: str) -> str:
    first = comparison.seeds[0]
    tasks = comparison.tasks(store).items()
    keys = sorted(task.key for (_, seed), task in tasks if seed == first)
    text = json.dumps([*keys, device_name(device)])
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def _read(path: Path, key: str) -> Costs | None:
    """The measurements in a file; None if they are of something else."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if content["key"] != key:
            return None
        return {
            Place(entry.pop("method"), entry.pop("budget"), entry.pop("model")): Cost(
                **entry
            )
            for entry in content["costs"]
        }
    except (FileNotFoundError, ValueError, TypeError, KeyError):
        return None


def costs(
    config: MethodConfig,
    variants: Mapping[float, Sequence[NodeData]],
    device: torch.device,
) -> dict[float, Cost]:
    """Cost of a model's pass on graphs that differ in their edges.

    Weights are fresh, for they play no part. In every round each graph has its turn,
    so that whatever else the machine does meets all alike.

    Args:
        config: Shape of the model.
        variants: Graphs by the share of edges they keep; 1 is the full graph.
        device: Where to run.
    """
    moved = {k: [data.to(device) for data in graphs] for k, graphs in variants.items()}
    model = _fresh(config, variants[1.0][0], device)

    def run(graphs: Sequence[NodeData]) -> None:
        for data in graphs:
            model(data.x, data.graph)
        if device.type == "cuda":
            torch.cuda.synchronize(device)

    if device.type == "cuda":
        _take_workspaces(device)
    with torch.no_grad():
        # What is taken over from the first pass is still there in the others.
        peaks = {
            keep: _peak(partial(run, graphs), device) for keep, graphs in moved.items()
        }
        times: dict[float, list[float]] = {keep: [] for keep in moved}
        start = time.perf_counter()
        for number in range(ROUNDS):
            if number >= FEWEST and time.perf_counter() - start > SECONDS:
                break
            for keep, graphs in moved.items():
                begin = time.perf_counter()
                run(graphs)
                times[keep].append(time.perf_counter() - begin)
    return {
        keep: Cost(
            seconds=statistics.median(taken),
            bytes=peaks[keep],
            time=statistics.median(
                one / full for one, full in zip(taken, times[1.0], strict=True)
            ),
            memory=peaks[keep] / max(peaks[1.0], 1),
        )
        for keep, taken in times.items()
    }


def _fresh(
    config: MethodConfig, data: NodeData, device: torch.device
) -> NodeClassifier:
    with torch.random.fork_rng(devices=[]):
        model = find_method(config.method).build(config, data)
    model.reset_parameters(torch.Generator().manual_seed(0))
    return model.to(device).eval()


def _take_workspaces(device: torch.device) -> None:
    """Let cuBLAS take its memory, which the first product would count as its own."""
    some = torch.ones(16, 16, device=device)
    F.linear(some @ some, some, some[0])


def _peak(run: Callable[[], None], device: torch.device) -> int:
    """Most bytes in use in a second pass, with what the first leaves for it."""
    if device.type == "cuda":
        before = torch.cuda.memory_allocated(device)
        run()
        torch.cuda.reset_peak_memory_stats(device)
        run()
        return int(torch.cuda.max_memory_allocated(device) - before)
    made = Allocations()
    with made:
        run()
        made.peak = 0
        run()
    return made.peak
