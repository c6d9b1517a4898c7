"""fit(): the one training loop."""

import copy
import logging
import math
import time
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import torch

from sgat.config import ModelConfig, TrainConfig
from sgat.data.node_data import NodeData, check, fingerprint, name_in_noise
from sgat.models import SGAT
from sgat.node_classifier import NodeClassifier
from sgat.parallel.ranks import Ranks
from sgat.training import checkpoint
from sgat.training.calibration import calibrate
from sgat.training.epoch import COLUMNS, CapturedEpochs, Epochs
from sgat.training.fresh_model import (
    Build,
    Observed,
    check_size,
    fresh_model,
    observe,
    resolved,
)
from sgat.training.interrupt import stop_requests
from sgat.training.patience import Patience
from sgat.training.result import EpochRecord, Result, Snapshot, snapshot_epochs

REPLAYED = 25
"""Epochs that are replayed on a GPU before their rows are read."""
WARM_EPOCHS = 2
"""Epochs that run as usual first, so that everything is compiled and allocated."""
LARGEST_CAPTURE = 4_000_000
"""Number of edges beyond which an epoch keeps a GPU busy without a captured graph."""

logger = logging.getLogger(__name__)


def chosen_device(name: str) -> torch.device:
    """The device a name stands for; "auto" is the GPU if there is one."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        # The device "meta" holds no values, and fails here.
        torch.empty(1, device=device).fill_(0).item()
    except (RuntimeError, AssertionError, NotImplementedError):
        raise ValueError(
            f"`device` must be one that works here, got {name!r}; try cpu."
        ) from None
    return device


class DivergedError(ValueError):
    """The loss of a training is no number any more, and no epoch gave a model."""


class Training:
    """A training run: epochs, their records, and checkpoints.

    All noise of an epoch comes from (seed, epoch), so a restored run goes on exactly as
    the interrupted one would have.
    """

    def __init__(
        self,
        graphs: Sequence[NodeData],
        model: ModelConfig,
        train: TrainConfig,
        *,
        build: Build | None = None,
        observed: Observed | None = None,
        ranks: Ranks | None = None,
    ) -> None:
        """Check the data, build the model and its optimiser; see `fit`.

        With `observed`, of another training on the same data, `graphs` are its graphs,
        perhaps with other roles of their nodes, and nothing is worked out again. Where
        `ranks` train together, all have all data, and the first writes.
        """
        check(graphs)
        self.config, self.ranks = train, ranks
        device = chosen_device(train.device)
        check_size(graphs, model, train, device)
        self.model_config = resolved(model, graphs)
        self.model = fresh_model(self.model_config, graphs, train, build).to(device)
        named = name_in_noise(graphs) if observed is None else graphs
        given = [data.to(device) for data in named]
        judge = observed.judge if observed else None
        how: dict[str, Any] = {"seed": train.seed, "keep": train.keep, "judge": judge}
        self.graphs = observe(self.model, given, **how, ranks=ranks)
        self.epochs = Epochs(self.model, self.graphs, train, ranks)
        self.records: list[EpochRecord] = []
        num_val = sum(int(data.val.sum()) for data in graphs)
        self.patience = Patience(train, num_val)
        self.best_epoch = 0
        self.snapshots: list[Snapshot] = []
        self.seconds = 0.0
        self.diverged = ""  # where the loss became no number, in words
        self._num_warm = 0
        self._captured: CapturedEpochs | None = None

    @property
    def observed(self) -> Observed:
        """The graphs and their judge, for other trainings on the same data."""
        judge = self.model.judge if isinstance(self.model, SGAT) else None
        return Observed(self.graphs, judge)

    @property
    def epoch(self) -> int:
        """Number of finished epochs."""
        return len(self.records)

    @cached_property
    def fingerprint(self) -> str:
        """Hash of the data, by which a resumed run recognises it."""
        return fingerprint(self.graphs)

    @property
    def is_done(self) -> bool:
        """Whether all epochs are done, patience has run out, or the loss is lost."""
        is_over = self.epoch >= self.config.epochs or self.patience.left == 0
        return is_over or bool(self.diverged)

    def run(
        self,
        *,
        checkpoint_path: Path | None = None,
        resume: bool = False,
        on_epoch: Callable[[EpochRecord], None] | None = None,
    ) -> Result:
        """Train to the end, or until asked to stop; see `fit`."""
        if resume and checkpoint_path is not None and checkpoint_path.exists():
            checkpoint.restore(self, checkpoint_path)
        tell = on_epoch or (lambda record: None)
        for record in self.records:
            tell(record)
        if self.ranks is not None and not self.ranks.is_first:
            checkpoint_path = None
        if checkpoint_path is not None:
            checkpoint_path.parent.mkdir(parents=True, exist_ok=True)
        every = self.config.checkpoint_every
        with stop_requests() as stop:
            stops = self._agreed(stop.is_set())
            while not (self.is_done or stops):
                records = self.run_epochs(every - self.epoch % every)
                stops = self._agreed(stop.is_set())
                due = self.epoch % every == 0 or self.is_done or stops
                if checkpoint_path is not None and due and not self.diverged:
                    checkpoint.save(self, checkpoint_path)
                for record in records:
                    tell(record)
        if self.diverged:
            self._end_early()
        return self.result()

    def _agreed(self, flag: bool) -> bool:
        """Whether any process was asked to stop."""
        return flag if self.ranks is None else self.ranks.any(flag)

    def result(self) -> Result:
        """The selected model and the records until now."""
        model = self.selected_model()
        return Result(
            model=model,
            graphs=self.graphs,
            records=self.records,
            best_epoch=self.best_epoch,
            snapshots=self.snapshots,
            calibration=calibrate(model, self.graphs) if self.is_done else None,
            interrupted=not self.is_done,
        )

    def run_epochs(self, most: int = 1) -> list[EpochRecord]:
        """Run one epoch, or on a GPU up to `most` of a small graph at once."""
        start = time.perf_counter()
        is_small = self.epochs.num_seen_edges <= LARGEST_CAPTURE
        is_warm = self._num_warm >= WARM_EPOCHS and self.config.snapshots == 0
        if self.epochs.can_capture and is_small and is_warm:
            number = min(most, self.config.epochs - self.epoch, REPLAYED)
            number = min(number, self.patience.left or number)
            if self._captured is None:
                self._captured = CapturedEpochs(self.epochs, REPLAYED)
            rows = self._captured.run(number).tolist()
        else:
            rows = [self.epochs.run(self.epoch).tolist()]
            self._num_warm += 1
            self._take_snapshot()
        self.seconds += time.perf_counter() - start
        return self._recorded(dict(zip(COLUMNS, row, strict=True)) for row in rows)

    def _recorded(self, rows: Iterable[dict[str, float]]) -> list[EpochRecord]:
        """The records of epochs, up to one whose loss is no number."""
        before = self.epoch
        for epoch, row in enumerate(rows, before + 1):
            losses = {"loss": row["loss"], "validation loss": row["val_loss"]}
            if not self.epochs.has_val:
                del losses["validation loss"]
                row |= {"val": None, "val_loss": None}  # type: ignore[dict-item]
            for name, loss in losses.items():
                if not math.isfinite(loss):
                    where = f"the {name} is {loss} in epoch {epoch}"
                    self.diverged = where + self._not_finite()
                    return self.records[before:]
            for share in ("open_share", "kept_share"):
                assert -1e-6 <= row[share] <= 1 + 1e-6, f"{share} is {row[share]}"
            if row.pop("is_best"):
                self.best_epoch = epoch
            record = EpochRecord(epoch=epoch, seconds=round(self.seconds, 4), **row)
            self.records.append(record)
            self.patience.see(record)
        return self.records[before:]

    def _not_finite(self) -> str:
        """A clause that names the first weight that is no number, or its gradient."""
        for name, weight in self.model.named_parameters():
            for what, tensor in (("gradient of ", weight.grad), ("", weight)):
                if tensor is not None and not bool(tensor.isfinite().all()):
                    return f", and the {what}{name} is not finite"
        return ""

    def _end_early(self) -> None:
        """Tell that training diverged; an error where no epoch gave a model."""
        cure = f"lower `lr` (now {self.config.lr})"
        if not self.best_epoch:
            raise DivergedError(f"Training diverged: {self.diverged}; {cure}.")
        logger.warning(
            "training ended early: %s; the model is that of epoch %d; %s to train on.",
            *(self.diverged, self.best_epoch, cure),
        )

    @torch.no_grad()
    def _take_snapshot(self) -> None:
        epoch = self.epoch + 1
        if epoch not in snapshot_epochs(self.config):
            return
        first = self.graphs[0]
        assert isinstance(self.model, SGAT)
        with self.epochs.evaluation_bias(self.epoch):
            log_alpha = self.model.log_alpha(first.x, first.graph)
            logits = self.model.eval()(first.x, first.graph)
        self.snapshots.append(Snapshot(epoch, log_alpha.cpu(), logits.cpu()))

    def selected_model(self) -> NodeClassifier:
        """A copy of the model with the selected weights, in evaluation mode."""
        model = copy.deepcopy(self.model)
        if self.best_epoch:
            model.load_state_dict(self.epochs.best)
        return model.eval()


def fit(
    graphs: Sequence[NodeData],
    model: ModelConfig | None = None,
    train: TrainConfig | None = None,
    *,
    build: Build | None = None,
    checkpoint_path: Path | None = None,
    resume: bool = False,
    on_epoch: Callable[[EpochRecord], None] | None = None,
) -> Result:
    """Train a model on one graph, or on several.

    Ctrl-C (or SIGTERM) stops after the epoch under way, with a checkpoint if there is a
    path for one; the result then says `interrupted`, and the same call with
    `resume=True` goes on to the same bits. A second Ctrl-C stops at once.

    Args:
        graphs: The data; every graph may have training, validation and test nodes.
        model: Shape of the network.
        train: How to train.
        build: Makes another model to train in place of SGAT; None for SGAT.
        checkpoint_path: Where to save the state of training every so often.
        resume: Continue from the checkpoint, if there is one.
        on_epoch: Called with the record of each epoch, restored ones included.

    Returns:
        The selected model and the records.

    Raises:
        ValueError: If the data or the settings cannot be trained with.
    """
    model, train = model or ModelConfig(), train or TrainConfig()
    training = Training(graphs, model, train, build=build)
    return training.run(
        checkpoint_path=checkpoint_path, resume=resume, on_epoch=on_epoch
    )
