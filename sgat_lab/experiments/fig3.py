"""Figure 3: the karate club over the epochs of training.

Tested by `tests/lab/experiments/test_documented.py`.
"""

from __future__ import annotations

from pathlib import Path

import torch

from sgat.config import find_config
from sgat.data import load
from sgat.gates import HardConcrete
from sgat.training.result import Snapshot
from sgat_lab.config import LabConfig
from sgat_lab.tables.cells import heading
from sgat_lab.tables.evolution_picture import draw_evolution
from sgat_lab.tables.published import FIGURES
from sgat_lab.trials.options import Options
from sgat_lab.trials.store import Store
from sgat_lab.trials.task import Task


def names() -> list[str]:
    """Rows and data sets that `Options.only` may name."""
    return ["karate"]


def plan(options: Options, store: Store) -> list[Task]:
    """SGAT with the tuned settings, for every seed."""
    config = options.applied(LabConfig.from_config(find_config("tuned/karate")))
    return [
        Task("sgat-karate", config.replace(train={"seed": seed}), probe="evolution")
        for seed in options.seeds
    ]


def text(options: Options, store: Store, *, markdown: bool = False) -> str:
    """Number of the 32 members without a label that each run got right."""
    records = [record for task in plan(options, store) if (record := store.find(task))]
    right = ", ".join(str(round(32 * record.test)) for record in records)
    removed = ", ".join(f"{record.removed:.1%}" for record in records)
    lines = [
        *heading("Figure 3: the karate club", markdown=markdown),
        f"Right of 32, by seed: {right}.",
        "",
        f"Edges removed: {removed}.",
        "",
        FIGURES["karate"],
    ]
    return "\n".join(lines) + "\n"


def draw(options: Options, store: Store, path: Path) -> None:
    """The graph of the first seed there is, at six epochs."""
    record = next(r for task in plan(options, store) if (r := store.find(task)))
    (data,) = load("karate")
    found = record.extra
    classes = torch.eye(len(data.classes))
    snapshots = [
        Snapshot(epoch, torch.tensor(log_alpha), classes[torch.tensor(predicted)])
        for epoch, log_alpha, predicted in zip(
            found["epochs"], found["log_alpha"], found["predicted"], strict=True
        )
    ]
    model = find_config("tuned/karate").model
    gates = HardConcrete(model.temperature, model.gamma, model.zeta)
    draw_evolution(data, snapshots, gates, path)
