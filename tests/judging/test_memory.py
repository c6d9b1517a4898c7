"""Memory: estimates against the peaks of processes, and what is refused."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from support.small_data import block_graph

from sgat.config import ModelConfig
from sgat.judging import judge, memory
from sgat.training.loop import fit

GIB = memory.GIB
PEAK = """
import ctypes, sys, torch
from pathlib import Path
from sgat.config import ModelConfig, TrainConfig
from sgat.data.node_data import NodeData
from sgat.graph import Graph
from sgat.judging import judge
from sgat.training.loop import fit

def status(name):
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith(name))

def peak(what, nodes, edges, features, other):
    ends = torch.randint(nodes, (2, edges // 2))
    graph = Graph.from_edges(ends, nodes, make_undirected=True, say_merged=False)
    x, part = torch.randn(nodes, features), torch.rand(nodes)
    y = torch.randint(5 if what == "train" else other, (nodes,))
    train, val, test = part < 0.3, (part >= 0.3) & (part < 0.5), part >= 0.5
    data = NodeData(graph, x, y, train, val, test, tuple(range(5)))
    ctypes.CDLL("libc.so.6").malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")
    before = status("VmRSS")
    if what == "judge":
        judge(graph, x, y, train=part < 0.05)
    else:
        model = ModelConfig(hidden=other, scorer="additive", readout="attention")
        fit([data], model, TrainConfig(epochs=2, device="cpu"))
    return status("VmHWM") - before

what, *sizes = sys.argv[1:]
peak(what, 200, 2000, 5, 3)  # compiles
print(peak(what, *map(int, sizes)))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize(
    ("what", "sizes"),
    [
        ("judge", (100_000, 1_000_000, 32, 10)),
        ("judge", (10_000, 1_000_000, 8, 3)),
        ("train", (20_000, 1_500_000, 64, 32)),
        ("train", (100_000, 200_000, 128, 32)),
    ],
)
def test_the_estimate_is_near_the_peak_and_not_far_above(what, sizes):
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PEAK, what, *map(str, sizes)],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    if what == "judge":
        estimate = memory.judging_bytes(*sizes)
    else:
        estimate = memory.training_bytes(*sizes[:3], ModelConfig.heads * sizes[3])
    assert 0.6 < estimate / int(done.stdout) < 1.25, int(done.stdout) >> 20


@pytest.fixture
def little(monkeypatch):
    """A machine with hardly any memory left."""
    monkeypatch.setattr(memory, "available", lambda device="cpu": 1 << 16)


def test_what_does_not_fit_is_not_judged(little):
    data = block_graph()
    with pytest.raises(
        ValueError, match=r"^Judging [\d,]+ edges between .* fit: "
    ) as e:
        judge(data.graph, data.x)
    assert f" {data.graph.num_edges:,} edges" in str(e.value)
    assert "leave out feature columns" in str(e.value)


def test_what_does_not_fit_is_not_trained_on(little):
    with pytest.raises(ValueError, match=r"^Training on .* `NeighborLoader`"):
        fit([block_graph()])


def test_the_edges_that_fit_do_fit(monkeypatch):
    sizes = 1_000_000, 10_000_000, 32, 10
    monkeypatch.setattr(memory, "available", lambda device="cpu": GIB)
    with pytest.raises(ValueError, match=r"about ([\d,]+) edges fit") as e:
        memory.check_judging(*sizes)
    most = int(str(e.value).split(" edges fit")[0].rpartition(" ")[2].replace(",", ""))
    memory.check_judging(1_000_000, most, 32, 10)
    with pytest.raises(ValueError, match="fit"):
        memory.check_judging(1_000_000, most + 7, 32, 10)
    with pytest.raises(ValueError, match="its nodes do not fit"):
        memory.check_judging(100_000_000, 7, 32, 10)


def test_limits_of_the_process_count():
    call = (
        "import resource; from sgat.judging import memory;"
        " resource.setrlimit(resource.RLIMIT_AS, (1 << 36, resource.RLIM_INFINITY));"
        " a = memory.available();"
        " resource.setrlimit(resource.RLIMIT_AS, (0, resource.RLIM_INFINITY));"
        " b = memory.available(); print(a, b)"
    )
    done = subprocess.run([sys.executable, "-c", call], capture_output=True, text=True)
    found = [int(word) for word in done.stdout.split()]
    assert 0 < found[0] < 1 << 36 and found[1] == 0, done.stderr


def test_nothing_is_refused_where_nothing_is_known():
    assert memory.available(torch.device("meta")) is None
    memory.check_training(10**9, 10**12, 100, 100, "meta")
    assert Path("/proc/meminfo").exists() is (sys.platform == "linux")
