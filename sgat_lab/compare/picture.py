"""draw(): accuracy against the share of edges kept, one panel per retrained model."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Any

from sgat_lab.compare.plan import FREE, FULL, MLP, RETRAINED, Comparison, Place
from sgat_lab.compare.pruners import PRUNERS, SGATS
from sgat_lab.compare.results import Results, itself
from sgat_lab.tables.plots import STYLES, panels

APART = 0.7
"""Per cent between the points of two methods, so that their bars can be told apart."""


def draw(comparison: Comparison, results: Results, path: Path) -> None:
    """Mean and standard deviation over the runs, as PNG.

    Lines without markers are the references: the model on all edges, and the MLP on
    none. An SGAT trained to the budget is drawn into every panel, and so is the
    recommended one without a budget, a single point.
    """
    titles = [f"{title}, retrained" for title in RETRAINED.values()]
    metric = "micro-F1" if comparison.graphs[0].is_multilabel else "accuracy"
    with panels(path, titles, height=4.3) as axes:
        for axis, model in zip(axes, RETRAINED, strict=True):
            curves = [(method, model) for method in comparison.pruners]
            curves += [(m, m) for m in comparison.pruners if m in SGATS]
            for number, (method, trained) in enumerate(curves):
                shift = APART * (number - (len(curves) - 1) / 2)
                _curve(axis, comparison, results, method, trained, shift)
            _own_choice(axis, results)
            _reference(axis, results, Place(FULL, None, model), "all edges", "-")
            _reference(axis, results, Place(MLP, None, MLP), "MLP, no edges", "--")
            axis.margins(y=0.06)
            axis.set_xlabel("edges kept (%)")
            axis.set_ylabel(f"test {metric} (%)")
            axis.set_xticks([100 * budget for budget in comparison.budgets])
            axis.xaxis.set_major_formatter("{x:g}")
        axes[0].figure.legend(
            *axes[0].get_legend_handles_labels(),
            loc="outside lower center",
            ncols=4,
            frameon=False,
            fontsize=8,
        )
        name = comparison.data.name or comparison.graphs[0].name
        runs = len(comparison.seeds)
        bars = f"{runs} runs, bars are one standard deviation"
        axes[0].figure.suptitle(
            f"{name}: {bars if runs > 1 else 'one run'}", fontsize=9
        )


def _curve(
    axis: Any,
    comparison: Comparison,
    results: Results,
    method: str,
    model: str,
    shift: float,
) -> None:
    points = []
    for budget in sorted(comparison.budgets):
        values = list(results.test.get(Place(method, budget, model), {}).values())
        if values:
            spread = statistics.stdev(values) if len(values) > 1 else 0.0
            points.append(
                (100 * budget + shift, 100 * statistics.fmean(values), 100 * spread)
            )
    if not points:
        return
    is_own = model in SGATS
    # A curve looks the same whichever others are shown beside it.
    number = [*PRUNERS, *(itself(method) for method in SGATS)].index(
        itself(method) if is_own else method
    )
    x, mean, bars = zip(*points, strict=True)
    axis.errorbar(
        x,
        mean,
        yerr=bars if any(bars) else None,
        label=itself(method) if is_own else PRUNERS[method],
        linewidth=2.2 if method in SGATS and not is_own else 1.3,
        markersize=5,
        elinewidth=0.8,
        capsize=2,
        **STYLES[number % len(STYLES)],
    )


def _own_choice(axis: Any, results: Results) -> None:
    """The recommended SGAT at the share that it found."""
    test = list(results.test.get(FREE, {}).values())
    kept = list(results.kept.get(FREE, {}).values())
    if not test:
        return
    spread = statistics.stdev(test) if len(test) > 1 else 0.0
    axis.errorbar(
        100 * statistics.fmean(kept),
        100 * statistics.fmean(test),
        yerr=100 * spread if spread else None,
        label=f"{SGATS[FREE.method]}, no budget",
        linestyle="none",
        color="black",
        marker="h",
        markersize=9,
        markerfacecolor="none",
        elinewidth=0.8,
        capsize=2,
    )


def _reference(
    axis: Any, results: Results, place: Place, label: str, line: str
) -> None:
    values = results.test.get(place)
    if values:
        mean = 100 * statistics.fmean(values.values())
        axis.axhline(mean, color="black", linewidth=1, linestyle=line, label=label)
