"""JudgeEdges in a pipeline of PyG: edges go, or are weighed."""

import subprocess
import sys

import pytest
import torch
from support.small_data import block_graph
from torch_geometric.data import Data
from torch_geometric.transforms import BaseTransform, Compose, ToUndirected

import sgat


def small_data(**more):
    data = block_graph(num_nodes=61)
    return Data(x=data.x, edge_index=data.graph.edge_index, y=data.y, **more)


def test_edges_go_with_what_belongs_to_them():
    data = small_data()
    data.edge_attr = torch.arange(data.num_edges)
    transform = sgat.JudgeEdges(find_at_least=0.5)
    assert isinstance(transform, BaseTransform)
    small = Compose([transform, ToUndirected()])(data)
    gone = sgat.judge(data).choose(find_at_least=0.5)
    assert small.num_edges == data.num_edges - gone.number < data.num_edges
    assert small.is_undirected()
    assert small.num_nodes == data.num_nodes
    assert small.edge_attr.shape == (small.num_edges,)
    assert data.num_edges == len(gone.mask)


def test_edges_are_weighed_by_how_likely_they_are_real():
    data, probability = small_data(), sgat.judge(small_data()).probability
    assert torch.equal(sgat.JudgeEdges("weigh")(data).edge_weight, probability)
    assert data.edge_weight is None
    data.edge_weight = torch.full((data.num_edges,), 3.0)
    weighed = sgat.JudgeEdges("weigh")(data).edge_weight
    assert torch.equal(weighed, 3 * probability)


def test_a_graph_of_loops_alone_passes():
    data = Data(x=torch.ones(3, 2), edge_index=torch.zeros(2, 0, dtype=torch.long))
    assert sgat.JudgeEdges()(data).num_edges == 0
    data.edge_index = torch.tensor([[1, 2], [1, 2]])
    assert sgat.JudgeEdges("weigh")(data).num_edges == 2


def test_mistakes_are_refused_before_any_data_is_there():
    with pytest.raises(ValueError, match="`action` must be remove or weigh, got 'cut'"):
        sgat.JudgeEdges("cut")
    with pytest.raises(ValueError, match="`find_at_least` goes with the action remove"):
        sgat.JudgeEdges("weigh", find_at_least=0.5)
    with pytest.raises(ValueError, match="`at_most_wrong` must be above 0"):
        sgat.JudgeEdges(at_most_wrong=2)


def test_without_pyg_it_says_what_to_install():
    code = """
import sys
sys.modules["torch_geometric"] = None  # an import of it fails
import sgat
try:
    sgat.JudgeEdges
except ModuleNotFoundError as error:
    print(error)
"""
    done = [sys.executable, "-c", code]
    shown = subprocess.run(done, capture_output=True, text=True, check=True).stdout
    assert "`JudgeEdges` needs PyTorch Geometric" in shown
    assert "pip install 'sgat[lab]'" in shown
