"""Scorers: where log α comes from."""

import re

import pytest
import torch
from ops.awkward import GRAPHS

from sgat.graph import Graph
from sgat.ops import log_alphas
from sgat.scorers import AdditiveScorer, FreeScorer, Scores, symmetrised


def test_the_additive_scorer_is_equation_14(seed: int):
    graph, h = GRAPHS["random directed"](), torch.randn(23, 5)
    scorer = AdditiveScorer(5)
    scores = scorer(h, graph)
    assert scores.dst.shape == scores.src.shape == (23,) and scores.edge is None
    log_alpha = log_alphas(graph, *scores)
    for edge in range(0, graph.num_edges, 7):
        target, source = int(graph.dst[edge]), int(graph.src[edge])
        left, right = scorer.weight.T
        expected = left @ h[target] + right @ h[source]
        assert torch.allclose(log_alpha[edge], expected, atol=1e-6)


def test_the_additive_scorer_ranks_senders_the_same_for_every_target(seed: int):
    graph, h = GRAPHS["random directed"](), torch.randn(23, 5, dtype=torch.float64)
    scores = AdditiveScorer(5).double()(h, graph)
    everyone = scores.dst[:, None] + scores.src[None]
    assert (everyone.argsort(dim=1) == everyone[0].argsort()).all()


def test_the_scale_of_the_additive_scorers_weights_follows_the_gain(seed: int):
    weight = AdditiveScorer(4001, init_gain=3.0).weight
    # 8002 draws: their standard deviation is within 5 % but for one case in 10⁹.
    assert weight.std().item() == pytest.approx(3 * (2 / 4002) ** 0.5, rel=0.05)


def test_the_free_scorer_is_one_parameter_per_edge():
    graph = GRAPHS["random directed"]()
    scorer = FreeScorer(graph.num_edges)
    scores = scorer(torch.randn(23, 5), graph)
    assert torch.equal(log_alphas(graph, *scores), scorer.log_alpha)
    log_alphas(graph, *scores).sum().backward()
    assert torch.equal(scorer.log_alpha.grad, torch.ones(graph.num_edges))
    assert len(scorer.log_alpha.unique()) > 1


def test_the_free_scorer_refuses_another_graph():
    sentence = (
        "A transductive gate knows the 3 edges it was trained on, got a graph with"
        " 127; use gate_mode='inductive'."
    )
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        FreeScorer(3)(torch.randn(23, 5), GRAPHS["random directed"]())


@pytest.mark.parametrize("scorer", [AdditiveScorer(5), FreeScorer(7)])
def test_a_generator_makes_new_weights_repeatable(scorer):
    (weight,) = scorer.parameters()
    drawn = []
    for seed in (3, 3, 4):
        scorer.reset_parameters(torch.Generator().manual_seed(seed))
        drawn.append(weight.detach().clone())
    assert torch.equal(drawn[0], drawn[1]) and not torch.equal(drawn[0], drawn[2])


def test_reprs_name_the_size():
    assert repr(AdditiveScorer(5)) == "AdditiveScorer(5)"
    assert repr(FreeScorer(7)) == "FreeScorer(7)"


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
    scores = Scores(*torch.randn(2, size), None, *torch.randn(2, size, 7))
    before = log_alphas(graph, *scores)
    after = log_alphas(graph, *symmetrised(scores, graph))
    assert torch.allclose(after, (before + before[reverse]) / 2, atol=1e-5)
    assert torch.equal(after, after[reverse])


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
