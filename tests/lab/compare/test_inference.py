"""Memory is counted to the byte, time in turns, and both are kept."""

import json

import pytest
import torch
from support.small_data import block_graph

from sgat.config import DataConfig
from sgat.data.configured import Loaded
from sgat.data.named import load_karate
from sgat_lab.compare import inference
from sgat_lab.compare.allocations import Allocations
from sgat_lab.compare.inference import Cost, costs, measure
from sgat_lab.compare.plan import Comparison, Place
from sgat_lab.config import MethodConfig
from sgat_lab.trials.store import Store

CPU = torch.device("cpu")


def test_bytes_are_those_alive_at_a_time():
    given = torch.ones(1000)
    made = Allocations()
    with made:
        first = given * 2  # 4,000 bytes
        second = first.view(10, 100) + 1  # 4,000 more, the view is none
        del first
        assert made.peak == 8000
        made.peak = 0
        third = second.double()  # 8,000 beside the 4,000 that are left
        third.add_(1)
    assert made.peak == 12000


def test_what_is_given_is_not_counted():
    given = torch.ones(1000)
    made = Allocations()
    with made:
        given.add_(1).view(-1)[:5].t()
    assert made.peak == 0


@pytest.mark.parametrize("method", ["gcn", "gat"])
def test_fewer_edges_take_less_memory(method):
    data = block_graph(num_nodes=997)
    kept = torch.arange(data.graph.num_edges) % 4 == 0
    variants = {1.0: [data], 0.25: [data.select_edges(kept)]}
    found = costs(MethodConfig(method=method, hidden=8), variants, CPU)
    assert set(found) == {1.0, 0.25}
    assert found[1.0].time == found[1.0].memory == 1
    assert 0 < found[0.25].memory < 1 and found[0.25].time > 0
    assert found[0.25].bytes == round(found[0.25].memory * found[1.0].bytes)
    # Both keep at least the ends of every edge, in 8 bytes each.
    assert found[1.0].bytes - found[0.25].bytes >= 8 * int((~kept).sum())


@pytest.mark.gpu
def test_memory_on_a_gpu_is_that_of_its_allocator():
    data = block_graph(num_nodes=997)
    kept = torch.arange(data.graph.num_edges) % 4 == 0
    variants = {1.0: [data], 0.25: [data.select_edges(kept)]}
    config = MethodConfig(method="gat", hidden=8)
    # As in a new process, where the first product takes a workspace of megabytes.
    torch._C._cuda_clearCublasWorkspaces()
    on_gpu = costs(config, variants, torch.device("cuda"))
    on_cpu = costs(config, variants, CPU)
    for keep in variants:
        # The allocator rounds tensors up to 512 bytes, and sees what operations take
        # within themselves.
        assert 0.9 < on_gpu[keep].bytes / on_cpu[keep].bytes < 3
    assert on_gpu[0.25].memory == pytest.approx(on_cpu[0.25].memory, abs=0.2)
    again = costs(config, dict(reversed(variants.items())), torch.device("cuda"))
    assert {keep: again[keep].bytes for keep in variants} == {
        keep: on_gpu[keep].bytes for keep in variants
    }


@pytest.mark.gpu
def test_time_on_a_gpu_waits_for_it(monkeypatch):
    """A pass of many launches takes as long as the device needs for it."""
    data = block_graph(num_nodes=997)
    variants = {1.0: [data]}
    config = MethodConfig(method="gat", hidden=8)
    waited = []
    synchronize = torch.cuda.synchronize
    monkeypatch.setattr(
        torch.cuda, "synchronize", lambda device: waited.append(synchronize(device))
    )
    [found] = costs(config, variants, torch.device("cuda")).values()
    assert found.seconds > 0 and len(waited) >= inference.FEWEST + 2


def test_graphs_take_turns(monkeypatch):
    data = block_graph()
    half = data.select_edges(torch.arange(data.graph.num_edges) % 2 == 0)
    seen = []
    fresh = inference._fresh

    def watched(*arguments):
        model = fresh(*arguments)
        model.register_forward_pre_hook(
            lambda _, given: seen.append(given[1].num_edges)
        )
        return model

    monkeypatch.setattr(inference, "_fresh", watched)
    costs(MethodConfig(method="gcn", hidden=4), {1.0: [data], 0.5: [half]}, CPU)
    full, small = data.graph.num_edges, half.graph.num_edges
    rounds = seen[4:]
    assert seen[:4] == [full, full, small, small]
    assert rounds == [full, small] * (len(rounds) // 2)
    assert inference.FEWEST <= len(rounds) // 2 <= inference.ROUNDS


def comparison(**options) -> Comparison:
    settings = {"budgets": (0.5, 0.2), "methods": ("random", "k-neighbor")}
    data = DataConfig(name="karate")
    return Comparison(data, Loaded([load_karate()]), **(settings | options))


def test_costs_are_measured_once(tmp_path, monkeypatch):
    calls = []

    def counted(config, variants, device):
        calls.append([data[0].graph.num_edges for data in variants.values()])
        return {keep: Cost(1.0, 100, keep, keep) for keep in variants}

    monkeypatch.setattr(inference, "costs", counted)
    store, path = Store(tmp_path), tmp_path / "inference.json"
    found = measure(comparison(), store, path, "cpu")
    # 78 links: 39 and round(15.6) = 16 are kept, in two directions each.
    assert calls == [[156, 78, 32]] * 4
    assert found[Place("random", 0.2, "gat")].memory == 0.2
    assert found[Place("full", None, "gcn")].time == 1.0
    assert len(found) == 2 + 2 * 2 * 2
    assert measure(comparison(), store, path, "cpu") == found and len(calls) == 4
    measure(comparison(budgets=(0.4,)), store, path, "cpu")
    assert len(calls) == 8
    path.write_text("no json")
    measure(comparison(), store, path, "cpu")
    assert len(calls) == 12 and json.loads(path.read_text())["costs"]
