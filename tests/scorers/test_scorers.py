"""Scorers by name, and what all of them have in common."""

import typing

import pytest
import torch
from support.awkward import GRAPHS

from sgat.config import ModelConfig
from sgat.graph import Graph
from sgat.ops import log_alphas
from sgat.scorers import SCORERS, AdditiveScorer, FreeScorer, choose_scorer


@pytest.fixture(params=[*SCORERS, "free"])
def scorer(request: pytest.FixtureRequest) -> torch.nn.Module:
    name = request.param
    return FreeScorer(127) if name == "free" else SCORERS[name](5, 3, 1.0)


def test_every_scorer_with_a_name_can_be_chosen_in_a_config():
    hints = typing.get_type_hints(ModelConfig)
    assert set(SCORERS) <= set(typing.get_args(hints["scorer"]))
    assert isinstance(SCORERS["additive"](5, 3, 1.0), AdditiveScorer)


def test_an_unknown_name_is_refused():
    known = ", ".join(SCORERS)
    with pytest.raises(ValueError, match=f"^Unknown scorer 'x'; choose one of {known}"):
        choose_scorer("x", "inductive", None, channels=5, rank=3, threshold=0.0)


def test_scores_fit_the_graph_and_reach_every_weight(scorer, seed: int):
    graph, h = GRAPHS["random directed"](), torch.randn(23, 5)
    found = log_alphas(graph, *scorer(h, graph))
    assert found.shape == (graph.num_edges,)
    found.square().sum().backward()
    for name, weight in scorer.named_parameters():
        assert weight.grad is not None and weight.grad.abs().max() > 0, name


def test_a_generator_makes_new_weights_repeatable(scorer):
    drawn = []
    for seed in (3, 3, 4):
        scorer.reset_parameters(torch.Generator().manual_seed(seed))
        drawn.append([weight.detach().clone() for weight in scorer.parameters()])
    for first, second, third in zip(*drawn, strict=True):
        assert torch.equal(first, second)
        assert first.dim() == 0 or not torch.equal(first, third)


def test_no_edges_are_no_trouble(scorer):
    graph = Graph.from_edges(torch.zeros(2, 0, dtype=torch.long), 3)
    if not isinstance(scorer, FreeScorer):
        assert log_alphas(graph, *scorer(torch.randn(3, 5), graph)).shape == (0,)


def test_reprs_name_the_sizes():
    shown = {name: repr(make(5, 3, 1.0)).splitlines() for name, make in SCORERS.items()}
    assert shown["additive"] == ["AdditiveScorer(5)"]
    assert repr(FreeScorer(7)) == "FreeScorer(7)"
    for name, title in (("cosine", "Cosine"), ("bilinear", "Bilinear")):
        assert shown[name][:2] == [f"{title}Scorer(", "  5, 3"]
