"""run(): train as a task says, look at the test nodes once, and write it down."""

from __future__ import annotations

import dataclasses
import functools
import json
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from torch import Tensor

import sgat
from sgat.config import DataConfig
from sgat.data.configured import load_configured
from sgat.data.node_data import NodeData
from sgat.data.synthetic import inject
from sgat.runs.provenance import device_name, versions
from sgat.training.evaluate import evaluate
from sgat.training.loop import chosen_device
from sgat.training.result import Result
from sgat_lab.baselines import fit, prepare
from sgat_lab.config import LabConfig
from sgat_lab.synthetic.block_models import BLOCK_MODELS, block_model
from sgat_lab.synthetic.block_posterior import BEST_POSSIBLE, judged_best
from sgat_lab.synthetic.stand_ins import STAND_INS
from sgat_lab.trials.probes import PROBES, Trained
from sgat_lab.trials.record import Record, Task, differences


def run(task: Task, *, root: str | None = None, device: str = "auto") -> Record:
    """Train and judge one task.

    Args:
        task: What to train, on what, with which seed.
        root: Folder of the named data sets.
        device: Where to train.

    Raises:
        ValueError: If data or settings are bad, or there are no test nodes.
    """
    config = task.config.replace(train={"device": device})
    if task.row == BEST_POSSIBLE:
        return _judged_best(task, config)
    given, added = noisy(_loaded(_text(config.data), config.train.seed, root), task)
    graphs, result = train(task.prepared(given), config)
    if result.interrupted:
        raise KeyboardInterrupt
    on_device = [data.to(chosen_device(device)) for data in graphs]
    val, test = evaluate(result.model, on_device, ["val", "test"])
    if test is None:
        raise ValueError(f"{config.data.name!r} has no test nodes to judge by.")
    edges = sum(data.graph.num_edges for data in given)
    # What preparing removed counts as removed, too.
    left = sum(data.graph.num_edges for data in graphs) / max(edges, 1)
    probe = PROBES[task.probe] if task.probe else None
    return _written(
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
        extra={} if probe is None else probe(Trained(result, on_device, given, added)),
    )


def _judged_best(task: Task, config: LabConfig) -> Record:
    """What the best judge of a block model makes of it; nothing is trained."""
    assert config.data.name in BLOCK_MODELS, "nobody knows how other graphs were made"
    found = judged_best(config.data.name, config.train.seed, **config.data.options)
    return _written(
        task,
        config.replace(train={"device": "cpu"}),
        removed_sampled=found["removed"],
        best_epoch=found["epochs"],
        parameters=0,
        **found,
    )


def _written(task: Task, config: LabConfig, **found: Any) -> Record:
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
        commit=source_commit(),
        versions=versions(),
    )


def train(graphs: list[NodeData], config: LabConfig) -> tuple[list[NodeData], Result]:
    """Prepare the data as the method does, and train; returns both."""
    graphs = prepare(graphs, config.model, config.train.seed)
    return graphs, fit(graphs, config.model, config.train)


def noisy(
    graphs: list[NodeData], task: Task
) -> tuple[list[NodeData], list[Tensor] | None]:
    """The graphs with the edges that the task adds, and which edges those are.

    A block model has planted edges already; those count as added.
    """
    data, seed = task.config.data, task.config.train.seed
    if task.noise is None and data.name in BLOCK_MODELS:
        return graphs, [~block_model(data.name, seed, **data.options).is_signal]
    if task.noise is None:
        return graphs, None
    kind, rate = task.noise
    made = [inject(each, kind, rate, seed) for each in graphs]  # type: ignore[arg-type]
    return [each.data for each in made], [each.added for each in made]


@functools.lru_cache(maxsize=4)
def _loaded(data: str, seed: int, root: str | None) -> list[NodeData]:
    config = DataConfig(**json.loads(data))
    if config.name in STAND_INS:
        return STAND_INS[config.name](seed)
    if config.name in BLOCK_MODELS:
        return [block_model(config.name, seed, **config.options).data]
    return load_configured(config, root=root, seed=seed).graphs


def _text(data: DataConfig) -> str:
    return json.dumps(dataclasses.asdict(data), sort_keys=True)


@functools.cache
def source_commit() -> str:
    """The commit of the source tree, with "+" if files differ; empty if unknown.

    A package that was installed into some other repository has no commit.
    """
    folder = Path(sgat.__file__).parent

    def git(*arguments: str) -> str:
        call = ["git", "-C", str(folder), *arguments]
        done = subprocess.run(call, capture_output=True, text=True, check=False)
        return done.stdout.strip()

    try:
        if not git("ls-files", "--", str(folder)):
            return ""
        commit = git("rev-parse", "--short", "HEAD")
        return commit + ("+" if git("status", "--porcelain", "--", str(folder)) else "")
    except OSError:
        return ""
