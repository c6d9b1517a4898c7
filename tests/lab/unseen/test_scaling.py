import torch

from sgat.features import SparseFeatures
from sgat_lab.unseen.scaling import SCALINGS, ScaledFeatures, standardised

X = torch.tensor([[1.0, 0, 5], [3, 0, 5], [0, 0, 5]])


def test_scalings_are_what_they_say():
    features = ScaledFeatures(SparseFeatures.from_dense(X))
    as_is, rows, standard = (features.scaled(how) for how in SCALINGS)
    assert torch.equal(as_is, X)
    torch.testing.assert_close(rows.sum(dim=1), torch.ones(3))
    torch.testing.assert_close(standard.mean(dim=0), torch.zeros(3))
    torch.testing.assert_close(standard[:, 0].std(correction=0), torch.tensor(1.0))


def test_constant_columns_become_zero():
    assert torch.equal(standardised(X)[:, 1:], torch.zeros(3, 2))


def test_each_scaling_is_made_once():
    features = ScaledFeatures(X)
    assert features.scaled("rows") is features.scaled("rows")
