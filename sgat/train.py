"""fit() and Result: the one training loop."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import math
import signal
import threading
import time
import types
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from sgat import checkpoint
from sgat.budget import EdgeBudget, bias_shift
from sgat.config import ModelConfig, TrainConfig
from sgat.data.node_data import (
    NodeData,
    check,
    fingerprint,
    merge,
    name_in_noise,
)
from sgat.evaluate import evaluate, loss_on
from sgat.models import SGAT
from sgat.ops import noise

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)
"""Signals that end training after the epoch under way."""


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
        records: One record per epoch.
        best_epoch: The epoch the model was taken from, from 1.
        snapshots: What the first graph looked like at some epochs.
        interrupted: Whether training was stopped before its end and can be resumed.
    """

    model: SGAT
    records: list[EpochRecord]
    best_epoch: int
    snapshots: list[Snapshot]
    interrupted: bool = False

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
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, NotImplementedError):
        raise ValueError(
            f"`device` must be one that works here, got {name!r}; try cpu."
        ) from None
    return device


def _fresh_model(
    model: ModelConfig, graphs: Sequence[NodeData], train: TrainConfig
) -> SGAT:
    first = graphs[0]
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
    fresh = SGAT.from_config(
        model, first.num_features, first.num_classes, first.graph.num_edges
    )
    fresh.reset_parameters(torch.Generator().manual_seed(train.seed))
    return fresh


class Training:
    """The state of a training run: everything that a checkpoint must hold.

    All noise of an epoch comes from (seed, epoch), so a restored run goes on exactly as
    the interrupted one would have.
    """

    def __init__(
        self, graphs: Sequence[NodeData], model: ModelConfig, train: TrainConfig
    ) -> None:
        """Check the data, build the model and its optimiser."""
        check(graphs)
        self.config = train
        self.device = chosen_device(train.device)
        self.graphs = [data.to(self.device) for data in name_in_noise(graphs)]
        self.model = _fresh_model(model, graphs, train)
        self.model.to(self.device)
        self.budget = (
            None
            if train.keep is None
            else EdgeBudget(train.keep, warmup=train.warmup_epochs)
        )
        self.optimiser = self._optimiser()
        self.records: list[EpochRecord] = []
        self.best_epoch = 0
        self.best_val = -math.inf
        self.best_weights: dict[str, Tensor] = {}
        self.snapshots: list[Snapshot] = []
        self.seconds = 0.0
        self._all_in_one: NodeData | None = None

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
        with _stop_requests() as stop:
            while not (self.is_done or stop.requested):
                record = self.run_epoch()
                due = self.epoch % self.config.checkpoint_every == 0
                due = due or self.is_done or stop.requested
                if checkpoint_path is not None and due:
                    self.save(checkpoint_path)
                if on_epoch is not None:
                    on_epoch(record)
        return Result(
            model=self.selected_model(),
            records=self.records,
            best_epoch=self.best_epoch,
            snapshots=self.snapshots,
            interrupted=not self.is_done,
        )

    def run_epoch(self) -> EpochRecord:
        """Train on every training graph once, evaluate, and keep the best weights."""
        start = time.perf_counter()
        self.model.train()
        steps = [self._step(*batch) for batch in enumerate(self._batches())]
        record = self._evaluated(steps, start)
        self.records.append(record)
        return record

    def selected_model(self) -> SGAT:
        """A copy of the model with the selected weights, in evaluation mode."""
        model = copy.deepcopy(self.model)
        # Stopped before any epoch was a candidate: the model as it is.
        model.load_state_dict(self.best_weights or self.model.state_dict())
        return model.eval()

    def save(self, path: Path) -> None:
        """Write a checkpoint, making its folder if need be."""
        path.parent.mkdir(parents=True, exist_ok=True)
        tensors = {
            **checkpoint.pack("model", self.model.state_dict()),
            **checkpoint.pack("best", self.best_weights),
            **checkpoint.pack("adam", checkpoint.optimiser_tensors(self.optimiser)),
            **{f"log_alpha.{s.epoch}": s.log_alpha for s in self.snapshots},
            **{f"logits.{s.epoch}": s.logits for s in self.snapshots},
        }
        state = {
            "data": self.fingerprint,
            "records": [dataclasses.asdict(record) for record in self.records],
            "best_epoch": self.best_epoch,
            "best_val": self.best_val if self.best_epoch else None,
            "multiplier": None if self.budget is None else self.budget.multiplier,
            "seconds": self.seconds,
            "snapshots": [snapshot.epoch for snapshot in self.snapshots],
        }
        checkpoint.save_tensors(path, tensors, state)

    def restore(self, path: Path) -> None:
        """Go back to a checkpoint.

        Raises:
            ValueError: If the file is damaged, or the data is not what it was.
        """
        tensors, state = checkpoint.load_tensors(path)
        if state["data"] != self.fingerprint:
            raise ValueError(
                f"The data has changed since {path} was written; start a new run."
            )
        checkpoint.load_weights(self.model, checkpoint.unpack("model", tensors), path)
        self.best_weights = checkpoint.unpack("best", tensors)
        checkpoint.restore_optimiser(self.optimiser, checkpoint.unpack("adam", tensors))
        self.snapshots = [
            Snapshot(epoch, tensors[f"log_alpha.{epoch}"], tensors[f"logits.{epoch}"])
            for epoch in state["snapshots"]
        ]
        self.records = [EpochRecord(**record) for record in state["records"]]
        self.best_epoch = state["best_epoch"]
        self.best_val = -math.inf if state["best_val"] is None else state["best_val"]
        if self.budget is not None:
            self.budget.multiplier = state["multiplier"]
        self.seconds = state["seconds"]

    def _optimiser(self) -> torch.optim.Adam:
        gating = self.model.gating
        decay, lr = self.config.weight_decay, self.config.lr
        if self.budget is None:
            return torch.optim.Adam(self.model.parameters(), lr, weight_decay=decay)
        # The budget moves the bias itself, and sets the level of the scores, which L2
        # would pull back to 0.
        assert gating.scorer is not None and gating.gate_bias is not None
        scorer = list(gating.scorer.parameters())
        apart = {id(parameter) for parameter in [*scorer, gating.gate_bias]}
        rest = [p for p in self.model.parameters() if id(p) not in apart]
        groups: list[dict[str, Any]] = [
            {"params": rest, "weight_decay": decay},
            {"params": scorer, "weight_decay": 0.0},
        ]
        return torch.optim.Adam(groups, lr)

    def _batches(self) -> list[NodeData]:
        training = [data for data in self.graphs if bool(data.train.any())]
        if len(training) == 1:
            return training
        size = self.config.batch_size
        if size is None or size >= len(training):
            if self._all_in_one is None:
                self._all_in_one = merge(training)
            return [self._all_in_one]
        seed = noise.derive(self.config.seed, self.epoch, 1)
        order = torch.randperm(
            len(training), generator=torch.Generator().manual_seed(seed)
        ).tolist()
        starts = range(0, len(order), size)
        return [merge([training[i] for i in order[k : k + size]]) for k in starts]

    def _step(self, number: int, batch: NodeData) -> dict[str, float]:
        seed = noise.derive(self.config.seed, self.epoch, 0, number)
        self.optimiser.zero_grad()
        output = self.model.compute(batch.x, batch.graph, seed=seed)
        data_loss = loss_on(output.logits[batch.train], batch.y[batch.train])
        num_edges = max(batch.graph.num_edges, 1)
        share = output.opened.penalty / num_edges
        if self.budget is None or batch.graph.num_edges == 0:
            price = self._l0_weight()
            loss = data_loss + price * output.opened.penalty
            loss.backward()
            self.optimiser.step()
        else:
            bias = self.model.gating.gate_bias
            assert bias is not None
            price = self.budget.multiplier / num_edges
            loss = data_loss + self.budget.multiplier * share
            slope = self.budget.backward(data_loss, share, bias)
            self.optimiser.step()
            target = self.budget.target(self.epoch)
            self.budget.step(bias, share.item(), target, slope)
        if not math.isfinite(loss.item()):
            raise ValueError(
                f"Training diverged: the loss is {loss.item()} in epoch"
                f" {self.epoch + 1}; lower `lr` (now {self.config.lr})."
            )
        return {
            "loss": loss.item(),
            "data_loss": data_loss.item(),
            "open_share": output.opened.num_open / num_edges,
            "expected_open": share.item(),
            "price": price,
        }

    def _l0_weight(self) -> float:
        warmup = self.config.warmup_epochs
        ramp = min(1.0, (self.epoch + 1) / (warmup + 1))
        return self.config.l0_weight * ramp

    @torch.no_grad()
    def _evaluated(self, steps: list[dict[str, float]], start: float) -> EpochRecord:
        self.model.eval()
        bias = self.model.gating.gate_bias
        training_bias = None if bias is None else bias.clone()
        log_alpha = self._log_alpha()
        gates = self.model.gating.gates
        if self.budget is not None and bias is not None:
            # Drawn gates meet the budget on average; evaluation gates meet it exactly.
            shift = bias_shift(log_alpha, self.budget.target(self.epoch), gates)
            bias.add_(shift)
            log_alpha = log_alpha + shift
        kept = gates.is_kept(log_alpha)
        train, val = evaluate(self.model, self.graphs, ("train", "val"))
        mean = {key: sum(step[key] for step in steps) / len(steps) for key in steps[0]}
        self._select(None if val is None else val.score)
        if (self.epoch + 1) in _snapshot_epochs(self.config):
            first = self.graphs[0]
            scores = log_alpha[: first.graph.num_edges].cpu()
            logits = self.model(first.x, first.graph).cpu()
            self.snapshots.append(Snapshot(self.epoch + 1, scores, logits))
        if bias is not None and training_bias is not None:
            bias.copy_(training_bias)
        self.seconds += time.perf_counter() - start
        return EpochRecord(
            epoch=self.epoch + 1,
            loss=mean["loss"],
            data_loss=mean["data_loss"],
            open_share=mean["open_share"],
            expected_open=mean["expected_open"],
            kept_share=float(kept.double().mean()) if len(kept) else 0.0,
            train=train.score if train else math.nan,
            val=val.score if val else None,
            val_loss=val.loss if val else None,
            price=mean["price"],
            seconds=round(self.seconds, 4),
        )

    def _log_alpha(self) -> Tensor:
        return torch.cat(
            [self.model.log_alpha(data.x, data.graph) for data in self.graphs]
        )

    def _select(self, val: float | None) -> None:
        budget = self.budget
        reached = budget is None or budget.target(self.epoch) == budget.keep
        last = self.config.select == "last" or val is None
        if val is None or last:
            better = True
        elif self.config.ties == "latest":
            better = val >= self.best_val
        else:
            better = val > self.best_val
        # A model that has not come down to the budget yet is no candidate.
        if better and (reached or last):
            self.best_epoch = self.epoch + 1
            self.best_val = -math.inf if val is None else val
            self.best_weights = {
                name: tensor.clone() for name, tensor in self.model.state_dict().items()
            }


def fit(
    graphs: Sequence[NodeData],
    model: ModelConfig | None = None,
    train: TrainConfig | None = None,
    *,
    checkpoint_path: Path | None = None,
    resume: bool = False,
    on_epoch: Callable[[EpochRecord], None] | None = None,
) -> Result:
    """Train an SGAT on one graph, or on several.

    Ctrl-C (or SIGTERM) stops after the epoch under way, with a checkpoint if there is a
    path for one; the result then says `interrupted`, and the same call with
    `resume=True` goes on to the same bits. A second Ctrl-C stops at once.

    Args:
        graphs: The data; every graph may have training, validation and test nodes.
        model: Shape of the network.
        train: How to train.
        checkpoint_path: Where to save the state of training every so often.
        resume: Continue from the checkpoint, if there is one.
        on_epoch: Called with the record of each epoch, restored ones included.

    Returns:
        The selected model and the records.

    Raises:
        ValueError: If the data or the settings cannot be trained with.
    """
    training = Training(graphs, model or ModelConfig(), train or TrainConfig())
    return training.run(
        checkpoint_path=checkpoint_path, resume=resume, on_epoch=on_epoch
    )


class _StopRequest:
    requested = False


@contextlib.contextmanager
def _stop_requests() -> Iterator[_StopRequest]:
    """Turn the first SIGINT or SIGTERM into a request, so that no epoch is cut off."""
    stop = _StopRequest()
    if threading.current_thread() is not threading.main_thread():
        # Only the main thread can handle signals; elsewhere they keep their meaning.
        yield stop
        return
    before = {number: signal.getsignal(number) for number in STOP_SIGNALS}

    def request(number: int, frame: types.FrameType | None) -> None:
        stop.requested = True
        for each, handler in before.items():
            signal.signal(each, handler)

    try:
        for number in STOP_SIGNALS:
            signal.signal(number, request)
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _snapshot_epochs(config: TrainConfig) -> set[int]:
    """Epochs at which to keep scores, closer together at the start."""
    if config.snapshots <= 0:
        return set()
    if config.snapshots == 1:
        return {config.epochs}
    steps = range(config.snapshots)
    last = config.snapshots - 1
    return {1 + round((config.epochs - 1) * (k / last) ** 1.5) for k in steps}
