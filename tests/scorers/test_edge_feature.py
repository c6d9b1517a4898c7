"""Scores from the features of edges."""

import re

import pytest
import torch

from sgat.graph import Graph
from sgat.ops import log_alphas
from sgat.scorers import EdgeFeatureScorer


@pytest.mark.parametrize("additive", [False, True])
def test_the_score_is_linear_in_the_features(additive: bool, seed: int):
    edges = torch.tensor([[0, 2, 1, 2], [1, 1, 0, 0]])
    feature = torch.randn(4, 3)
    graph = Graph.from_edges(edges, 5, edge_feature=feature)
    h, scorer = torch.randn(5, 7), EdgeFeatureScorer(7, 3, additive=additive)
    expected = feature @ scorer.weight
    if additive:
        left, right = (h @ scorer.additive.weight).T
        expected = expected + left[edges[1]] + right[edges[0]]
    found = graph.to_input(log_alphas(graph, *scorer(h, graph)), loop=0.0)
    assert torch.allclose(found, expected, atol=1e-5)


def test_a_graph_without_these_features_is_refused():
    edges = torch.tensor([[0, 2], [1, 1]])
    scorer, h = EdgeFeatureScorer(7, 3), torch.randn(3, 7)
    for feature, found in ((None, "none"), (torch.ones(2, 2), "2")):
        sentence = (
            f"The graph must have 3 features of each edge, got {found}; give them to"
            " `Graph.from_edges` as `edge_feature`."
        )
        graph = Graph.from_edges(edges, edge_feature=feature)
        with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
            scorer(h, graph)


def test_no_features_at_all_are_refused():
    with pytest.raises(ValueError, match="`edge_channels` must be at least 1, got 0"):
        EdgeFeatureScorer(7, 0)
