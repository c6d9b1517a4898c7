"""Trials: train as a task says, look at the test nodes once, and write it down."""

from __future__ import annotations

import dataclasses
import json
import subprocess
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from torch import Tensor

import sgat
import sgat_lab
from sgat.data.configured import load_configured
from sgat.data.node_data import NodeData
from sgat.data.synthetic import inject
from sgat.runs.provenance import device_name, versions
from sgat.training.result import Result
from sgat_lab.baselines import fit, prepare
from sgat_lab.config import LabConfig, MadeDataConfig
from sgat_lab.synthetic.block_models import BLOCK_MODELS, block_model
from sgat_lab.synthetic.stand_ins import STAND_INS
from sgat_lab.trials.best_possible import BEST_POSSIBLE, judged_best
from sgat_lab.trials.evaluation import evaluate
from sgat_lab.trials.probes import PROBES, Trained
from sgat_lab.trials.record import Record
from sgat_lab.trials.task import Task, differences

MOST_KEPT = 4
"""Data sets, with the split of a seed, that are kept for the next tasks."""


class TaskData(NamedTuple):
    """The data of a task.

    Attributes:
        graphs: The graphs, with the edges that were added.
        added: Which edges were added or planted, [E] for each graph; None for none.
    """

    graphs: list[NodeData]
    added: list[Tensor] | None


class Trials:
    """Trains one task after the other, and keeps the data of the last few.

    Args:
        root: Folder of the named data sets.
        device: Where to train.
    """

    def __init__(self, *, root: str | None = None, device: str = "auto") -> None:
        self.root, self.device = root, device
        self._known: dict[tuple[str, int], TaskData] = {}

    @cached_property
    def commit(self) -> str:
        """The commit of the source, looked up once."""
        return source_commit()

    def run(self, task: Task) -> Record:
        """Train and judge one task.

        Raises:
            ValueError: If data or settings are bad, or there are no test nodes.
        """
        config = task.config.replace(train={"device": self.device})
        if task.row == BEST_POSSIBLE:
            return self._judged_best(task, config)
        given, added = noisy(self._loaded(config), task)
        graphs, result = train(task.prepared(given), config)
        if result.interrupted:
            raise KeyboardInterrupt
        val, test = evaluate(result.model, result.graphs, ["val", "test"])
        if test is None:
            raise ValueError(f"{config.data.name!r} has no test nodes to judge by.")
        edges = sum(data.graph.num_edges for data in given)
        # What preparing removed counts as removed, too.
        left = sum(data.graph.num_edges for data in graphs) / max(edges, 1)
        probe = PROBES[task.probe] if task.probe else None
        return self._written(
            task,
            config,
            test=test.score,
            val=None if val is None else val.score,
            removed=1 - left * result.best.kept_share,
            removed_sampled=1 - left * result.best.open_share,
            edges=edges,
            best_epoch=result.best_epoch,
            epochs=len(result.records),
            seconds=result.records[-1].seconds,
            parameters=sum(p.numel() for p in result.model.parameters()),
            extra=probe(Trained(result, result.graphs, given, added)) if probe else {},
        )

    def _judged_best(self, task: Task, config: LabConfig) -> Record:
        """The verdict of the best judge of a block model; nothing is trained."""
        assert config.data.name in BLOCK_MODELS, "other graphs were not made here"
        found = judged_best(config.data.name, config.train.seed, **config.data.options)
        return self._written(
            task,
            config.replace(train={"device": "cpu"}),
            removed_sampled=found["removed"],
            best_epoch=found["epochs"],
            parameters=0,
            **found,
        )

    def _written(self, task: Task, config: LabConfig, **found: Any) -> Record:
        """A record of what was found, with what was asked for and the circumstances."""
        return Record(
            key=task.key,
            row=task.row,
            data=config.data.name or "",
            split=config.data.split or "",
            seed=config.train.seed,
            noise=task.noise,
            probe=task.probe,
            **found,
            settings=differences(config),
            device=device_name(config.train.device),
            date=datetime.now(UTC).isoformat(timespec="seconds"),
            commit=self.commit,
            versions=versions(),
        )

    def _loaded(self, config: LabConfig) -> TaskData:
        data, seed = config.data, config.train.seed
        key = json.dumps(dataclasses.asdict(data), sort_keys=True), seed
        if key not in self._known:
            while len(self._known) >= MOST_KEPT:
                self._known.pop(next(iter(self._known)))
            self._known[key] = load(data, seed, self.root)
        return self._known[key]


def train(graphs: list[NodeData], config: LabConfig) -> tuple[list[NodeData], Result]:
    """Prepare the data as the method does, and train; returns both."""
    graphs = prepare(graphs, config.model, config.train.seed)
    return graphs, fit(graphs, config.model, config.train)


def load(data: MadeDataConfig, seed: int, root: str | None = None) -> TaskData:
    """A data set, files, or a graph that is made here, with the split of a seed."""
    if data.name in STAND_INS:
        return TaskData(STAND_INS[data.name](seed), None)
    if data.name in BLOCK_MODELS:
        made = block_model(data.name, seed, **data.options)
        return TaskData([made.data], [~made.is_signal])
    return TaskData(load_configured(data, root=root, seed=seed).graphs, None)


def noisy(given: TaskData, task: Task) -> TaskData:
    """The data with the edges that the task adds."""
    if task.noise is None:
        return given
    kind, rate = task.noise
    seed = task.config.train.seed
    made = [inject(each, kind, rate, seed) for each in given.graphs]  # type: ignore[arg-type]
    return TaskData([each.data for each in made], [each.added for each in made])


def source_commit() -> str:
    """The commit of the source tree, with "+" if files differ; empty if unknown.

    A package that was installed into some other repository has no commit.
    """
    folders = [str(Path(package.__file__ or "").parent) for package in (sgat, sgat_lab)]

    def git(*arguments: str) -> str:
        call = ["git", "-C", folders[0], *arguments]
        done = subprocess.run(call, capture_output=True, text=True, check=False)
        return done.stdout.strip()

    try:
        if not git("ls-files", "--", *folders):
            return ""
        commit = git("rev-parse", "--short", "HEAD")
        return commit + ("+" if git("status", "--porcelain", "--", *folders) else "")
    except OSError:
        return ""
