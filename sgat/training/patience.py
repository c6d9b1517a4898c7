"""Patience: training ends when validation has stopped getting better."""

import math

from sgat.config import TrainConfig
from sgat.training.result import EpochRecord

GAIN = 0.01
"""Share by which the validation loss, or that of open edges, must fall to be better."""
SURE = 0.1
"""Validation loss below which a perfect score is settled: nothing is left to find."""
MANY = 100
"""Validation nodes from which on a perfect score is no luck."""
SETTLED = 10
"""A settled score is waited on for the patience divided by this."""


def is_settled(score: float | None, loss: float | None, num_val: int) -> bool:
    """Whether so many validation nodes are all right, and surely so."""
    return num_val >= MANY and score == 1 and loss is not None and loss < SURE


class Patience:
    """Counts the epochs in which nothing got better.

    Better are a higher validation score, a loss that is lower by `GAIN`, and edges that
    close: gates may be learning still. A settled score needs no lower loss. It is a
    function of the records alone.
    """

    def __init__(self, config: TrainConfig, num_val: int) -> None:
        # The last model is the one after all epochs.
        self.limit = config.patience if config.select == "best" and num_val else 0
        self.first = 1 if config.keep is None else config.warmup_epochs + 1
        self.num_val = num_val
        self.score, self.loss, self.open = -math.inf, math.inf, math.inf
        self.waited, self.is_settled = 0, False

    @property
    def left(self) -> int | None:
        """Number of epochs that can be run before it can run out; None for any."""
        if not self.limit:
            return None
        short = math.ceil(self.limit / SETTLED)
        if self.is_settled:
            return max(short - self.waited, 0)
        left = max(self.limit - self.waited, 0)
        return min(left, short) if self.num_val >= MANY else left

    def see(self, record: EpochRecord) -> None:
        """Take note of an epoch; those before a budget is met do not count."""
        if not self.limit or record.epoch < self.first:
            return
        assert record.val is not None and record.val_loss is not None
        is_better = record.val > self.score
        if record.expected_open < self.open * (1 - GAIN):
            self.open, is_better = record.expected_open, True
        if record.val_loss < self.loss * (1 - GAIN):
            self.loss, is_better = record.val_loss, is_better or not self.is_settled
        self.score = max(self.score, record.val)
        self.is_settled = is_settled(self.score, self.loss, self.num_val)
        self.waited = 0 if is_better else self.waited + 1
