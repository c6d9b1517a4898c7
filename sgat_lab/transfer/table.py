"""The tables of `transfer`: means over all pairs, and every pair for ours."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from sgat.data.catalogue import TWITCH_COUNTRIES
from sgat_lab.tables.cells import heading, percent
from sgat_lab.tables.text_table import aligned
from sgat_lab.transfer.measure import METHODS, OURS
from sgat_lab.unseen.methods import PEERS

MEASURES = {
    "roc_auc": "ROC AUC",
    "accuracy": "accuracy",
    "source_roc_auc": "ROC AUC at home",
}


def _title(method: str) -> str:
    return OURS[method].title if method in OURS else PEERS[method].title


def means_of_seeds(rows: Sequence[dict[str, Any]], measure: str) -> list[float]:
    """The mean over the pairs of each seed."""
    by_seed = defaultdict(list)
    for row in rows:
        by_seed[row["seed"]].append(row[measure])
    return [statistics.fmean(values) for values in by_seed.values()]


def _means(rows: Sequence[dict[str, Any]], *, markdown: bool) -> list[str]:
    table = [["method", *MEASURES.values(), "pairs", "seeds"]]
    for method in METHODS:
        here = [row for row in rows if row["method"] == method]
        if here:
            cells = [percent(means_of_seeds(here, name)) for name in MEASURES]
            pairs = len({(row["source"], row["target"]) for row in here})
            seeds = len({row["seed"] for row in here})
            table.append([_title(method), *cells, str(pairs), str(seeds)])
    return aligned(table, markdown=markdown)


def _matrix(rows: Sequence[dict[str, Any]], *, markdown: bool) -> list[str]:
    used = {name for row in rows for name in (row["source"], row["target"])}
    names = [name for name in TWITCH_COUNTRIES if name in used]
    table = [["from \\ to", *names]]
    for source in names:
        cells = [
            percent(
                [
                    row["roc_auc"]
                    for row in rows
                    if (row["source"], row["target"]) == (source, target)
                ]
            )
            for target in names
        ]
        table.append([source, *cells])
    return aligned(table, markdown=markdown)


def text(rows: list[dict[str, Any]], *, markdown: bool = False) -> str:
    """The means over all pairs, and the matrix of each of our rows."""
    lines = heading(
        "Across graphs: each Twitch country to each other", markdown=markdown
    )
    lines += [
        "Per cent. Mean over the pairs of countries, ± standard deviation of this mean",
        "over the seeds. At home: nodes of the source that did not train.",
        "",
        *_means(rows, markdown=markdown),
        "",
    ]
    for method in OURS:
        here = [row for row in rows if row["method"] == method]
        if here:
            lines += heading(f"{_title(method)}: ROC AUC", markdown=markdown)
            lines += [*_matrix(here, markdown=markdown), ""]
    return "\n".join(lines)
