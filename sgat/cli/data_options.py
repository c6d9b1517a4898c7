"""Options that say what to train on: a data set by name, or the user's files."""

from __future__ import annotations

from typing import Any

import typer

DATA = "Data"
"""Their panel in the help."""


def option(panel: str, text: str, *names: str) -> Any:
    """An option that is None unless given, so that configs keep their say."""
    return typer.Option(None, *names, help=text, rich_help_panel=panel)


NAME = typer.Argument(None, help="Name of a data set; see `sgat data list`.")
DATA_ROOT = option(
    DATA, "Folder with the data sets; else $SGAT_DATA, else the user's cache."
)
SPLIT = option(DATA, "Split, e.g. random-60-20-20.")
NORMALISE_FEATURES = option(
    DATA,
    "Divide each row of a data set's features by its sum.",
    "--normalise-features/--no-normalise-features",
)
LARGEST_COMPONENT = option(
    DATA, "Only the largest component of a data set.", "--largest-component"
)
EDGES = option(
    DATA, "Your edge file: CSV, TSV, Parquet, NPZ, Matrix Market or GraphML."
)
NODES = option(DATA, "Your node file: CSV, TSV, Parquet or NPZ.")
LABEL = option(DATA, "Column of the node file with the class.")
LABELS = option(DATA, "0/1 columns for several labels: A,B,C.")
FEATURES = option(
    DATA, "Feature columns, A,B,C; '' for none; else all without other meaning."
)
CATEGORICAL = option(
    DATA, "Feature columns of categories that look like numbers: A,B,C."
)
DROP = option(DATA, "Columns that mean nothing here: A,B,C.")
DELIMITER = option(DATA, "What separates the cells of a text table.")
ID = option(DATA, "Column with the id of each node [id].")
SRC = option(DATA, "Column with the source of each edge [src].")
DST = option(DATA, "Column with the target of each edge [dst].")
WEIGHT = option(DATA, "Column with the weight of each edge.")
SPLIT_COLUMN = option(DATA, "Column with train, val, test [split].")
UNDIRECTED = option(DATA, "Each edge stands for both directions.", "--undirected")
STANDARDISE = option(
    DATA, "Scale numeric features to mean 0, deviation 1.", "--standardise"
)
FILL_MISSING = option(DATA, "What missing features become: zero or mean.")
