"""The same bits whatever the number of threads, for the command as a user gives it."""

import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

READOUTS = {
    "batch": ["--readout", "deep", "--normalisation", "batch"],
    "search": [],
    "linear": ["--scorer", "additive", "--readout", "linear"],
    "attention": ["--readout", "attention"],
    "diffusion": ["--readout", "diffusion"],
    "beliefs": ["--readout", "beliefs"],
    "deep": ["--readout", "deep"],
    "gatv2": ["--scorer", "gatv2", "--readout", "linear"],
    "bilinear": ["--scorer", "bilinear", "--readout", "deep"],
    "structure": ["--scorer", "structure", "--readout", "linear"],
}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """So many nodes that torch and its products use several threads."""
    folder, rng, number = (
        tmp_path_factory.mktemp("data"),
        np.random.default_rng(0),
        2503,
    )
    y = rng.integers(5, size=number)
    src, dst = rng.integers(number, size=(2, 20_000))
    kept = (y[src] == y[dst]) | (rng.random(20_000) < 0.2)
    x = rng.normal(size=(number, 53)) + np.eye(5, 53)[y]
    pd.DataFrame({"src": src[kept], "dst": dst[kept]}).to_csv(folder / "e.csv")
    nodes = pd.DataFrame(x.round(4), columns=[f"x{k}" for k in range(53)])
    nodes.assign(id=np.arange(number), y=y).to_csv(folder / "n.csv", index=False)
    return folder


MORE = [pytest.mark.slow, pytest.mark.promise]


@pytest.mark.parametrize(
    "readout", ["batch", *(pytest.param(n, marks=MORE) for n in [*READOUTS][1:])]
)
def test_any_number_of_threads_trains_the_same_bits(readout, data):
    found = []
    for threads in ("1", "2", "3"):
        out = data / f"{readout}-{threads}"
        command = [sys.executable, "-m", "sgat", "fit", *READOUTS[readout]]
        command += ["--edges", "e.csv", "--nodes", "n.csv", "--label", "y", "--quiet"]
        command += ["--epochs", "4", "--hidden", "16", "--out", str(out)]
        # As a user has it, not as the tests that ran before in this process.
        environment = {**os.environ, "OMP_NUM_THREADS": threads}
        environment.pop("MKL_CBWR", None)
        subprocess.run(command, cwd=data, env=environment, check=True)
        names = ("model.safetensors", "nodes.parquet", "edges.parquet")
        found.append([(out / name).read_bytes() for name in names])
    assert found[0] == found[1] == found[2]
