"""The best of some trained models, or their mean.

Tested by tests/training/test_choosing.py.
"""

import dataclasses
import math
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from sgat.committee import Committee
from sgat.models import SGAT
from sgat.training import metrics
from sgat.training.candidates import Candidate, gates_of
from sgat.training.result import Result, Trial

LAST = 3
"""Number of the round that trains in full."""


@torch.no_grad()
def best_or_mean(
    results: Sequence[Result], named: Sequence[Candidate]
) -> tuple[SGAT, int, str, list[Trial]]:
    """The best model, or the mean of the best two or of all if that is clearly better.

    The loss of the mean must be lower by more than one standard error of the difference
    over the validation nodes, and its score must not be lower. With the model come the
    number of its members, why a mean was taken, and the means that were tried.
    """
    graphs = [data for data in results[0].graphs if bool(data.val.any())]
    y = torch.cat([data.y[data.val] for data in graphs])

    def tried(model: SGAT) -> tuple[float, Tensor]:
        parts = [model(data.x, data.graph)[data.val] for data in graphs]
        logits = torch.cat(parts).double()
        found = metrics.score(logits, y, named[0].train.metric)
        return float(found), _node_losses(logits, y)

    best, size, why, gain, trials = results[0].sgat, 1, "", 0.0, list[Trial]()
    score, losses = tried(best)
    # Members share the edges of the first, so all must have learned with such.
    alike = [each for each in named if gates_of(each) == gates_of(named[0])]
    several = alike == list(named) and len(results) > 1
    for number in sorted({2, len(results)} if several else ()):
        members = [each.sgat for each in results[:number]]
        mean = Committee(members, is_multilabel=y.dim() == 2).eval()
        found, lost = tried(mean)
        less, loss = losses - lost, float(lost.mean())
        together = " + ".join(each.name for each in named[:number])
        trials.append(Trial(f"mean of {together}", {}, LAST, 0, found, loss, 0.0))
        error = float(less.std(correction=0)) / math.sqrt(len(less))
        if found >= score and float(less.mean()) > max(error, gain):
            best, size, gain = mean, number, float(less.mean())
            why = (
                f"their mean has a validation loss of {loss:.3f}, clearly below the"
                f" {float(losses.mean()):.3f} of the best alone, and a score of"
                f" {found:.1%}, not below its {score:.1%}"
            )
    return best, size, why, trials


def mean(values: Sequence[float | None]) -> float | None:
    """The mean of scores; None if one is missing."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if len(known) == len(values) else None


def joined(trial: Trial, before: Sequence[Trial], folds: int) -> Trial:
    """A trial in full whose score is the mean of its own and of the folds before."""
    last = [each.score for each in before if each.name == trial.name][-1:]
    return dataclasses.replace(trial, score=mean([trial.score, *last * folds]))


def _node_losses(logits: Tensor, y: Tensor) -> Tensor:
    """Loss of each node, [N]."""
    if y.dim() == 1:
        return F.cross_entropy(logits, y, reduction="none")
    each = F.binary_cross_entropy_with_logits(logits, y.to(logits), reduction="none")
    return each.mean(1)
