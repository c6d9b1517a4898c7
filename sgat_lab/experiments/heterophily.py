"""Heterophily: graphs whose neighbours mislead, and what each method makes of them."""

from __future__ import annotations

from sgat_lab.experiments import table3
from sgat_lab.tables import method_table
from sgat_lab.trials.options import Options
from sgat_lab.trials.store import Store
from sgat_lab.trials.task import Task

ROWS = (
    *("mlp", "gcn", "gat", "gat-2head", "residual-gat", "gcn-jaccard", "supergat-mx"),
    *("ptdnet", "sgat-2head", "sgat-recommended"),
)
AGAINST = ("mlp", "gat", "gat-2head")
"""Rows that the recommended settings are compared with, seed by seed."""


def names() -> list[str]:
    """Rows and data sets that `Options.only` may name."""
    return [*ROWS, *table3.DATA]


def plan(options: Options, store: Store) -> list[Task]:
    """The trainings of both protocols."""
    tasks = []
    for split in table3.PROTOCOLS:
        tasks += method_table.plan(ROWS, table3.columns(split), options, store)
    return tasks


def text(options: Options, store: Store, *, markdown: bool = False) -> str:
    """Scores under both protocols, and the recommended settings less others."""
    parts = []
    for split, what in table3.PROTOCOLS.items():
        columns = table3.columns(split)
        parts.append(
            method_table.render(
                f"Heterophily: {what}", ROWS, columns, options, store, markdown=markdown
            )
        )
        for other in AGAINST:
            lines = method_table.paired(
                ROWS[-1], other, columns, options, store, markdown=markdown
            )
            parts.append("\n".join(lines))
    return "\n".join(part for part in parts if part)
