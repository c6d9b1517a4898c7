"""What a table of candidates is worth on a group of graphs it was not chosen on.

python -m benchmarks.left_out [--results benchmarks/results]

`candidates.csv` has 34 settings trained in full on fourteen graphs, clean and with as
many wrong edges again, seed 0: validation and test score of each. For each group of
graphs a table is chosen on all others, setting by setting, each time the one that helps
the test score most of what validation picks. Validation then picks from this table on
the group that was left out.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.measure import table

SIZE = 14
COLUMNS = ["left out", "chosen without", "chosen with", "all 34", "best by test"]
GROUPS = (
    ("cora", "citeseer", "pubmed"),
    ("computers", "photo"),
    ("texas", "wisconsin", "cornell"),
    ("acm", "dblp"),
    ("actor", "chameleon_filtered"),
    ("flickr", "minesweeper"),
)
Array = np.ndarray[Any, Any]


def picked(quality: Array, test: Array, settings: list[int]) -> float:
    """Mean test score of the settings that validation picks, a case in each row."""
    best = quality[:, settings].argmax(axis=1)
    found: Array = test[:, settings][np.arange(len(best)), best]
    return float(found.mean())


def chosen(quality: Array, test: Array, size: int = SIZE) -> list[int]:
    """A table of settings, the most helpful first."""
    found: list[int] = []
    for _ in range(size):
        rest = [each for each in range(test.shape[1]) if each not in found]
        found.append(max(rest, key=lambda each: picked(quality, test, [*found, each])))
    return found


def main() -> None:
    """Print a line for each group."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--results", type=Path, default=Path("benchmarks/results"))
    given = pd.read_csv(parser.parse_args().results / "candidates.csv")
    cases = given.pivot_table(
        index=["graph", "noise"], columns="cand", values=["val", "val_loss", "test"]
    )
    # Between equal scores the lower loss wins.
    quality = (cases["val"] - 1e-4 * cases["val_loss"].clip(upper=9)).to_numpy()
    test = 100 * cases["test"].to_numpy()
    graph = cases.index.get_level_values("graph")
    every = list(range(test.shape[1]))
    of_all = chosen(quality, test)
    rows = []
    for group in GROUPS:
        here = np.isin(graph, group)
        without = chosen(quality[~here], test[~here])
        tables = without, of_all, every
        scores = [picked(quality[here], test[here], each) for each in tables]
        best = float(test[here].max(axis=1).mean())
        shown = [", ".join(group), *(f"{score:.1f}" for score in (*scores, best))]
        rows.append(dict(zip(COLUMNS, shown, strict=True)))
    print(table(rows, COLUMNS))


if __name__ == "__main__":
    main()
