"""Bars: in how many cases the judge does as well as it should, by graph and by kind."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

from sgat_lab.attacks.verdicts import AUTO_ENCODER, PROMISES
from sgat_lab.tables.cells import heading
from sgat_lab.tables.text_table import aligned

Row = dict[str, Any]
FEW_WRONG, NEAR, NEAR_OF_MANY = 0.1, 0.03, 0.05
"""The share found is within NEAR where so many edges are wrong at most, else within
NEAR_OF_MANY."""
ROUNDED = 1e-9
AUC_LESS, MOST_ERROR, MORE_RIGHT = 0.005, 0.04, 0.03
"""How far AUC may be below the best signal's, calibration error, and right edges among
those removed beyond what was promised."""
SIGNALS = ("auc_cosine", "auc_adamic_adar", "auc_jaccard", AUTO_ENCODER)


def best_signal(row: Row) -> float:
    """AUC of the best signal that was measured, not a number without any."""
    known = [row[name] for name in SIGNALS if not math.isnan(row.get(name, math.nan))]
    return max(known, default=math.nan)


def share_is_near(row: Row) -> bool:
    """Whether the share of wrong edges is about right."""
    bar = NEAR if row["true_share"] < FEW_WRONG + 1e-3 else NEAR_OF_MANY
    return bool(abs(row["found_share"] - row["true_share"]) <= bar + ROUNDED)


def keeps_promise(row: Row, promise: float) -> bool:
    """Whether about as many removed edges are right as promised; if none goes, yes."""
    right = row[f"right_at_{promise:g}"]
    return math.isnan(right) or right <= promise + MORE_RIGHT


def _line(title: str, rows: list[Row]) -> list[str]:
    ranked = [row for row in rows if not math.isnan(row["auc"])]
    ranks = [row["auc"] >= best_signal(row) - AUC_LESS for row in ranked]
    mean = [
        f"{sum(map(of, ranked)) / len(ranked):.3f}" if ranked else ""
        for of in (lambda row: row["auc"], best_signal)
    ]
    calibrated = sum(row["calibration_error"] <= MOST_ERROR for row in rows)
    kept = [sum(keeps_promise(row, promise) for row in rows) for promise in PROMISES]
    return [
        title,
        f"{sum(map(share_is_near, rows))} of {len(rows)}",
        f"{sum(ranks)} of {len(ranks)}" if ranks else "",
        ", ".join(filter(None, mean)),
        str(calibrated),
        ", ".join(map(str, kept)),
    ]


def _grouped(rows: Iterable[Row], key: Callable[[Row], str]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(key(row), []).append(row)
    return found


def text(rows: list[Row], *, markdown: bool = False) -> str:
    """Tables of the cases within their bars, by graph, by kind and with labels."""
    promises = ", ".join(f"{promise:g}" for promise in PROMISES)
    columns = [
        "share found",
        f"AUC ≥ best signal - {AUC_LESS:g}",
        "mean AUC, of the best signal",
        f"ECE ≤ {MOST_ERROR:g}",
        f"promises kept: {promises}",
    ]
    lines: list[str] = []
    for what, key in (
        ("graph", lambda row: row["graph"]),
        ("wrong edges", lambda row: row["kind"]),
        ("labels", lambda row: row["labels"]),
    ):
        groups = _grouped(rows, key) | {"all": rows}
        table = [[what, *columns], *(_line(*group) for group in groups.items())]
        title = f"Cases within their bars, by {what}"
        lines += heading(title, markdown=markdown)
        lines += [*aligned(table, markdown=markdown, left=(0,)), ""]
    return "\n".join(lines)
