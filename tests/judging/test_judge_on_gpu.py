"""The judge on a GPU: that of a CPU, up to what is drawn and rounding."""

import dataclasses
import logging

import numpy as np
import pytest
import torch
from sklearn.metrics import roc_auc_score
from support.triton_device import DEVICE, HAS_CUDA, gpu_test, needs_triton

from sgat.features import SparseFeatures
from sgat.graph import Graph
from sgat.judging import (
    REASONS,
    JudgedGraph,
    edge_columns,
    edge_judge,
    judge,
    verdict,
)
from sgat.ops import blocks
from sgat.ops.device_array import DeviceArray
from sgat_lab.synthetic.block_models import contextual_block_model

pytestmark = [needs_triton[0], pytest.mark.judged_anew]


def model(nodes: int, degree: float, noise: float):
    made = contextual_block_model(
        num_nodes=nodes, degree=degree, noise_rate=noise, num_features=16
    )
    return made.data, made.is_signal.numpy()


@pytest.fixture
def on_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Graphs of any size are judged on the device of the tests."""
    monkeypatch.setattr(
        edge_judge, "judging_device", lambda *given: torch.device(DEVICE)
    )


def compared(found: JudgedGraph, other: JudgedGraph) -> float:
    gap = (found.probability.cpu() - other.probability.cpu()).abs().mean()
    return float(gap)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["dense", "sparse", "none", "columns"])
def test_with_the_same_draws_verdicts_are_those_of_a_cpu(
    kind: str, monkeypatch: pytest.MonkeyPatch
):
    data, _ = model(41, 4, 0.3)
    x = {"dense": data.x, "none": None, "columns": data.x}.get(kind)
    if kind == "columns":
        # So few edges prove nothing else.
        monkeypatch.setattr(edge_columns, "BY_CHANCE", (0.0, 0.0))
        attr = torch.rand(data.graph.num_edges, 2)
        graph = dataclasses.replace(data.graph, edge_attr=attr)
        data = dataclasses.replace(data, graph=graph)
    if kind == "sparse":
        x = SparseFeatures.from_dense((data.x > 0.8).float())
    given = data.graph, x, data.y
    wanted = judge(*given, train=data.train, seed=3)
    monkeypatch.setattr(edge_judge, "judging_device", lambda *_: torch.device(DEVICE))
    monkeypatch.setattr(blocks, "_generator", lambda rng: None)
    found = judge(*given, train=data.train, seed=3)
    assert compared(found, wanted) < 1e-2
    assert (found.reason == wanted.reason).float().mean() > 0.95


def test_a_graph_with_an_edge_between_all_nodes_is_not_told(on_gpu: None):
    found = judge(Graph.from_edges(torch.combinations(torch.arange(12)).T, 12))
    assert found.reason.tolist() == [REASONS.index("too few edges to tell")] * 66
    assert (found.probability > 0.99).all()
    # On the GPU as all verdicts: NumPy would fetch the place of each edge by itself.
    with blocks.on_gpu(torch.device(DEVICE)):
        untold = verdict._untold(7)
    assert isinstance(untold.wrong, DeviceArray)
    assert isinstance(untold.reason, DeviceArray)


@gpu_test
@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_a_gpu_counts_and_ranks_as_a_cpu_does(noise: float, on_gpu: None):
    data, is_signal = model(20_011, 12, noise)
    data = data.to("cuda")
    given = data.graph, data.x, data.y
    found = judge(*given, train=data.train, seed=0)
    again = judge(*given, train=data.train, seed=0)
    assert torch.equal(found.probability, again.probability)
    assert torch.equal(found.reason, again.reason)
    edge_judge.judging_device = lambda *_: None
    wanted = judge(*given, train=data.train, seed=0)
    assert abs(found.noise_share - wanted.noise_share) < 0.01
    if noise:
        one, other = (
            roc_auc_score(is_signal, part.probability.cpu().numpy())
            for part in (found, wanted)
        )
        assert abs(one - other) < 0.003


def test_a_small_graph_is_judged_on_the_cpu():
    size = {"nodes": 100, "features": 3, "classes": 2}
    assert edge_judge.judging_device(edge_judge.FROM_EDGES - 1, size) is None


def test_what_does_not_fit_on_a_gpu_is_judged_on_the_cpu(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    monkeypatch.setattr(edge_judge, "fits", lambda needed, device: needed < 1 << 30)
    size = {"nodes": 10**6, "features": 300, "classes": 2}
    with caplog.at_level(logging.WARNING):
        assert edge_judge.judging_device(10**8, size) is None
    assert "judging on the CPU" in caplog.text
    assert "GiB" in caplog.text
    monkeypatch.setattr(edge_judge, "fits", lambda needed, device: True)
    assert edge_judge.judging_device(10**8, size) == torch.device("cuda", 0)


@pytest.mark.skipif(HAS_CUDA, reason="has a CUDA device")
def test_without_a_gpu_large_graphs_are_judged_on_the_cpu():
    size = {"nodes": 10**6, "features": 3, "classes": 2}
    assert edge_judge.judging_device(10**8, size) is None
    assert np.isfinite(edge_judge.FROM_EDGES)
