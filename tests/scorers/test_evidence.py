"""Gates from evidence: log α of judged graphs, and how far odds are spread."""

import dataclasses
import re

import pytest
import torch
from support.awkward import GRAPHS
from torch import Tensor

from sgat import conv
from sgat.gates import HardConcrete
from sgat.graph import Graph
from sgat.models import SGAT
from sgat.ops import log_alphas, open_edges
from sgat.scorers import EvidenceScorer

THRESHOLD = HardConcrete().threshold
NUM_EDGES = 127


@pytest.fixture
def scorer() -> EvidenceScorer:
    return EvidenceScorer(threshold=THRESHOLD)


def judged(log_odds: Tensor) -> Graph:
    return dataclasses.replace(GRAPHS["random directed"](), log_odds=log_odds)


def test_log_alpha_is_the_odds_and_the_threshold(scorer: EvidenceScorer, seed: int):
    graph, h = judged(torch.randn(NUM_EDGES)), torch.randn(23, 5)
    scores = scorer(h, graph)
    log_alpha = log_alphas(graph, *scores)
    assert torch.equal(log_alpha, graph.log_odds + THRESHOLD)
    assert torch.equal(log_alphas(graph, *scorer(2 * h, graph)), log_alpha)
    opened = open_edges(graph, *scores)
    assert torch.equal(opened.edge, (graph.log_odds > 0).nonzero()[:, 0])
    assert 0 < len(opened.edge) < NUM_EDGES


def test_the_graph_alone_says_what_the_odds_are(scorer: EvidenceScorer, seed: int):
    h = torch.randn(23, 5)
    one, other = (judged(torch.randn(NUM_EDGES)) for _ in range(2))
    found = scorer(h, one).edge
    assert not torch.equal(scorer(h, other).edge, found)
    assert torch.equal(scorer(h, one).edge, found)
    one.log_odds.add_(1)
    torch.testing.assert_close(scorer(h, one).edge, found + 1)
    with torch.inference_mode():
        torch.testing.assert_close(scorer(h, one).edge, found + 1)


def test_a_graph_that_was_not_judged_is_refused(scorer: EvidenceScorer):
    sentence = (
        "`graph` must have `log_odds`, for gates go by them; judge it first, with"
        " `SGAT.judged`."
    )
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        scorer(torch.zeros(23, 5), GRAPHS["random directed"]())


def test_scores_have_the_precision_of_the_features(scorer: EvidenceScorer):
    graph = judged(torch.ones(NUM_EDGES))
    for dtype in (torch.float32, torch.float64):
        scores = scorer(torch.zeros(23, 5, dtype=dtype), graph)
        assert {part.dtype for part in scores if part is not None} == {dtype}


def test_odds_are_spread_by_what_the_best_share_needs(scorer: EvidenceScorer):
    odds = torch.arange(2110).flip(0) / 2110 + 3
    # 211 of 2110 odds from 3.9 to 4: their mean is 105 steps above the least.
    scorer.spread(odds, 0.1)
    assert float(scorer.scale) == pytest.approx(2 / (105 / 2110), rel=1e-5)
    log_alpha = odds * scorer.scale + scorer.shift
    assert float(log_alpha.mean()) == pytest.approx(3.5, abs=1e-3)
    best = log_alpha.topk(211).values
    assert float(best.mean() - best.min()) == pytest.approx(2, rel=1e-4)
    graph = judged(odds[:NUM_EDGES])
    found = scorer(torch.zeros(23, 1), graph).edge
    assert torch.equal(found, log_alpha[:NUM_EDGES] + THRESHOLD)


@pytest.mark.parametrize(
    ("factor", "keep", "scale"),
    [(1.0, None, 1), (1.0, 0.5, 4 * 2), (16.0, 0.5, 1), (0.0, 0.5, 100)],
)
def test_odds_are_not_spread_where_free_far_apart_or_the_same(
    scorer: EvidenceScorer, factor: float, keep: float | None, scale: float
):
    odds = torch.linspace(0, 1, 2110) * factor
    scorer.spread(odds, keep)
    assert float(scorer.scale) == pytest.approx(scale, rel=2e-3)
    assert (float(scorer.shift) == 0) == (scale == 1 or factor == 0)
    scorer.spread(odds, None)
    assert (float(scorer.scale), float(scorer.shift)) == (1, 0)


def test_without_edges_a_share_spreads_nothing(scorer: EvidenceScorer):
    scorer.spread(torch.zeros(0), 0.5)
    assert (float(scorer.scale), float(scorer.shift)) == (1, 0)


def test_reset_forgets(scorer: EvidenceScorer):
    scorer.spread(torch.linspace(0, 1, 2110), 0.5)
    assert float(scorer.scale) > 1
    scorer.reset_parameters()
    assert (float(scorer.scale), float(scorer.shift)) == (1, 0)


@pytest.mark.parametrize("is_same", [True, False])
def test_odds_that_are_the_same_both_ways_are_not_averaged(
    is_same, monkeypatch, seed: int
):
    pairs = torch.randint(23, (2, 61))
    graph = Graph.from_edges(pairs, 23, make_undirected=True, say_merged=False)
    odds = torch.randn(graph.num_edges)
    mean = (odds + graph.of_reverse(odds)) / 2
    graph = dataclasses.replace(graph, log_odds=mean if is_same else odds)
    calls, averaged = [], conv.symmetrised
    monkeypatch.setattr(
        conv, "symmetrised", lambda *given: calls.append(1) or averaged(*given)
    )
    model = SGAT(5, 3, 2, scorer="evidence", symmetric=True, gate_bias=None).eval()
    for _ in range(2):
        found = model.log_alpha(torch.randn(23, 5), graph)
        torch.testing.assert_close(found, mean + THRESHOLD)
        assert torch.equal(found, graph.of_reverse(found))
    assert len(calls) == (0 if is_same else 2)
