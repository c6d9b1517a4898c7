"""Table 3: disassortative graphs, where neighbours mislead, under two protocols.

Tested by `tests/lab/experiments/test_documented.py`.
"""

from __future__ import annotations

from sgat_lab.tables import method_table
from sgat_lab.tables.method_table import Column
from sgat_lab.trials.options import Options
from sgat_lab.trials.store import Store
from sgat_lab.trials.task import Task

DATA = {
    "actor": "Actor",
    "texas": "Texas",
    "wisconsin": "Wisconsin",
    "cornell": "Cornell",
    "cornell-2020": "Cornell, files until 2022",
}
PROTOCOLS = {
    "random-60-20-20": "random 60/20/20 splits, the paper's protocol",
    "geom-gcn": "the ten fixed splits of Geom-GCN (48/32/20)",
}
ROWS = (
    *("mlp", "gcn", "graphsage", "graphsage-pool", "gat", "gat-1head", "gat-2head"),
    *("gat-2head-top-k-start", "gat-2head-top-k-converged", "residual-gat"),
    *("supergat-mx", "supergat-sd", "dropedge", "bayesian-dropedge", "ptdnet"),
    *("geom-gcn", "geom-gcn-poincare", "geom-gcn-struc2vec"),
    *("neuralsparse", "lagcn", "gcn-random", "gcn-spectral"),
    *(
        "gcn-local-degree",
        "gcn-k-neighbor",
        "gcn-jaccard-share",
        "gcn-jaccard",
        "sgat-1head",
    ),
    "sgat-2head",
    "sgat-paper",
)


def columns(split: str) -> tuple[Column, ...]:
    """The data sets under one protocol."""
    return tuple(Column(data, split, name) for data, name in DATA.items())


def names() -> list[str]:
    """Rows and data sets that `Options.only` may name."""
    return [*ROWS, *DATA]


def plan(options: Options, store: Store) -> list[Task]:
    """The trainings of both tables."""
    tasks = []
    for split in PROTOCOLS:
        tasks += method_table.plan(ROWS, columns(split), options, store)
    return tasks


def text(options: Options, store: Store, *, markdown: bool = False) -> str:
    """Both tables from what is in the store."""
    parts = []
    for split, what in PROTOCOLS.items():
        title = f"Table 3: disassortative graphs, {what}"
        found = columns(split)
        parts.append(
            method_table.render(title, ROWS, found, options, store, markdown=markdown)
        )
        lines = method_table.paired(
            "sgat-2head", "mlp", found, options, store, markdown=markdown
        )
        parts.append("\n".join(lines))
    parts.append(f"{method_table.ARCHITECTURES}\n")
    return "\n".join(part for part in parts if part)
