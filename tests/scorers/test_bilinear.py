"""The bilinear scorer against a dense computation."""

import pytest
import torch
from support.awkward import GRAPHS

from sgat.ops import log_alphas
from sgat.scorers import BilinearScorer


def test_the_score_is_a_product_of_projections(seed: int):
    graph = GRAPHS["random directed"]()
    h = torch.randn(23, 5, dtype=torch.float64)
    scorer = BilinearScorer(5, 3).double()
    dense = h @ scorer.query_weight @ scorer.key_weight.T @ h.T
    left, right = (h @ scorer.additive.weight).T
    dense = dense + left[:, None] + right[None]
    sender, target = graph.edge_index
    found = log_alphas(graph, *scorer(h, graph))
    assert torch.allclose(found, dense[target, sender], rtol=1e-10, atol=1e-10)


def test_targets_can_rank_senders_in_different_ways(seed: int):
    graph, h = GRAPHS["random directed"](), torch.randn(23, 5, dtype=torch.float64)
    scores = BilinearScorer(5, 3).double()(h, graph)
    everyone = scores.dst[:, None] + scores.src[None] + scores.query @ scores.key.T
    assert (everyone.argsort(dim=1) != everyone[0].argsort()).any()


@pytest.mark.parametrize("rank", [1, 64])
def test_scores_start_about_as_large_for_any_rank(rank: int, seed: int):
    graph, h = GRAPHS["random directed"](), torch.randn(23, 64)
    drawn = []
    for _ in range(30):
        scores = BilinearScorer(64, rank)(h, graph)
        drawn.append((scores.query @ scores.key.T).square().mean())
    assert 0.2 < float(torch.stack(drawn).mean().sqrt().detach()) < 5


@pytest.mark.parametrize("rank", [0, 65])
def test_a_rank_the_kernels_cannot_take_is_refused(rank: int):
    with pytest.raises(ValueError, match=f"`rank` must be from 1 to 64, got {rank}"):
        BilinearScorer(5, rank)
