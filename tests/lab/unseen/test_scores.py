import pytest
import torch
from sklearn.metrics import roc_auc_score

from sgat_lab.unseen.scores import ScoredNodes, roc_auc


def test_auc_is_that_of_sklearn_with_ties(seed):
    generator = torch.Generator().manual_seed(seed)
    score = torch.randint(7, (101,), generator=generator).double()
    y = torch.rand(101, generator=generator) < 0.3
    expected = roc_auc_score(y, score)
    assert float(roc_auc(score[y], score[~y])) == pytest.approx(expected)


@pytest.mark.parametrize(("positive", "negative"), [([], [1.0]), ([1.0], [])])
def test_auc_of_one_class_is_no_number(positive, negative):
    found = roc_auc(torch.tensor(positive), torch.tensor(negative))
    assert found.isnan()


def test_only_the_nodes_of_the_mask_count():
    y = torch.tensor([0, 1, 1, 0, 1])
    mask = torch.tensor([True, True, False, True, True])
    logits = torch.tensor([[2.0, 1], [1, 2], [9, 0], [1, 3], [1, 4]])
    nodes = ScoredNodes.of(mask, y)
    assert float(nodes.score(logits, "accuracy")) == 0.75
    # The negative of margin 2 outdoes one positive of two: 3 of 4 pairs are in order.
    assert float(nodes.score(logits, "roc_auc")) == 0.75
