"""Estimators: how training gets a gradient by the gates, five ways side by side."""

from __future__ import annotations

import itertools

from sgat_lab.config import LabConfig
from sgat_lab.tables.cells import heading, percent
from sgat_lab.tables.method_table import NOT_RUN
from sgat_lab.tables.text_table import aligned
from sgat_lab.trials.options import Options
from sgat_lab.trials.record import Record
from sgat_lab.trials.row_settings import settings
from sgat_lab.trials.store import Store
from sgat_lab.trials.task import Task

DATA = {"cora": "Cora", "texas": "Texas"}
ROW = "sgat-2head"
GRADIENTS = {
    "hard_concrete": "hard concrete (the paper)",
    "reinforce": "REINFORCE",
    "gumbel": "Gumbel-softmax, straight-through",
    "rebar": "REBAR",
    "relax": "RELAX",
}
SHARES = {None: "by the price λ", 0.5: "half of the edges"}
"""The edges to keep: whatever λ leaves open, or a share."""


def names() -> list[str]:
    """Rows and data sets that `Options.only` may name."""
    return [*GRADIENTS, *DATA]


def plan(options: Options, store: Store) -> list[Task]:
    """SGAT with two heads and each estimator, all else the same."""
    return [
        _task(data, keep, gradient, seed, options)
        for data in options.chosen(list(DATA))
        for keep in SHARES
        for gradient in options.chosen(list(GRADIENTS))
        for seed in options.seeds
    ]


def _task(
    data: str, keep: float | None, gradient: str, seed: int, options: Options
) -> Task:
    config = settings(ROW, data, seed=seed).replace(
        model={"gate_gradient": gradient}, train={"keep": keep}
    )
    return Task(ROW, options.applied(config))


def text(options: Options, store: Store, *, markdown: bool = False) -> str:
    """Accuracy, removed edges and time of every estimator."""
    columns = ("accuracy (%)", "removed (%)", "sampled (%)", "seconds", "runs")
    table = [["data set", "kept", "gradient by the gates", *columns]]
    gradients = options.chosen(list(GRADIENTS))
    for data, records in store.by_data(plan(options, store)).items():
        groups = _groups(records)
        for keep, gradient in itertools.product(SHARES, gradients):
            names = (DATA[data], SHARES[keep], GRADIENTS[gradient])
            table.append([*names, *_cells(groups.get((keep, gradient), []))])
    what = "Estimators: the gradient by the gates, five ways"
    lines = [*heading(what, markdown=markdown)]
    lines += aligned(table, markdown=markdown, left=(0, 1, 2))
    return "\n".join(lines) + "\n"


def _cells(runs: list[Record]) -> list[str]:
    if not runs:
        return [NOT_RUN, "", "", "", "0"]
    keys = ("test", "removed", "removed_sampled")
    cells = [percent([getattr(record, key) for record in runs]) for key in keys]
    seconds = sum(record.seconds for record in runs) / len(runs)
    return [*cells, f"{seconds:.1f}", str(len(runs))]


def _groups(records: list[Record]) -> dict[tuple[float | None, str], list[Record]]:
    """Records by the share to keep and the estimator, in the order planned."""
    found: dict[tuple[float | None, str], list[Record]] = {}
    for record in records:
        config = LabConfig.from_dict(record.settings)
        key = config.train.keep, config.model.gate_gradient
        found.setdefault(key, []).append(record)
    return found
