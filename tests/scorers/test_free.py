"""The free scorer: one parameter of each edge."""

import re

import pytest
import torch
from support.awkward import GRAPHS

from sgat.ops import log_alphas
from sgat.scorers import FreeScorer


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
