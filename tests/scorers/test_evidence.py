import torch

from sgat.data.synthetic import contextual_block_model
from sgat.scorers import EvidenceScorer

THRESHOLD = -1.5


def test_odds_are_never_those_of_a_model_or_features_that_are_gone():
    # Memory is given out again: a new tensor stands where an old one stood.
    data = contextual_block_model(
        num_nodes=101, num_classes=3, num_features=5, seed=1
    ).data
    h = torch.zeros(data.num_nodes, 1)
    for seed in range(8):
        scorer = EvidenceScorer(5, 3, threshold=THRESHOLD)
        scorer.observe([data], seed)
        for shift in (0.0, 0.5):
            x = data.x + shift * torch.arange(5)
            found = scorer(h, data.graph, x).edge
            expected = scorer.evidence(x, data.graph) + THRESHOLD
            assert torch.equal(found, expected), (seed, shift)
            del x
        del scorer


def test_odds_are_worked_out_once_for_the_same_features():
    data = contextual_block_model(
        num_nodes=101, num_classes=3, num_features=5, seed=1
    ).data
    scorer = EvidenceScorer(5, 3, threshold=THRESHOLD)
    scorer.observe([data], 0)
    h = torch.zeros(data.num_nodes, 1)
    calls = []
    scorer.evidence.register_forward_hook(lambda *_: calls.append(1))
    for _ in range(3):
        scorer(h, data.graph, data.x)
    assert len(calls) == 1
    data.x[0, 0] += 1
    scorer(h, data.graph, data.x)
    assert len(calls) == 2
