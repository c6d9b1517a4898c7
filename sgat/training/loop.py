"""fit() and Result: the one training loop."""

from __future__ import annotations

import copy
import dataclasses
import math
import time
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from sgat.config import ModelConfig, TrainConfig
from sgat.data.node_data import NodeData, check, fingerprint, name_in_noise
from sgat.models import SGAT
from sgat.node_classifier import NodeClassifier
from sgat.training import checkpoint
from sgat.training.choosing import chosen_readout, chosen_scorer
from sgat.training.epoch import COLUMNS, CapturedEpochs, Epochs
from sgat.training.interrupt import stop_requests

REPLAYED = 25
"""Epochs that are replayed on a GPU before their rows are read."""
WARM_EPOCHS = 2
"""Epochs that run as usual first, so that everything is compiled and allocated."""
LARGEST_CAPTURE = 4_000_000
"""Number of edges beyond which an epoch keeps a GPU busy without a captured graph."""


@dataclasses.dataclass(frozen=True)
class EpochRecord:
    """What one epoch of training looked like.

    Attributes:
        epoch: Number of the epoch, from 1.
        loss: Data loss plus penalty, mean over the steps of the epoch.
        data_loss: Loss on the training labels.
        open_share: Share of edges whose drawn gate was open in training.
        expected_open: Expected share of open gates, mean of P(z ≠ 0).
        kept_share: Share of edges that evaluation keeps.
        train: Score on the training nodes with evaluation gates.
        val: Score on the validation nodes; None without any.
        val_loss: Loss on the validation nodes; None without any.
        price: λ, or the multiplier of the edge budget divided by the number of edges.
        seconds: Time since training began, pauses left out.
    """

    epoch: int
    loss: float
    data_loss: float
    open_share: float
    expected_open: float
    kept_share: float
    train: float
    val: float | None
    val_loss: float | None
    price: float
    seconds: float


Build = Callable[[NodeData], NodeClassifier]
"""Makes another model than SGAT for data of these sizes; weights are drawn later."""


class Snapshot(NamedTuple):
    """Scores and predictions on the first graph at one epoch.

    Attributes:
        epoch: Number of the epoch, from 1.
        log_alpha: Gate location of every edge, [E].
        logits: Class scores of every node, [N, C].
    """

    epoch: int
    log_alpha: Tensor
    logits: Tensor


@dataclasses.dataclass(frozen=True)
class Result:
    """A trained model and how it got there.

    Attributes:
        model: The selected model, in evaluation mode.
        graphs: The data as the model saw it: on its device, with all that was worked
            out before training. Give these, and nothing is worked out again.
        records: One record per epoch.
        best_epoch: The epoch the model was taken from, from 1.
        snapshots: What the first graph looked like at some epochs.
        interrupted: Whether training was stopped before its end and can be resumed.
    """

    model: NodeClassifier
    graphs: list[NodeData]
    records: list[EpochRecord]
    best_epoch: int
    snapshots: list[Snapshot]
    interrupted: bool = False

    @property
    def sgat(self) -> SGAT:
        """The selected model, where it is an SGAT."""
        assert isinstance(self.model, SGAT)
        return self.model

    @property
    def best(self) -> EpochRecord:
        """The record of the selected epoch."""
        return self.records[self.best_epoch - 1]


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


def resolved(model: ModelConfig, graphs: Sequence[NodeData]) -> ModelConfig:
    """The shape of the network with what depends on the data filled in.

    Raises:
        ValueError: If gates are to be symmetric on a directed graph, or beliefs are to
            be in one class where nodes have several labels.
    """
    if model.readout == "beliefs" and any(data.is_multilabel for data in graphs):
        raise ValueError(
            "`readout` must not be beliefs where nodes have several labels: a belief is"
            " in one class; use attention, diffusion or auto."
        )
    if model.scorer == "auto":
        model = dataclasses.replace(model, scorer=chosen_scorer(model, graphs))
    if model.readout == "auto":
        model = dataclasses.replace(model, **chosen_readout(model, graphs))
    if model.symmetric is None:
        symmetric = not any(data.has_directions for data in graphs)
        return dataclasses.replace(model, symmetric=symmetric)
    if model.symmetric and not all(data.graph.is_undirected for data in graphs):
        raise ValueError(
            "`symmetric` must be false on a directed graph: some edge has no reverse"
            " of the same weight."
        )
    return model


def _fresh_model(
    model: ModelConfig,
    graphs: Sequence[NodeData],
    train: TrainConfig,
    build: Build | None,
) -> NodeClassifier:
    # Layers draw weights when they are made; torch's generator is not ours to move.
    with torch.random.fork_rng(devices=[]):
        if build is None:
            fresh: NodeClassifier = _fresh_sgat(model, graphs, train)
        else:
            fresh = _fresh_other(build, graphs, train)
    fresh.reset_parameters(torch.Generator().manual_seed(train.seed))
    return fresh


def _fresh_other(
    build: Build, graphs: Sequence[NodeData], train: TrainConfig
) -> NodeClassifier:
    for name, value in {"keep": train.keep, "snapshots": train.snapshots}.items():
        if value:
            raise ValueError(f"`{name}` must be left out with `build`, got {value}.")
    return build(graphs[0])


def _fresh_sgat(
    model: ModelConfig, graphs: Sequence[NodeData], train: TrainConfig
) -> SGAT:
    if model.gate_mode == "transductive" and len(graphs) > 1:
        raise ValueError(
            "`gate_mode` must be inductive to train on several graphs:"
            " transductive gates know the edges of one graph only."
        )
    if train.keep is not None and not model.gate_bias:
        raise ValueError(
            "`gate_bias` must be true with `keep`: training to a share of edges moves"
            " the gate bias."
        )
    first = graphs[0]
    return SGAT.from_config(
        model, first.num_features, first.num_classes, first.graph.num_edges
    )


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
    ) -> None:
        """Check the data, build the model and its optimiser; see `fit`."""
        check(graphs)
        self.config = train
        device = chosen_device(train.device)
        self.graphs = [data.to(device) for data in name_in_noise(graphs)]
        self.model_config = resolved(model, graphs)
        self.model = _fresh_model(self.model_config, graphs, train, build).to(device)
        training = [data for data in self.graphs if bool(data.train.any())]
        self.model.observe(training, train.seed, keep=train.keep)
        self.epochs = Epochs(self.model, self.graphs, train)
        self.records: list[EpochRecord] = []
        self.best_epoch = 0
        self.snapshots: list[Snapshot] = []
        self.seconds = 0.0
        self._num_warm = 0
        self._captured: CapturedEpochs | None = None

    @property
    def epoch(self) -> int:
        """Number of finished epochs."""
        return len(self.records)

    @cached_property
    def fingerprint(self) -> str:
        """What the data is recognised by when a run goes on."""
        return fingerprint(self.graphs)

    @property
    def is_done(self) -> bool:
        """Whether all epochs are done, or patience has run out."""
        patience = self.config.patience
        waited = self.epoch - self.best_epoch
        out_of_patience = (
            patience is not None and self.best_epoch > 0 < waited >= patience
        )
        return self.epoch >= self.config.epochs or out_of_patience

    def run(
        self,
        *,
        checkpoint_path: Path | None = None,
        resume: bool = False,
        on_epoch: Callable[[EpochRecord], None] | None = None,
    ) -> Result:
        """Train to the end, or until asked to stop; see `fit`."""
        if resume and checkpoint_path is not None and checkpoint_path.exists():
            self.restore(checkpoint_path)
            for record in self.records:
                if on_epoch is not None:
                    on_epoch(record)
        every = self.config.checkpoint_every
        with stop_requests() as stop:
            while not (self.is_done or stop.requested):
                records = self.run_epochs(every - self.epoch % every)
                due = self.epoch % every == 0 or self.is_done or stop.requested
                if checkpoint_path is not None and due:
                    self.save(checkpoint_path)
                for record in records:
                    if on_epoch is not None:
                        on_epoch(record)
        return Result(
            model=self.selected_model(),
            graphs=self.graphs,
            records=self.records,
            best_epoch=self.best_epoch,
            snapshots=self.snapshots,
            interrupted=not self.is_done,
        )

    def run_epochs(self, most: int = 1) -> list[EpochRecord]:
        """Run one epoch, or on a GPU up to `most` of a small graph at once.

        Raises:
            ValueError: If the loss is no longer a number.
        """
        start = time.perf_counter()
        if self._can_replay:
            number = min(most, self.config.epochs - self.epoch, REPLAYED)
            if self._captured is None:
                self._captured = CapturedEpochs(self.epochs, REPLAYED)
            rows = self._captured.run(number).tolist()
        else:
            rows = [self.epochs.run(self.epoch).tolist()]
            self._num_warm += 1
            self._take_snapshot()
        self.seconds += time.perf_counter() - start
        return [self._record(dict(zip(COLUMNS, row, strict=True))) for row in rows]

    @property
    def _can_replay(self) -> bool:
        is_small = self.epochs.num_seen_edges <= LARGEST_CAPTURE
        is_plain = self.config.patience is None and self.config.snapshots == 0
        is_warm = self._num_warm >= WARM_EPOCHS
        return self.epochs.can_capture and is_small and is_plain and is_warm

    def _record(self, row: dict[str, float]) -> EpochRecord:
        epoch = self.epoch + 1
        if not math.isfinite(row["loss"]):
            raise ValueError(
                f"Training diverged: the loss is {row['loss']} in epoch {epoch};"
                f" lower `lr` (now {self.config.lr})."
            )
        for share in ("open_share", "kept_share"):
            assert -1e-6 <= row[share] <= 1 + 1e-6, f"{share} is {row[share]}"
        if row.pop("is_best"):
            self.best_epoch = epoch
        if not self.epochs.has_val:
            row |= {"val": None, "val_loss": None}  # type: ignore[dict-item]
        record = EpochRecord(epoch=epoch, seconds=round(self.seconds, 4), **row)
        self.records.append(record)
        return record

    @torch.no_grad()
    def _take_snapshot(self) -> None:
        epoch = self.epoch + 1
        if epoch not in _snapshot_epochs(self.config):
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

    def save(self, path: Path) -> None:
        """Write a checkpoint, making its folder if need be."""
        path.parent.mkdir(parents=True, exist_ok=True)
        epochs = self.epochs
        tensors = {
            **checkpoint.pack("model", self.model.state_dict()),
            **checkpoint.pack("best", epochs.best),
            **checkpoint.pack("adam", checkpoint.optimiser_tensors(epochs.optimiser)),
            **{f"log_alpha.{s.epoch}": s.log_alpha for s in self.snapshots},
            **{f"logits.{s.epoch}": s.logits for s in self.snapshots},
            "best_val": epochs.best_val,
        }
        if epochs.budget is not None:
            tensors["multiplier"] = epochs.budget.multiplier
        if epochs.estimator is not None:
            tensors |= checkpoint.pack("gate_gradient", epochs.estimator.state)
        state = {
            "format": checkpoint.MODEL_FORMAT,
            "data": self.fingerprint,
            "records": [dataclasses.asdict(record) for record in self.records],
            "best_epoch": self.best_epoch,
            "seconds": self.seconds,
            "snapshots": [snapshot.epoch for snapshot in self.snapshots],
        }
        checkpoint.save_tensors(path, tensors, state)

    def restore(self, path: Path) -> None:
        """Go back to a checkpoint.

        Raises:
            ValueError: If the file is damaged or of another version, or the data is not
                what it was.
        """
        tensors, state = checkpoint.load_tensors(path)
        # Files from before there was a number have none.
        written, scorer = state.get("format", 1), self.model_config.scorer
        advice = "start anew without `resume`"
        checkpoint.check_format(written, scorer, path, advice)
        if state["data"] != self.fingerprint:
            raise ValueError(
                f"The data has changed since {path} was written; start a new run."
            )
        epochs = self.epochs
        checkpoint.load_weights(self.model, checkpoint.unpack("model", tensors), path)
        # A file from before a buffer existed lacks it; loading filled it in.
        best = self.model.state_dict() | checkpoint.unpack("best", tensors)
        for name, tensor in best.items():
            epochs.best[name].copy_(tensor)
        checkpoint.restore_optimiser(
            epochs.optimiser, checkpoint.unpack("adam", tensors)
        )
        epochs.best_val.copy_(tensors["best_val"])
        if epochs.budget is not None:
            epochs.budget.multiplier.copy_(tensors["multiplier"])
        if epochs.estimator is not None:
            for name, tensor in checkpoint.unpack("gate_gradient", tensors).items():
                epochs.estimator.state[name].copy_(tensor)
        self.snapshots = [
            Snapshot(epoch, tensors[f"log_alpha.{epoch}"], tensors[f"logits.{epoch}"])
            for epoch in state["snapshots"]
        ]
        self.records = [EpochRecord(**record) for record in state["records"]]
        self.best_epoch = state["best_epoch"]
        self.seconds = state["seconds"]
        epochs.number.fill_(self.epoch)


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


def _snapshot_epochs(config: TrainConfig) -> set[int]:
    """Epochs at which to keep scores, closer together at the start."""
    if config.snapshots <= 0:
        return set()
    if config.snapshots == 1:
        return {config.epochs}
    steps = range(config.snapshots)
    last = config.snapshots - 1
    return {1 + round((config.epochs - 1) * (k / last) ** 1.5) for k in steps}
