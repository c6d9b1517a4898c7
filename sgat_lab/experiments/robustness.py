"""Robustness: what edges that mean nothing, or mislead, do to each method."""

from __future__ import annotations

from pathlib import Path

from sgat_lab.tables.cells import heading, percent, with_error
from sgat_lab.tables.plots import band, legend_below, panels
from sgat_lab.tables.text_table import aligned
from sgat_lab.trials.options import Options
from sgat_lab.trials.record import Record
from sgat_lab.trials.row_settings import settings, title
from sgat_lab.trials.store import Store
from sgat_lab.trials.task import Task

DATA = {"cora": "Cora", "citeseer": "Citeseer", "pubmed": "Pubmed", "photo": "Photo"}
ROWS = (
    *("mlp", "gcn", "gat-2head", "residual-gat", "gcn-jaccard", "supergat-mx"),
    *("ptdnet", "sgat-2head", "sgat-recommended"),
)
AGAINST = ("mlp", "gat-2head", "gcn-jaccard", "sgat-2head")
"""Rows that the last one is compared with, seed by seed."""
DEAF = "mlp"
"""The row without edges: one training stands for all amounts of noise."""
KINDS = ("random", "cross-class")
RATES = (0.0, 0.25, 0.5, 1.0, 2.0)
Cells = dict[str, dict[float, list[Record]]]
"""Records by row and rate."""


def names() -> list[str]:
    """Rows and data sets that `Options.only` may name."""
    return [*ROWS, *DATA]


def plan(options: Options, store: Store) -> list[Task]:
    """Every method on every graph with every amount of either kind of noise."""
    return [
        _task(row, data, kind, rate, seed, options)
        for data in options.chosen(list(DATA))
        for kind in KINDS
        for rate in (RATES[::3] if options.quick else RATES)
        for row in options.chosen(ROWS)
        for seed in options.seeds
    ]


def _task(
    row: str, data: str, kind: str, rate: float, seed: int, options: Options
) -> Task:
    if rate == 0 or row == DEAF:
        return Task(row, options.applied(settings(row, data, seed=seed)))
    config = options.applied(settings(row, data, seed=seed, noisy=True))
    return Task(row, config, (kind, rate), "added_edges")


def _noisy(options: Options, store: Store) -> dict[str, list[Record]]:
    """Records of the graphs of which some were trained with noise."""
    found = store.by_data(plan(options, store))
    return {d: records for d, records in found.items() if any(r.noise for r in records)}


def _cells(records: list[Record], kind: str) -> Cells:
    """Records with this kind of noise, or none, by row and rate."""
    found: Cells = {}
    for record in records:
        if record.noise is None or record.noise[0] == kind:
            rate = 0.0 if record.noise is None else record.noise[1]
            runs = found.setdefault(record.row, {}).setdefault(rate, [])
            if record not in runs:
                runs.append(record)
    if DEAF in found:
        rates = {rate for by_rate in found.values() for rate in by_rate}
        found[DEAF] = dict.fromkeys(rates, found[DEAF][0.0])
    return found


def text(options: Options, store: Store, *, markdown: bool = False) -> str:
    """Scores, and how well methods separate added edges from original ones."""
    lines = []
    for data, records in _noisy(options, store).items():
        for kind in KINDS:
            cells = _cells(records, kind)
            rates = sorted({rate for by_rate in cells.values() for rate in by_rate})
            if rates == [0.0]:
                continue
            what = f"Robustness: {DATA[data]}, {kind} edges added"
            lines += [*heading(what, markdown=markdown)]
            lines += _scores(cells, rates, markdown=markdown)
            lines += _detections(cells, rates[1:], markdown=markdown)
            lines += _gaps(cells, rates, markdown=markdown)
    return "\n".join(lines)


def _scores(cells: Cells, rates: list[float], *, markdown: bool) -> list[str]:
    """The lines of the table of accuracies."""
    most = max(len(group) for by_rate in cells.values() for group in by_rate.values())
    table = [["method", *(f"+{rate:.0%}" for rate in rates)]]
    for row, by_rate in cells.items():
        texts = []
        for group in (by_rate.get(rate, []) for rate in rates):
            few = f" ({len(group)} runs)" if 0 < len(group) < most else ""
            texts.append(percent([record.test for record in group]) + few)
        table.append([title(row), *texts])
    what = "Test accuracy in per cent, mean ± standard deviation of"
    what += f" {most} runs, unless fewer are named."
    return [what, "", *aligned(table, markdown=markdown), ""]


def _detections(cells: Cells, rates: list[float], *, markdown: bool) -> list[str]:
    """The lines of the table on which edges were removed."""
    table = [["method", *(f"+{rate:.0%}" for rate in rates)]]
    for row, by_rate in cells.items():
        texts = [_detection(by_rate.get(rate, [])) for rate in rates]
        if any(texts):
            table.append([title(row), *texts])
    what = "AUC of original above added edges, then precision / recall of added among"
    what += " removed edges, where any are removed."
    return [what, "", *aligned(table, markdown=markdown), ""]


def _gaps(cells: Cells, rates: list[float], *, markdown: bool) -> list[str]:
    """The lines of a table: the last row's score less others', seed by seed."""
    ours = cells.get(ROWS[-1], {})
    table = [["less", *(f"+{rate:.0%}" for rate in rates)]]
    for row in AGAINST:
        texts = []
        for rate in rates:
            groups = (ours.get(rate, []), cells.get(row, {}).get(rate, []))
            first, second = ({r.seed: r.test for r in group} for group in groups)
            both = sorted(first.keys() & second.keys())
            gaps = [100 * (first[seed] - second[seed]) for seed in both]
            texts.append(with_error(gaps))
        if any(texts):
            table.append([title(row), *texts])
    if len(table) == 1:
        return []
    what = f"{title(ROWS[-1])} less others in points, paired by seed, ± standard error:"
    return [what, "", *aligned(table, markdown=markdown), ""]


def _detection(records: list[Record]) -> str:
    def mean(key: str) -> str:
        values = [r.extra[key] for r in records if key in r.extra]
        return f"{sum(values) / len(values):.2f}" if values else ""

    auc, precision, recall = (mean(key) for key in ("auc", "precision", "recall"))
    both = f"{precision} / {recall}" if precision else ""
    return ", ".join(part for part in (auc, both) if part)


def draw(options: Options, store: Store, path: Path) -> None:
    """One panel per graph, cross-class edges: accuracy against their amount."""
    shown = _noisy(options, store)
    with panels(path, [f"{DATA[d]}, cross-class edges" for d in shown]) as axes:
        for axis, records in zip(axes, shown.values(), strict=True):
            for style, (row, groups) in enumerate(_cells(records, KINDS[1]).items()):
                rates = sorted(groups)
                number = min(len(group) for group in groups.values())
                runs = [
                    [100 * groups[rate][k].test for rate in rates]
                    for k in range(number)
                ]
                band(axis, [100 * rate for rate in rates], runs, style, title(row))
            axis.set_xlabel("edges added (% of those there)")
            axis.set_ylabel("test accuracy (%)")
        legend_below(axes)
