"""Robustness: what edges that mean nothing, or mislead, do to each method."""

from __future__ import annotations

from pathlib import Path

from sgat.experiments.options import Options
from sgat.experiments.plots import band, legend_below, panels
from sgat.experiments.record import Record, Store, Task
from sgat.experiments.settings import settings, title
from sgat.experiments.text_table import aligned, heading, percent

DATA = {"cora": "Cora", "citeseer": "Citeseer", "pubmed": "Pubmed", "photo": "Photo"}
ROWS = (
    *("mlp", "gcn", "gat-2head", "residual-gat", "gcn-jaccard", "supergat-mx"),
    *("ptdnet", "sgat-2head", "sgat-recommended"),
)
DEAF = "mlp"
"""The row that hears no edge, so that one training stands for all amounts of noise."""
KINDS = ("random", "cross-class")
RATES = (0.0, 0.25, 0.5, 1.0, 2.0)


def names() -> list[str]:
    """Rows and data sets that `--only` may name."""
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


def _cells(records: list[Record], kind: str) -> dict[str, dict[float, list[Record]]]:
    """Records with this kind of noise, or none, by row and rate."""
    found: dict[str, dict[float, list[Record]]] = {}
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
    """Scores, and how well the added edges were told from the original ones."""
    lines = []
    for data, records in _noisy(options, store).items():
        for kind in KINDS:
            rates = sorted({r.noise[1] if r.noise else 0.0 for r in records})
            header = ["method", *(f"+{rate:.0%}" for rate in rates)]
            scores, found = [header], [["method", *header[2:]]]
            for row, by_rate in _cells(records, kind).items():
                runs = [by_rate.get(rate, []) for rate in rates]
                tests = [percent([r.test for r in group]) for group in runs]
                scores.append([title(row), *tests])
                cells = [_detection(group) for group in runs[1:]]
                if any(cells):
                    found.append([title(row), *cells])
            what = f"Robustness: {DATA[data]}, {kind} edges added"
            lines += heading(what, markdown=markdown)
            lines += ["Test accuracy in per cent, mean ± standard deviation.", ""]
            lines += [*aligned(scores, markdown=markdown), ""]
            lines += [
                "AUC of original above added edges, then precision / recall of added"
                " among removed edges, where any are removed.",
                "",
            ]
            lines += [*aligned(found, markdown=markdown), ""]
    return "\n".join(lines)


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
