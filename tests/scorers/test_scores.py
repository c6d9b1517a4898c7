"""Scores: the parts of log α, and both directions of an edge as one."""

import re

import pytest
import torch
from support.awkward import GRAPHS

from sgat.graph import Graph
from sgat.ops import log_alphas
from sgat.scorers import Scores, symmetrised


def test_scores_without_edges_default_to_none():
    assert Scores(torch.zeros(3), torch.zeros(3)).edge is None


def test_symmetrised_scores_give_both_directions_their_mean():
    edges = torch.tensor([[0, 1, 1, 2, 2, 0], [1, 0, 2, 1, 0, 2]])
    graph = Graph.from_edges(edges)
    scores = Scores(torch.randn(3), torch.randn(3), torch.randn(6))
    before = log_alphas(graph, *scores)
    after = log_alphas(graph, *symmetrised(scores, graph))
    reverse = graph.by_source.edge
    assert torch.allclose(after, (before + before[reverse]) / 2)
    assert torch.allclose(after, after[reverse])


def test_symmetrised_vectors_give_both_directions_their_mean_to_the_bit(seed: int):
    graph = GRAPHS["random undirected"]()
    size, reverse = graph.num_nodes, graph.by_source.edge
    s, t, query, key = *torch.randn(2, size), *torch.randn(2, size, 7)
    scores = Scores(s, t, None, query, key)
    after = log_alphas(graph, *symmetrised(scores, graph))
    assert torch.equal(after, after[reverse])
    # In float64 vectors are not rounded, neither before nor after.
    scores = Scores(s, t, None, query.double(), key.double())
    before = log_alphas(graph, *scores)
    after = log_alphas(graph, *symmetrised(scores, graph))
    assert torch.allclose(after, (before + before[reverse]) / 2)


def test_one_tensor_for_query_and_key_stays_as_short_as_it_is():
    graph, vector = GRAPHS["random undirected"](), torch.randn(29, 64)
    scores = Scores(torch.randn(29), torch.randn(29), None, vector, vector)
    found = symmetrised(scores, graph)
    assert found.query is vector and found.key is vector


def test_vectors_that_would_become_too_long_are_refused():
    graph = GRAPHS["random undirected"]()
    scores = Scores(*torch.randn(2, 29), None, *torch.randn(2, 29, 33))
    sentence = (
        "`rank` must be at most 32 where both directions of an edge share a gate"
        " (`symmetric`), got 33."
    )
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        symmetrised(scores, graph)
