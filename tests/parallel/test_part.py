"""Parts of a graph: sums over open edges, and trainings, are those of one process."""

import itertools

import pytest
import torch
from support.rank_jobs import directed_weighted, halo, run_job, trained

from sgat.config import DataConfig, ModelConfig, TrainConfig
from sgat.data.configured import load_configured
from sgat.graph import Graph
from sgat.parallel.part import node_bounds
from sgat.parallel.ranks import Ranks

LEVELS = [8.0, 0.0, -2.0]
"""Added to log α: with the first all edges are open, with the last few are."""


def model(**options) -> ModelConfig:
    return ModelConfig(hidden=8, **options)


TRAIN = TrainConfig(epochs=50, patience=0)
CASES = {
    "diffusion": (model(readout="diffusion"), TRAIN),
    "additive": (model(readout="attention", scorer="additive"), TRAIN),
}
ALL_CASES = {
    **CASES,
    "linear": (model(readout="linear", residual=True, layers=3), TRAIN),
    "beliefs": (model(readout="beliefs"), TRAIN),
    "features alone": (model(readout="beliefs", layers=0), TRAIN),
    "layer norm": (model(readout="deep", scaling="standard"), TRAIN),
    "batch norm": (model(readout="deep", normalisation="batch"), TRAIN),
    "weighed": (model(readout="diffusion", judged_edges="weigh"), TRAIN),
    "revised": (model(readout="diffusion", scorer="revised"), TRAIN),
    "keep": (model(readout="diffusion"), TrainConfig(epochs=50, patience=0, keep=0.4)),
    "reference": (model(readout="deep", backend="reference"), TRAIN),
}
JUDGED = {"diffusion": CASES["diffusion"]}
"""On the large graphs: where gates are learned, training widens their rounding."""
ROUNDED = ("additive", "revised", "keep", "reference")
"""Cases whose gates agree to rounding only. Training moves them, or torch makes them:
it rounds the last entries of an array in another way."""


def named(name, root):
    return load_configured(DataConfig(name=name), root=root).graphs[0]


def compare(data, cases, size, folder, tolerance=2e-6):
    """One process and several: the same losses to rounding, and the same gates."""
    # Also alone in a process of its own: with more threads the judge rounds otherwise.
    (alone,) = run_job(1, trained, data, cases, folder=folder)
    together = run_job(size, trained, data, cases, folder=folder)
    for found in together[1:]:
        for name, each in found.items():
            first = together[0][name]
            assert torch.equal(first["records"], each["records"])
            for key, weight in first["weights"].items():
                assert torch.equal(weight, each["weights"][key]), key
    for name, one in alone.items():
        several = together[0][name]
        torch.testing.assert_close(
            several["records"], one["records"], rtol=tolerance, atol=tolerance
        )
        if name in ROUNDED:
            torch.testing.assert_close(
                several["gates"], one["gates"], rtol=0, atol=100 * tolerance
            )
        else:
            assert torch.equal(several["gates"], one["gates"])
            assert len(one["gates"]) == 50


@pytest.fixture(scope="module")
def made():
    return directed_weighted()


@pytest.fixture(scope="module")
def sums(made, tmp_path_factory):
    folder = tmp_path_factory.mktemp("halo")
    return halo(None, made, LEVELS), run_job(2, halo, made, LEVELS, folder=folder)


@pytest.mark.parametrize("level", LEVELS)
def test_sums_and_gradients_are_those_of_one_process(sums, level):
    alone, together = sums
    parts, penalty, num_open, _ = alone[level]
    assert (num_open == 855) is (level == 8)
    for found in together:
        for ours, one in zip(found[level][0], parts, strict=True):
            torch.testing.assert_close(ours, one, rtol=1e-12, atol=1e-12)
        assert found[level][1] == pytest.approx(penalty, rel=1e-12)
        assert found[level][2] == num_open


def test_bytes_of_rows_fall_with_the_share_of_open_edges(sums):
    _, together = sums
    for found in together:
        most, some, few = (found[level][3] for level in LEVELS)
        assert 0 < few < some < most and few < 0.7 * most
        # There and back again, in float64.
        assert most % (2 * 7 * 8) == 0


def test_two_processes_train_a_directed_weighted_graph_as_one(made, tmp_path):
    assert not made.graph.is_undirected and made.graph.weight is not None
    compare(made, CASES, 2, tmp_path)


def test_two_processes_train_cora_as_one(benchmarks, tmp_path):
    compare(named("cora", benchmarks), JUDGED, 2, tmp_path)


@pytest.mark.slow
@pytest.mark.promise
@pytest.mark.parametrize("size", [2, 4])
@pytest.mark.parametrize("name", ["cora", "computers", "directed weighted"])
def test_processes_train_as_one(name, size, made, benchmarks, tmp_path):
    cases = ALL_CASES if name == "directed weighted" else JUDGED
    data = made if name == "directed weighted" else named(name, benchmarks)
    compare(data, cases, size, tmp_path, 1e-5)


@pytest.mark.parametrize("size", [2, 3, 7])
def test_every_process_gets_nodes_and_its_share_of_the_edges(made, size):
    bounds = node_bounds(made.graph, Ranks(0, size))
    assert bounds[0] == 0 and bounds[-1] == made.num_nodes and len(bounds) == size + 1
    work = [
        int(made.graph.row_ptr[end] - made.graph.row_ptr[begin]) + end - begin
        for begin, end in itertools.pairwise(bounds)
    ]
    assert max(work) < 1.2 * sum(work) / size


def test_every_process_gets_a_node_beside_a_hub():
    ends = torch.stack([torch.arange(1, 6), torch.full((5,), 5)])
    graph = Graph.from_edges(ends, 6)
    assert node_bounds(graph, Ranks(0, 6)) == list(range(7))
