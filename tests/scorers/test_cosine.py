"""The cosine scorer against a dense computation."""

import pytest
import torch
import torch.nn.functional as F
from support.awkward import GRAPHS

from sgat.ops import log_alphas
from sgat.scorers import CosineScorer


def test_gates_are_as_open_as_their_ends_are_alike(seed: int):
    graph = GRAPHS["random directed"]()
    h = torch.randn(23, 5, dtype=torch.float64)
    scorer = CosineScorer(5, 3).double()
    projected = h @ scorer.weight
    scale = scorer.log_scale.exp()
    assert float(scale.detach()) == pytest.approx(4)
    dense = scale * F.cosine_similarity(projected[:, None], projected[None], dim=2)
    left, right = (h @ scorer.additive.weight).T
    dense = dense + left[:, None] + right[None]
    sender, target = graph.edge_index
    found = log_alphas(graph, *scorer(h, graph))
    assert torch.allclose(found, dense[target, sender], rtol=1e-10, atol=1e-10)


def test_both_directions_are_alike_to_the_bit(seed: int):
    graph = GRAPHS["random undirected"]()
    scorer = CosineScorer(5, 7)
    scorer.additive.weight.data.zero_()
    found = log_alphas(graph, *scorer(torch.randn(29, 5), graph))
    assert torch.equal(found, found[graph.by_source.edge])


def test_a_node_of_zeros_is_like_nobody():
    graph = GRAPHS["random directed"]()
    h = torch.zeros(23, 5, requires_grad=True)
    found = log_alphas(graph, *CosineScorer(5, 3)(h, graph))
    assert torch.equal(found, torch.zeros(graph.num_edges))
    found.sum().backward()
    assert h.grad.isfinite().all()


def test_the_scale_is_learned_and_stays_positive(seed: int):
    graph, h = GRAPHS["random directed"](), torch.randn(23, 5)
    scorer = CosineScorer(5, 3)
    with torch.no_grad():
        scorer.additive.weight.zero_()
        scorer.log_scale.fill_(-30.0)
    found = log_alphas(graph, *scorer(h, graph))
    assert 0 < found.abs().max() < 1e-12
    found.square().sum().backward()
    assert scorer.log_scale.grad is not None


@pytest.mark.parametrize("rank", [0, 65])
def test_a_rank_the_kernels_cannot_take_is_refused(rank: int):
    with pytest.raises(ValueError, match=f"`rank` must be from 1 to 64, got {rank}"):
        CosineScorer(5, rank)
