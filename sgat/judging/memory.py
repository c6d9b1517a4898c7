"""Memory: how much judging and training take, and whether it is there.

The numbers of bytes are fitted to peaks of processes (docs/scaling.md). They are meant
as too low rather than too high: what is refused would not have fitted.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import torch

GIB = 1 << 30
RANK = 64
"""Longest vector of a node in the judge."""
OF_EDGE, OF_EDGE_ON_GPU = 48, 56
"""Bytes of an edge in the judge, in memory or on disk."""
BLOCKS, BLOCKS_ON_GPU = 3 << 25, GIB
"""Bytes of the blocks of edges that the judge works on."""


def judging_bytes(
    nodes: int,
    edges: int,
    features: int,
    classes: int,
    columns: int = 0,
    *,
    on_gpu: bool = False,
) -> int:
    """Bytes that judging adds to the graph and its features.

    `edges` count both directions. Each counts in the matrix of the edges, its scores
    and the verdicts, no signal is stored; each node in its vectors, by features,
    surroundings and spectrum, and in its beliefs; blocks count once. Columns of edges
    are those of undirected ones, and never on a GPU.
    """
    width = min(features, RANK)
    if on_gpu:
        of_node = 8 * width + 12 * features + 8 * classes + 280
        return BLOCKS_ON_GPU + OF_EDGE_ON_GPU * edges + of_node * nodes
    of_edge = (OF_EDGE if features else OF_EDGE - 4) + 2 * columns
    of_node = 8 * width + 4 * features + 8 * classes + 280
    return BLOCKS + of_edge * edges + of_node * nodes


def fits(
    needed: int, most: int | None = None, device: str | torch.device = "cpu"
) -> bool:
    """Whether so many bytes are free on a device, and no more than `most`."""
    free = available(device)
    return needed <= min(n for n in (free, most, needed) if n is not None)


def check_disk(edges: int, folder: Path, columns: int = 0) -> None:
    """Refuse to put the arrays of edges where there is no room for them."""
    needed = (OF_EDGE + 2 * columns) * edges
    left = shutil.disk_usage(folder).free
    if needed > left:
        raise ValueError(
            f"Judging {edges:,} edges takes about {needed / GIB:.1f} GiB on the disk of"
            f" {folder}, and {left / GIB:.1f} GiB are free; write `out` to a disk with"
            " more room, or let it take more `memory`."
        )


def training_bytes(
    nodes: int, edges: int, features: int, width: int, *, on_gpu: bool = False
) -> int:
    """Bytes that an epoch adds to the graph and its features.

    `width` is the number of columns that messages have, all heads together. An edge
    counts in the slots of its gate, by target and by source; a GPU has fewer of them.
    """
    of_edge = 28 if on_gpu else 44
    return of_edge * edges + (4 * features + 24 * width) * nodes


def _number(path: str) -> int | None:
    """The number in a file of the system; None if there is no file, or no number."""
    try:
        text = Path(path).read_text().split()[0]
    except (OSError, IndexError):
        return None
    return int(text) if text.isdigit() else None


def available(device: str | torch.device = "cpu") -> int | None:
    """Bytes that this process can still take on a device; None where nothing tells.

    On a CPU the least of what the machine has left, swap included, and of what the
    limits of the container and of the process leave.
    """
    device = torch.device(device)
    if device.type == "cuda":
        free, _ = torch.cuda.mem_get_info(device)
        reserved = torch.cuda.memory_reserved(device)
        return free + reserved - torch.cuda.memory_allocated(device)
    if device.type != "cpu":
        return None
    found = []
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        left = {line.split(":")[0]: int(line.split()[1]) << 10 for line in lines}
        found.append(left["MemAvailable"] + left["SwapFree"])
    except (OSError, KeyError, ValueError):
        if "SC_PHYS_PAGES" in getattr(os, "sysconf_names", {}):
            found.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    for limit, used in (
        ("memory.max", "memory.current"),
        ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"),
    ):
        most, taken = (_number(f"/sys/fs/cgroup/{name}") for name in (limit, used))
        if most is not None and taken is not None:
            found.append(max(most - taken, 0))
    try:
        import resource

        most = resource.getrlimit(resource.RLIMIT_AS)[0]
        pages = _number("/proc/self/statm")
        if most != resource.RLIM_INFINITY and pages is not None:
            found.append(max(most - pages * os.sysconf("SC_PAGE_SIZE"), 0))
    except ImportError:
        pass
    return min(found, default=None)


def check_memory(
    nodes: int,
    edges: int,
    of_nodes: int,
    needed: int,
    *,
    doing: str,
    instead: str,
    device: str | torch.device = "cpu",
    memory: int | None = None,
) -> None:
    """Refuse what surely does not fit, and say how many edges would.

    Of the bytes `needed`, `of_nodes` do not depend on the edges. `doing` begins the
    sentence and `instead` ends it. At most `memory` bytes count as free.
    """
    left = min(
        (n for n in (available(device), memory) if n is not None), default=needed
    )
    if needed <= left:
        return
    most = edges * max(left - of_nodes, 0) // max(needed - of_nodes, 1)
    fits = (
        f"of so many nodes about {most:,} edges fit" if most else "its nodes do not fit"
    )
    raise ValueError(
        f"{doing} {edges:,} edges between {nodes:,} nodes takes about"
        f" {needed / GIB:.1f} GiB of memory, and {left / GIB:.1f} GiB are free;"
        f" {fits}: {instead}."
    )


def check_judging(
    nodes: int,
    edges: int,
    features: int,
    classes: int,
    columns: int = 0,
    *,
    most: int | None = None,
    on_disk: bool = False,
) -> None:
    """Refuse to judge a graph that does not fit in the memory that is free.

    That is, `most` bytes of it, and without the edges if their arrays are `on_disk`.
    """
    of_nodes = judging_bytes(nodes, 0, features, classes)
    check_memory(
        nodes,
        edges,
        of_nodes,
        of_nodes
        if on_disk
        else judging_bytes(nodes, edges, features, classes, columns),
        memory=most,
        doing="Judging",
        instead="judge a part of the graph, leave out feature columns, take a machine"
        " with more memory, or train with `scorer` additive, which judges nothing",
    )


def check_training(
    nodes: int, edges: int, features: int, width: int, device: str | torch.device
) -> None:
    """Refuse to train on a graph that does not fit in the memory of a device."""
    on_gpu = torch.device(device).type == "cuda"
    check_memory(
        nodes,
        edges,
        training_bytes(nodes, 0, features, width, on_gpu=on_gpu),
        training_bytes(nodes, edges, features, width, on_gpu=on_gpu),
        doing="Training on",
        instead="make `hidden` smaller, leave out feature columns, train on samples of"
        " neighbours (`SGATConv` with PyG's `NeighborLoader`), or take a device with"
        " more memory",
        device=device,
    )
