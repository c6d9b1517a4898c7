"""Table 2: assortative graphs, where neighbours tend to be of one class.

Tested by `tests/lab/experiments/test_documented.py`.
"""

from __future__ import annotations

from sgat_lab.tables import method_table
from sgat_lab.tables.method_table import Column
from sgat_lab.trials.options import Options
from sgat_lab.trials.store import Store
from sgat_lab.trials.task import Task

INDUCTIVE = ("mlp", "gcn", "graphsage", "gat-2head", "sgat-1head", "sgat-2head")
"""Rows of graphs not seen in training, and of graphs too large for the others."""
COLUMNS = (
    Column("cora", None, "Cora"),
    Column("citeseer", None, "Citeseer"),
    Column("pubmed", None, "Pubmed"),
    Column("computers", None, "Computers"),
    Column("photo", None, "Photo"),
    Column("ppi", None, "PPI", ()),
    Column("reddit", None, "Reddit", ()),
    Column("twitch", None, "Twitch, in place of PPI", INDUCTIVE),
    Column("ppi-shaped", None, "PPI-shaped, made", INDUCTIVE),
    Column("reddit-shaped", None, "Reddit-shaped, made", INDUCTIVE),
)
ROWS = (
    *("mlp", "gcn", "graphsage", "graphsage-pool", "gat", "gat-1head", "gat-2head"),
    *("gat-2head-top-k-start", "gat-2head-top-k-converged", "supergat-mx"),
    *("supergat-sd", "dropedge", "bayesian-dropedge", "ptdnet", "neuralsparse"),
    *("lagcn", "gcn-random", "gcn-spectral", "gcn-local-degree", "gcn-k-neighbor"),
    *("gcn-jaccard-share", "gcn-jaccard", "sgat-1head", "sgat-2head"),
    "sgat-paper",
)
NOT_THE_BENCHMARK = (
    "The files of PPI and Reddit were not at hand, so their columns hold the paper's"
    " numbers alone. Twitch is real and inductive, but another task; the columns named"
    " -shaped are made graphs (PPI's 24 graphs at a quarter of their size, Reddit at a"
    " hundredth) that show the code at work. None of the three compares with the"
    " paper's PPI and Reddit."
)


def names() -> list[str]:
    """Rows and data sets that `Options.only` may name."""
    return [*ROWS, *[column.data for column in COLUMNS]]


def plan(options: Options, store: Store) -> list[Task]:
    """The trainings of the table."""
    return method_table.plan(ROWS, COLUMNS, options, store)


def text(options: Options, store: Store, *, markdown: bool = False) -> str:
    """The table from what is in the store."""
    what = "Table 2: assortative graphs"
    table = method_table.render(what, ROWS, COLUMNS, options, store, markdown=markdown)
    return f"{table}\n{method_table.ARCHITECTURES}\n\n{NOT_THE_BENCHMARK}\n"
