"""A comparison as text, and as rows for CSV and JSON."""

from __future__ import annotations

import csv
import io
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from sgat_lab.compare.inference import Costs
from sgat_lab.compare.outcome import Outcome
from sgat_lab.compare.plan import FREE, FULL, MLP, RETRAINED, Comparison, Place
from sgat_lab.compare.pruners import PRUNERS, SGATS
from sgat_lab.compare.results import Results, budget_name, itself, summary
from sgat_lab.compare.shapes import Shape, Shapes
from sgat_lab.tables.cells import heading, percent
from sgat_lab.tables.text_table import aligned

WIDTH = 88
"""Of text on a terminal."""
MOST_MISSED = 0.02
"""Difference of a kept share from its budget that is not worth a word."""


def render(outcome: Outcome, *, markdown: bool = False) -> str:
    """The tables of scores, of what is left and what it costs, and the verdict."""
    comparison, results, shapes, costs, verdict = outcome
    budgets = comparison.budgets
    columns = [budget_name(budget) for budget in budgets]
    title = f"{_name(comparison)}: who keeps the better edges?"
    lines = [
        *heading(title, markdown=markdown),
        *_text([_caption(comparison)], markdown),
    ]
    for model, title in RETRAINED.items():
        table = [[f"{title}, retrained on", *columns]]
        for method in comparison.pruners:
            places = [Place(method, budget, model) for budget in budgets]
            table.append([PRUNERS[method], *(_score(results, p) for p in places)])
        if len(table) > 1:
            lines += [*aligned(table, markdown=markdown), ""]
    table = [["trained to the budget", *columns]]
    for method in comparison.pruners:
        if method in SGATS:
            own = [Place(method, budget, method) for budget in budgets]
            table.append([itself(method), *(_score(results, place) for place in own)])
    if len(table) > 1:
        lines += [*aligned(table, markdown=markdown), ""]
    table = [["for reference", _metric(comparison)]]
    for model, title in RETRAINED.items():
        table.append([f"{title}, all edges", _score(results, Place(FULL, None, model))])
    if MLP in comparison.methods:
        table.append(["MLP, no edges", _score(results, Place(MLP, None, MLP))])
    if FREE in comparison.trained:
        kept = percent(list(results.kept.get(FREE, {}).values()))
        title = f"{SGATS[FREE.method]}, {kept} % of the edges by its own choice"
        table.append([title, _score(results, FREE)])
    lines += [*aligned(table, markdown=markdown), ""]
    if comparison.pruners:
        lines += _left(comparison, shapes, markdown=markdown)
        lines += _inference(comparison, costs, markdown=markdown)
    lines += _text([_settings(comparison), *_missed(results), *verdict], markdown)
    return "\n".join(lines).rstrip() + "\n"


def _text(paragraphs: Sequence[str], markdown: bool) -> list[str]:
    """Paragraphs with an empty line after each, broken into lines for a terminal."""
    lines = []
    for text in paragraphs:
        lines += [text if markdown else textwrap.fill(text, WIDTH), ""]
    return lines


def _caption(comparison: Comparison) -> str:
    first, last = comparison.seeds[0], comparison.seeds[-1]
    if first == last:
        runs = f"one run with seed {first}"
    else:
        number = len(comparison.seeds)
        runs = f"mean ± standard deviation of {number} runs, seeds {first} to {last}"
    return (
        f"Test {_metric(comparison)} in per cent, {runs}, by the share that is kept of"
        f" {comparison.num_links:,} {_links(comparison)}."
    )


def _metric(comparison: Comparison) -> str:
    return "micro-F1" if comparison.graphs[0].is_multilabel else "accuracy"


def _name(comparison: Comparison) -> str:
    return comparison.data.name or comparison.graphs[0].name


def _links(comparison: Comparison) -> str:
    if comparison.is_undirected:
        return "pairs of nodes with an edge"
    return "directed edges"


def _score(results: Results, place: Place) -> str:
    return percent(list(results.test.get(place, {}).values()))


def _left(comparison: Comparison, shapes: Shapes, *, markdown: bool) -> list[str]:
    """Isolated nodes and homophily by method and budget."""
    table = [["what is left by", *(budget_name(b) for b in comparison.budgets)]]
    for method in comparison.pruners:
        found = [shapes.get((method, budget)) for budget in comparison.budgets]
        table.append([PRUNERS[method], *map(_shape, found)])
    caption = (
        "Nodes without an edge / edges that join nodes of one class, in per cent"
        f" ({_shape(shapes[FULL, 1.0])} with all edges):"
    )
    return [*_text([caption], markdown), *aligned(table, markdown=markdown), ""]


def _shape(shape: Shape | None) -> str:
    if shape is None:
        return ""
    agree = "–" if shape.homophily is None else f"{100 * shape.homophily:.0f}"
    return f"{100 * shape.isolated:.0f} / {agree}"


def _inference(comparison: Comparison, costs: Costs, *, markdown: bool) -> list[str]:
    """Time and memory by budget, from the least to the most of the methods."""
    budgets = comparison.budgets
    rows = [["forward pass", "all edges", *(budget_name(budget) for budget in budgets)]]
    for model, title in RETRAINED.items():
        full = costs[Place(FULL, None, model)]
        for what, whole in (
            ("time", f"{1e3 * full.seconds:.2f} ms"),
            ("memory", f"{full.bytes / 2**20:.2f} MiB"),
        ):
            cells = []
            for budget in budgets:
                places = [Place(method, budget, model) for method in comparison.pruners]
                shares = [getattr(costs[place], what) for place in places]
                cells.append(_range(shares))
            rows.append([f"{title}: {what}", whole, *cells])
    caption = (
        "Cost of a forward pass in per cent of that on all edges, from the least to the"
        " most of the methods:"
    )
    return [*_text([caption], markdown), *aligned(rows, markdown=markdown), ""]


def _range(shares: Sequence[float]) -> str:
    low, high = f"{100 * min(shares):.0f}", f"{100 * max(shares):.0f}"
    return low if low == high else f"{low}–{high}"


def _settings(comparison: Comparison) -> str:
    """Settings of the models, whatever chose the edges."""
    found = []
    models = ["gcn", "gat", *(m for m in (MLP, *SGATS) if m in comparison.methods)]
    for name in models:
        config = comparison.config(name, comparison.seeds[0], comparison.budgets[0])
        model, train = config.model, config.train
        parts = [
            f"width {model.hidden}",
            model.activation,
            f"dropout {model.dropout:g}",
        ]
        if name in ("gat", *SGATS):
            parts.insert(1, f"{model.heads} heads")
            parts.append(f"attention dropout {model.attention_dropout:g}")
        if name in SGATS:
            parts += [f"scorer {model.scorer}", f"read-out {model.readout}"]
        parts += [
            f"lr {train.lr:g}",
            f"weight decay {train.weight_decay:g}",
            f"{train.epochs} epochs",
        ]
        title = SGATS.get(name, name.upper())
        found.append(f"{title} ({', '.join(parts)})")
    has_val = any(bool(data.val.any()) for data in comparison.graphs)
    chosen = "model of the best validation" if has_val else "model of the last epoch"
    return f"Settings, the same whatever chose the edges: {'; '.join(found)}; {chosen}."


def _missed(results: Results) -> list[str]:
    """Budgets at which an SGAT itself keeps another share."""
    found: dict[str, list[str]] = {}
    for place, shares in results.kept.items():
        mean = summary(shares)["mean"]
        if place.budget is not None and abs(mean - place.budget) > MOST_MISSED:
            missed = f"{100 * mean:.1f} % for {budget_name(place.budget)}"
            found.setdefault(place.method, []).append(missed)
    return [
        f"{itself(method)} kept {', '.join(missed)}: edges whose scores tie stay or go"
        " together. The edges taken from it are exactly as many as from the others."
        for method, missed in found.items()
    ]


def rows(outcome: Outcome) -> list[dict[str, Any]]:
    """One row per method, budget and model, for machines; shares are of 1."""
    comparison, results, shapes, costs, _ = outcome
    found = []
    for place, test in results.test.items():
        cost = costs.get(place)
        budget = {FULL: 1.0, MLP: 0.0}.get(place.method, place.budget)
        if budget is None:
            budget = float(summary(results.kept[place])["mean"])
        shape = None if place.model in SGATS else shapes.get((place.method, budget))
        row = {
            "data": _name(comparison),
            "split": comparison.split or "",
            "method": place.method,
            "budget": budget,
            "links": round(budget * comparison.num_links),
            "model": place.model,
            "runs": len(test),
            **_prefixed("test", summary(test)),
            **_prefixed("val", summary(results.val.get(place, {}))),
            "isolated": None if shape is None else shape.isolated,
            "homophily": None if shape is None else shape.homophily,
            "seconds": None if cost is None else cost.seconds,
            "bytes": None if cost is None else cost.bytes,
            "time_share": None if cost is None else cost.time,
            "memory_share": None if cost is None else cost.memory,
        }
        found.append(row)
    return found


def _prefixed(name: str, values: Mapping[str, Any]) -> dict[str, Any]:
    return {f"{name}_{key}": value for key, value in values.items()}


def csv_text(outcome: Outcome) -> str:
    """The rows as CSV; what is not known is empty."""
    found = rows(outcome)
    text = io.StringIO()
    writer = csv.DictWriter(text, list(found[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(found)
    return text.getvalue()


def document(outcome: Outcome) -> dict[str, Any]:
    """All of a comparison for machines: rows, scores of every run, circumstances."""
    comparison, results = outcome.comparison, outcome.results
    return {
        "data": _name(comparison),
        "split": comparison.split,
        "splits_vary": comparison.splits_vary,
        "links": comparison.num_links,
        "seeds": list(comparison.seeds),
        "rows": rows(outcome),
        "runs": [
            {
                **place._asdict(),
                "seed": seed,
                "test": score,
                "val": results.val.get(place, {}).get(seed),
            }
            for place, scores in results.test.items()
            for seed, score in scores.items()
        ],
        "verdict": outcome.verdict,
        "devices": list(results.devices),
        "dates": list(results.dates),
        "commits": list(results.commits),
    }
