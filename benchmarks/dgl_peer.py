"""DGL's GATConv, timed by another interpreter for a row in the table of `ops`.

python -m benchmarks.ops --dgl [.venv-dgl/bin/python]

DGL 1.1.3 asks for other versions of numpy and setuptools than this package, so it lives
in an environment of its own (`make bench-dgl` builds it). `ops` saves its graph and
calls `time_layer`; that runs this file with the other interpreter, with the same number
of threads and the same `measure`. Nothing here imports `sgat`: that environment has
torch and DGL alone.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from benchmarks.measure import measure

INTERPRETER = ".venv-dgl/bin/python"
WIDTH, HEADS = 128, 2
Times = dict[str, dict[str, float]]


def time_layer(
    edge_index: Tensor, num_nodes: int, interpreter: str = INTERPRETER
) -> tuple[dict[str, str], Times]:
    """Time the layer in the interpreter that has DGL.

    Args:
        edge_index: Sources and targets without self-loops, [2, E]; DGL adds the loops.
        num_nodes: Number of nodes N.
        interpreter: A Python that can import DGL.

    Returns:
        The versions of `dgl` and `torch` there, and for "forward" and "both" (forward
        and backward) what `measure` returns.

    Raises:
        ValueError: If there is no such interpreter or it cannot run DGL.
    """
    if not Path(interpreter).exists():
        raise ValueError(
            f"`--dgl` needs a Python with DGL, found none at {interpreter}; run"
            " `make bench-dgl`."
        )
    threads = torch.get_num_threads()
    # Without the backend's name DGL asks for it and writes a file into the home folder.
    settings = {"DGLBACKEND": "pytorch", "OMP_NUM_THREADS": str(threads)}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "graph.npz"
        src, dst = edge_index.cpu().numpy()
        np.savez(path, src=src, dst=dst, num_nodes=num_nodes, threads=threads)
        done = subprocess.run(
            [interpreter, "-m", "benchmarks.dgl_peer", str(path)],
            cwd=Path(__file__).parents[1],
            env={**os.environ, **settings},
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise ValueError(f"DGL could not be timed with {interpreter}: {reason}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found["versions"], found["times"]


def passes(src: Tensor, dst: Tensor, num_nodes: int) -> dict[str, Callable[[], object]]:
    """Forward alone, and forward with backward, of 128 → 2 x 64."""
    import dgl
    from dgl.nn.pytorch import GATConv

    graph = dgl.add_self_loop(dgl.graph((src, dst), num_nodes=num_nodes))
    layer = GATConv(WIDTH, WIDTH // HEADS, HEADS)
    x = torch.randn(num_nodes, WIDTH, requires_grad=True)
    upstream = torch.randn(num_nodes, HEADS, WIDTH // HEADS)

    def forward() -> None:
        with torch.no_grad():
            layer(graph, x)

    def both() -> None:
        x.grad = None
        layer(graph, x).backward(upstream)

    return {"forward": forward, "both": both}


def main() -> None:
    import dgl

    with np.load(sys.argv[1]) as saved:
        src, dst = torch.from_numpy(saved["src"]), torch.from_numpy(saved["dst"])
        num_nodes, threads = int(saved["num_nodes"]), int(saved["threads"])
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    functions = passes(src, dst, num_nodes)
    times = {name: measure(function, "cpu") for name, function in functions.items()}
    versions = {"dgl": dgl.__version__, "torch": torch.__version__}
    print(json.dumps({"versions": versions, "times": times}))


if __name__ == "__main__":
    main()
