"""Result: a trained model, the data it saw and the record of every epoch."""

import dataclasses
import math
from collections.abc import Sequence
from typing import Any, NamedTuple, TypedDict

from torch import Tensor

from sgat.config import Config, ModelConfig, TrainConfig
from sgat.data.node_data import NodeData
from sgat.models import SGAT
from sgat.node_classifier import NodeClassifier
from sgat.training.calibration import Calibration


@dataclasses.dataclass(frozen=True)
class EpochRecord:
    """The numbers of one epoch of training; scores are those of evaluation gates."""

    epoch: int  # from 1
    loss: float  # data loss plus penalty, mean over the steps of the epoch
    data_loss: float  # on the training labels
    open_share: float  # share of edges whose drawn gate was open in training
    expected_open: float  # mean of P(z ≠ 0)
    kept_share: float  # share of edges that evaluation keeps
    train: float  # score on the training nodes
    val: float | None  # score on the validation nodes; None without any
    val_loss: float | None  # loss on the validation nodes; None without any
    price: float  # λ, or the multiplier of the budget divided by the number of edges
    seconds: float  # since training began, pauses left out


class Snapshot(NamedTuple):
    """Scores and predictions on the first graph at one epoch."""

    epoch: int  # from 1
    log_alpha: Tensor  # gate location of every edge, [E]
    logits: Tensor  # class scores of every node, [N, C]


def snapshot_epochs(config: TrainConfig) -> set[int]:
    """Epochs at which to keep scores, closer together at the start."""
    if config.snapshots <= 0:
        return set()
    # Twice as many as there are epochs are all of them.
    last = min(config.snapshots, 2 * config.epochs) - 1
    if last == 0:
        return {config.epochs}
    steps = range(last + 1)
    return {1 + round((config.epochs - 1) * (k / last) ** 1.5) for k in steps}


@dataclasses.dataclass(frozen=True)
class Trial:
    """One candidate in one round of a search, and its score on validation nodes.

    `seconds` are those of its epochs in this round, and depend on the machine.
    """

    name: str
    settings: dict[str, Any]  # those that differ from the defaults, or from those given
    rung: int  # number of the round, from 1
    epochs: int
    score: float | None  # mean over the folds; None if training diverged
    loss: float | None  # likewise
    seconds: float


def ranked(trials: Sequence[Trial]) -> list[int]:
    """Places of trials, the best first: by score, then by loss, then as they stand."""

    def key(place: int) -> list[float]:
        signed = (trials[place].score, -1), (trials[place].loss, 1)
        # NaN is not equal to itself.
        return [
            v * sign if v is not None and v == v else math.inf for v, sign in signed
        ]

    return sorted(range(len(trials)), key=key)


class Entry(TypedDict):
    """The score of a training that is done; None if it diverged."""

    score: float | None
    loss: float | None
    seconds: float


class Ledger(TypedDict):
    """The scores of a search that is under way, and what they are of."""

    format: int
    data: str
    candidates: list[str]
    scores: dict[str, Entry]


@dataclasses.dataclass(frozen=True)
class Chosen:
    """What was taken, and why; several members give the mean of their probabilities."""

    names: tuple[str, ...]
    why: str  # one sentence
    members: tuple[ModelConfig, ...]  # all settings of each, the best first
    train: TrainConfig  # of the best
    tried: tuple[Trial, ...] = ()  # in the order of the trainings; none without search

    def settings(self, given: Config) -> Config:
        """The settings of a run with those that were taken."""
        return dataclasses.replace(given, model=self.members[0], train=self.train)


@dataclasses.dataclass(frozen=True)
class Result:
    """A trained model and how it got there.

    `graphs` are the data as the model saw it: on its device, with all that was worked
    out before training. Give these, and nothing is worked out again.
    """

    model: NodeClassifier  # the selected one, in evaluation mode
    graphs: list[NodeData]
    records: list[EpochRecord]  # one per epoch
    best_epoch: int  # the epoch the model was taken from, from 1
    snapshots: list[Snapshot]  # at some epochs
    calibration: Calibration | None = None  # which the model has; None if interrupted
    interrupted: bool = False  # whether it was stopped before its end; can be resumed
    chosen: Chosen | None = None  # of several candidates; None where nobody chose

    @property
    def sgat(self) -> SGAT:
        """The selected model, where it is an SGAT."""
        assert isinstance(self.model, SGAT)
        return self.model

    @property
    def best(self) -> EpochRecord:
        """The record of the selected epoch."""
        return self.records[self.best_epoch - 1]
