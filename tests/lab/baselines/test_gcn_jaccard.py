"""GCN-Jaccard removes the edges that a loop over sets of features would."""

import dataclasses

import pytest
import torch
from support.small_data import block_graph

from sgat.data.node_data import NodeData
from sgat.graph import Graph
from sgat_lab.baselines.gcn_jaccard import METHOD, prepare
from sgat_lab.config import MethodConfig


def words_on_a_ring(num_nodes: int, num_words: int) -> NodeData:
    node = torch.arange(num_nodes)
    graph = Graph.from_edges(torch.stack([node, node.roll(-1)]), make_undirected=True)
    x = (torch.rand(num_nodes, num_words) < 0.2).float()
    mask = torch.ones(num_nodes, dtype=torch.bool)
    columns = torch.arange(graph.num_edges).float()
    graph = dataclasses.replace(graph, log_odds=columns)
    return NodeData(graph, x, node % 2, mask, ~mask, ~mask, (0, 1))


@pytest.mark.parametrize("threshold", [0.0, 0.01, 0.2])
def test_edges_up_to_the_threshold_go(threshold, seed):
    data = words_on_a_ring(53, 11)
    config = MethodConfig(method="gcn_jaccard", options={"threshold": threshold})
    (found,) = prepare([data], config, seed)
    words = [set(row.nonzero().squeeze(1).tolist()) for row in data.x]
    expected = []
    for edge, (j, i) in enumerate(data.graph.edge_index.T.tolist()):
        union = words[i] | words[j]
        if union and len(words[i] & words[j]) / len(union) > threshold:
            expected.append(edge)
    assert 0 < len(expected) < data.graph.num_edges
    assert torch.equal(found.graph.src, data.graph.src[expected])
    assert torch.equal(found.graph.dst, data.graph.dst[expected])
    assert torch.equal(found.graph.log_odds, data.graph.log_odds[expected])
    assert found.graph.is_undirected


def test_an_unknown_option_is_refused_when_the_model_is_built():
    config = MethodConfig(method="gcn_jaccard", options={"keep": 0.5})
    with pytest.raises(ValueError, match="no option 'keep'; it has threshold"):
        METHOD.build(config, block_graph())
