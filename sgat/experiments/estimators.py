"""Estimators: how training gets a gradient by the gates, four ways side by side."""

from __future__ import annotations

from sgat.experiments.options import Options
from sgat.experiments.record import Store, Task
from sgat.experiments.settings import settings
from sgat.experiments.text_table import aligned, heading, percent

DATA = {"cora": "Cora", "texas": "Texas"}
ROW = "sgat-2head"
GRADIENTS = {
    "hard_concrete": "hard concrete (the paper)",
    "reinforce": "REINFORCE",
    "gumbel": "Gumbel-softmax, straight-through",
    "rebar": "REBAR",
}


def names() -> list[str]:
    """Rows and data sets that `--only` may name."""
    return [*GRADIENTS, *DATA]


def plan(options: Options, store: Store) -> list[Task]:
    """SGAT with two heads and each estimator, all else the same."""
    return [
        Task(ROW, options.applied(settings(ROW, data, seed=seed).replace(**change)))
        for data in options.chosen(list(DATA))
        for gradient in options.chosen(list(GRADIENTS))
        for change in [{"model": {"gate_gradient": gradient}}]
        for seed in options.seeds
    ]


def text(options: Options, store: Store, *, markdown: bool = False) -> str:
    """Accuracy, removed edges and time of every estimator."""
    columns = ("accuracy (%)", "removed (%)", "sampled (%)", "seconds", "runs")
    table = [["data set", "gradient by the gates", *columns]]
    for data, records in store.by_data(plan(options, store)).items():
        for gradient, name in GRADIENTS.items():
            runs = [
                record
                for record in records
                if record.settings["model"].get("gate_gradient", "hard_concrete")
                == gradient
            ]
            if runs:
                cells = [
                    percent([getattr(record, key) for record in runs])
                    for key in ("test", "removed", "removed_sampled")
                ]
                seconds = f"{sum(r.seconds for r in runs) / len(runs):.1f}"
                table.append([DATA[data], name, *cells, seconds, str(len(runs))])
    what = "Estimators: the gradient by the gates, four ways"
    lines = [*heading(what, markdown=markdown)]
    lines += aligned(table, markdown=markdown, left=(0, 1))
    return "\n".join(lines) + "\n"
