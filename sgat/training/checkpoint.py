"""Checkpoints: the state of a training, from which it goes on to the same bits."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypedDict

import torch
from torch import Tensor

from sgat.models import SGAT
from sgat.training import files
from sgat.training.epoch import Epochs
from sgat.training.fresh_model import judge_anew
from sgat.training.patience import Patience
from sgat.training.result import EpochRecord, Snapshot

if TYPE_CHECKING:
    from sgat.training.loop import Training


class State(TypedDict):
    """What the file of a checkpoint holds besides tensors."""

    format: int
    data: str
    records: list[EpochRecord]
    best_epoch: int
    seconds: float
    snapshots: list[int]


class Progress(NamedTuple):
    """How far a training is."""

    tensors: dict[str, Tensor]
    records: list[EpochRecord]
    best_epoch: int
    seconds: float
    snapshots: list[Snapshot]


def progress(training: Training) -> Progress:
    """How far a training is; its tensors change when it goes on."""
    tensors = {
        **files.pack("model", training.model.state_dict()),
        **files.pack("adam", files.optimiser_tensors(training.epochs.optimiser)),
        **training.epochs.state,
    }
    numbers = training.records, training.best_epoch, training.seconds
    return Progress(tensors, *numbers, training.snapshots)


def held(training: Training) -> Progress:
    """How far a training is, for another one on the same data to `go_on` from."""
    now = progress(training)
    tensors = {name: tensor.clone() for name, tensor in now.tensors.items()}
    return now._replace(tensors=tensors)


def go_on(training: Training, before: Progress) -> None:
    """Bring a training as far as another one of these settings was."""
    tensors, epochs = before.tensors, training.epochs
    training.model.load_state_dict(files.unpack("model", tensors))
    files.restore_optimiser(epochs.optimiser, files.unpack("adam", tensors))
    for name, tensor in epochs.state.items():
        tensor.copy_(tensors[name])
    training.records = list(before.records)
    training.patience = Patience(training.config, training.patience.num_val)
    for record in training.records:
        training.patience.see(record)
    training.best_epoch, training.seconds = before.best_epoch, before.seconds
    training.snapshots = list(before.snapshots)
    epochs.number.fill_(training.epoch)


def save(training: Training, path: Path) -> None:
    """Write a checkpoint; an error if its folder is gone."""
    now = progress(training)
    tensors = now.tensors | {
        **{f"log_alpha.{s.epoch}": s.log_alpha for s in now.snapshots},
        **{f"logits.{s.epoch}": s.logits for s in now.snapshots},
    }
    state = {
        "format": files.MODEL_FORMAT,
        "data": training.fingerprint,
        "records": [dataclasses.asdict(record) for record in now.records],
        "best_epoch": now.best_epoch,
        "seconds": now.seconds,
        "snapshots": [snapshot.epoch for snapshot in now.snapshots],
    }
    files.save_tensors(path, tensors, state)


def restore(training: Training, path: Path) -> None:
    """Go back to a checkpoint."""
    state = files.load_state(path)
    files.check_format(state.get("format"), path, "start anew without `resume`")
    state = files.parsed(state, State, path)
    records = state["records"]
    if not 0 <= state["best_epoch"] <= len(records) or any(
        record.epoch != number for number, record in enumerate(records, 1)
    ):
        raise ValueError(f"{path} is damaged: its epochs do not fit together.")
    if state["data"] != training.fingerprint:
        raise ValueError(
            f"The data has changed since {path} was written; start a new run."
        )
    first, epochs = training.graphs[0], training.epochs
    edges = torch.empty(first.graph.num_edges, device="meta")
    nodes = torch.empty(first.num_nodes, first.num_classes, device="meta")
    like = {**files.pack("model", training.model.state_dict()), **epochs.state}
    like |= {f"log_alpha.{epoch}": edges for epoch in state["snapshots"]}
    like |= {f"logits.{epoch}": nodes for epoch in state["snapshots"]}
    moments = files.optimiser_shapes(epochs.optimiser)
    tensors, _ = files.load_tensors(path, like, moments)
    finite = {name: value for name, value in tensors.items() if name != "best_val"}
    files.check_finite(finite, path)
    _load(training, files.unpack("model", tensors), path)
    snapshots = [
        Snapshot(epoch, tensors[f"log_alpha.{epoch}"], tensors[f"logits.{epoch}"])
        for epoch in state["snapshots"]
    ]
    numbers = records, state["best_epoch"], state["seconds"]
    go_on(training, Progress(tensors, *numbers, snapshots))


def _load(training: Training, weights: dict[str, Tensor], path: Path) -> None:
    """Load weights; judge and scale anew if it was not fitted so here.

    Another machine may have rounded otherwise.
    """
    model = training.model
    before = {
        name: value.clone()
        for name, value in model.state_dict().items()
        if name.startswith(("scaling.", "judge."))
    }
    files.load_weights(model, weights, path)
    now = model.state_dict()
    is_same = all(torch.equal(now[name], value) for name, value in before.items())
    if isinstance(model, SGAT) and not is_same:
        training.graphs = [judge_anew(model, data) for data in training.graphs]
        given = training.graphs, training.config, training.ranks
        training.epochs = Epochs(model, *given)
