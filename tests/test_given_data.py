import dataclasses

import networkx as nx
import numpy as np
import pytest
import torch
from support.small_data import block_graph, several_graphs

from sgat.config import ModelConfig
from sgat.given_data import GivenData, check_fits
from sgat.runs.saved_model import model_header
from sgat.scored import EdgeScores


def test_options_hold_for_later_data_of_the_same_kind():
    first = GivenData(nx.DiGraph(), options={"weight": "strength", "label": "kind"})
    graph, other = nx.DiGraph(), nx.Graph()
    later = GivenData(graph, options={"label": "y"}).after(first)
    assert later.data is graph
    assert later.options == {"weight": "strength", "label": "y"}
    assert GivenData(other).after(first).options == {}
    assert GivenData(graph).after(None).options == {}


def test_plain_arrays_are_read_with_their_weights_and_given_back_smaller():
    data = block_graph()
    x, edges = data.x.numpy(), data.graph.edge_index.numpy()
    weight = np.arange(edges.shape[1]) + 1.0
    given = GivenData(x, edges, weight)
    (read,) = given.read(data.y.numpy(), validation=0.2, seed=0)
    assert np.array_equal(read.graph.edge_index.numpy(), edges)
    assert np.array_equal(read.graph.edge_weight.numpy(), weight)
    gate = torch.tensor(weight % 2 * 0.5)
    small, weights = given.pruned([read], [EdgeScores(gate, gate, gate, gate > 0)])
    assert np.array_equal(small, edges[:, ::2])
    assert np.allclose(weights, weight[::2] / 2)


def test_one_graph_has_one_result_and_a_list_has_a_list():
    data = block_graph()
    assert GivenData(data).one_or_all([3]) == 3
    assert GivenData([data]).one_or_all([3]) == [3]
    assert GivenData((data,)).one_or_all([3]) == [3]
    assert GivenData(several_graphs()).one_or_all([3, 4]) == [3, 4]


def test_a_model_reads_only_what_fits_it():
    data, other = block_graph(), block_graph(seed=5)
    free, header = ModelConfig(gate_mode="transductive"), model_header(data, 1)
    check_fits(data, free, header)
    check_fits(other, ModelConfig(gate_mode="inductive"), header)
    with pytest.raises(ValueError, match="Transductive gates know the edges"):
        check_fits(other, free, header)
    narrow = dataclasses.replace(data, x=data.x[:, 1:])
    with pytest.raises(ValueError, match=r"must have the 13 features .* got 12"):
        check_fits(narrow, free, header)
    broken = dataclasses.replace(data, x=data.x / 0)
    with pytest.raises(ValueError, match="must be finite, got"):
        check_fits(broken, free, header)
