import numpy as np
import torch
from support import kept_verdicts
from support.kept_verdicts import KeptVerdicts

from sgat.features import SparseFeatures
from sgat.judging.verdict import Assessment

ENDS = np.array([[0, 1], [1, 2]], dtype=np.int32)
LABEL = np.array([0, -1, 1])
X = torch.tensor([[1.0, 0.0], [0.0, 2.0], [0.0, 0.0]])


def test_the_same_is_judged_once_and_whatever_differs_anew(monkeypatch):
    seen = []

    def counted(*given, **options):
        seen.append(options)
        return Assessment(np.full(2, float(len(seen))), np.zeros(2, dtype=np.int64))

    monkeypatch.setattr(kept_verdicts, "assess", counted)
    kept = KeptVerdicts()
    kept.in_use = True
    first = kept.assess(ENDS, 3, X, LABEL, seed=1)
    assert kept.assess(ENDS.copy(), 3, X.clone(), LABEL.copy(), seed=1) is first
    others = [
        (ENDS[:, ::-1], 3, X, LABEL, 1),
        (ENDS, 4, X, LABEL, 1),
        (ENDS, 3, None, LABEL, 1),
        (ENDS, 3, X.double(), LABEL, 1),
        (ENDS, 3, X.T, LABEL, 1),
        (ENDS, 3, SparseFeatures.from_dense(X), LABEL, 1),
        (ENDS, 3, SparseFeatures.from_dense(2 * X), LABEL, 1),
        (ENDS, 3, X, np.abs(LABEL), 1),
        (ENDS, 3, X, LABEL, 2),
    ]
    for number, (*given, seed) in enumerate(others, start=2):
        assert kept.assess(*given, seed=seed).wrong[0] == number
        assert kept.assess(*given, seed=seed).wrong[0] == number
    # Who watches the stages, or asks to judge anew, gets a verdict of their own.
    kept.assess(ENDS, 3, X, LABEL, seed=1, progress=print)
    kept.in_use = False
    kept.assess(ENDS, 3, X, LABEL, seed=1)
    assert len(seen) == len(others) + 3
