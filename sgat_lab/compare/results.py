"""Results: the scores of a comparison by method, budget and model."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from sgat_lab.compare.plan import Comparison, Place
from sgat_lab.compare.pruners import SGAT, SGATS
from sgat_lab.trials.store import Store

Scores = Mapping[Place, Mapping[int, float]]
"""A score by place and seed."""


@dataclasses.dataclass(frozen=True)
class Results:
    """Scores of the trainings.

    Attributes:
        test: Score on the test nodes, looked at once per training.
        val: Score on the validation nodes; empty where there are none.
        kept: Share of the edges that an SGAT itself kept.
        devices: What the trainings ran on.
        dates: Days on which they ran.
        commits: Of the source.
    """

    test: Scores
    val: Scores
    kept: Scores = dataclasses.field(default_factory=dict)
    devices: Sequence[str] = ()
    dates: Sequence[str] = ()
    commits: Sequence[str] = ()


def budget_name(budget: float) -> str:
    """A share in per cent, such as "30 %"."""
    return f"{100 * budget:g} %"


def itself(method: str) -> str:
    """Name of an SGAT where nothing is retrained on its edges."""
    return f"{SGATS[method]} itself" if method == SGAT else f"{SGATS[method]}, itself"


def gather(comparison: Comparison, store: Store) -> Results:
    """The results of all trainings that are done."""
    test: dict[Place, dict[int, float]] = {}
    val: dict[Place, dict[int, float]] = {}
    kept: dict[Place, dict[int, float]] = {}
    records = []
    for (place, seed), task in comparison.tasks(store).items():
        record = store.find(task)
        if record is None:
            continue
        records.append(record)
        test.setdefault(place, {})[seed] = record.test
        if record.val is not None:
            val.setdefault(place, {})[seed] = record.val
        if place.model in SGATS:
            kept.setdefault(place, {})[seed] = 1 - record.removed
    return Results(
        test,
        val,
        kept,
        devices=sorted({record.device for record in records}),
        dates=sorted({record.date[:10] for record in records}),
        commits=sorted({record.commit for record in records}),
    )


def summary(scores: Mapping[int, float]) -> dict[str, Any]:
    """Mean and standard deviation; a single run has no deviation."""
    values = list(scores.values())
    if not values:
        return {"mean": None, "sd": None}
    sd = statistics.stdev(values) if len(values) > 1 else None
    return {"mean": statistics.fmean(values), "sd": sd}
