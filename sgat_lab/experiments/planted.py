"""Planted: noise whose amount is known, and how much of it the gates remove."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from pathlib import Path

from sgat_lab.config import LabConfig
from sgat_lab.synthetic.block_models import auc_ceiling
from sgat_lab.tables.cells import heading, percent
from sgat_lab.tables.plots import STYLES, band, legend_below, panels
from sgat_lab.tables.text_table import aligned
from sgat_lab.trials.best_possible import BEST_POSSIBLE
from sgat_lab.trials.options import Options
from sgat_lab.trials.record import Record
from sgat_lab.trials.row_settings import settings, title
from sgat_lab.trials.store import Store
from sgat_lab.trials.task import Task

DATA = {
    "block-20": "20 classes, degree 20",
    "block-5": "5 classes, degree 10",
    "block-20-few": "20 classes, degree 20, few labels",
}
ROWS = ("sgat-recommended", "sgat-2head", BEST_POSSIBLE)
STUDIES = (
    *(("block-20", ROWS[0]), ("block-5", ROWS[0]), ("block-20-few", ROWS[0])),
    ("block-20", ROWS[1]),
    *((data, BEST_POSSIBLE) for data in DATA),
)
"""Graphs and rows."""
ALL_RUNS = (("block-20", ROWS[0]), ("block-20", BEST_POSSIBLE))
"""Studies with all seeds; the others have `FEW_RUNS`."""
FEW_RUNS = 3
NOISE = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9)
"""Shares of the edges that are planted."""
SIGNALS = (0.0, 0.5, 1.0, 2.0)
"""Lengths of the class means of the features, whose noise has standard deviation 1."""
SHUFFLED = "0, labels shuffled"
"""Settings without any signal: features and labels say nothing."""
EPOCHS = 100

Study = tuple[str, str]
Cells = dict[str, dict[float, list[Record]]]
"""Records by what features and labels say, and by the planted share."""


def names() -> list[str]:
    """Rows and data sets that `Options.only` may name."""
    return [*ROWS, *DATA]


def plan(options: Options, store: Store) -> list[Task]:
    """Every study with every signal and planted share, one seed after the other.

    So a command that is stopped leaves a whole table of fewer runs.
    """
    return [
        _task(data, row, share, signal, seed, options)
        for seed in options.seeds
        for data, row in _studies(options)
        if seed < FEW_RUNS or (data, row) in ALL_RUNS
        for signal in _signals(row, options)
        for share in (NOISE[::3] if options.quick else NOISE)
    ]


def _studies(options: Options) -> list[Study]:
    data, rows = options.chosen(list(DATA)), options.chosen(ROWS)
    return [study for study in STUDIES if study[0] in data and study[1] in rows]


def _signals(row: str, options: Options) -> tuple[float | None, ...]:
    """Signals to run; None for features and labels that say nothing."""
    if options.quick:
        return SIGNALS[-1:]
    return SIGNALS if row == ROWS[1] else (None, *SIGNALS)


def _task(
    data: str, row: str, share: float, signal: float | None, seed: int, options: Options
) -> Task:
    made = {"noise_rate": share, "feature_signal": signal or 0.0}
    if signal is None:
        made["shuffled"] = True
    if row == BEST_POSSIBLE:
        entries = {"data": {"name": data, "options": made}, "train": {"seed": seed}}
        return Task(row, LabConfig.from_dict(entries))
    config = settings(row, data, seed=seed)
    config = config.replace(data={"options": made}, train={"epochs": EPOCHS})
    return Task(row, options.applied(config), probe="planted_edges")


def _cells(options: Options, store: Store) -> dict[Study, Cells]:
    """The records that are there, by study."""
    found: dict[Study, Cells] = {}
    for task in plan(options, store):
        record = store.find(task)
        if record is None:
            continue
        made = LabConfig.from_dict(record.settings).data.options
        signal = SHUFFLED if "shuffled" in made else f"{made['feature_signal']:g}"
        cells = found.setdefault((record.data, record.row), {})
        by_share = cells.setdefault(signal, {})
        by_share.setdefault(made["noise_rate"], []).append(record)
    return {study: found[study] for study in STUDIES if study in found}


def text(options: Options, store: Store, *, markdown: bool = False) -> str:
    """For every study what was removed, how well, and how accurate the model is.

    The best possible stands below it, in the first study of each graph.
    """
    lines = []
    found = _cells(options, store)
    for (data, row), cells in found.items():
        best = found.get((data, BEST_POSSIBLE), {}) if row == ROWS[0] else {}
        if row == BEST_POSSIBLE and (data, ROWS[0]) in found:
            continue
        shares = sorted({share for by_share in cells.values() for share in by_share})
        table = [["signal", "measure", *(f"{share:.0%} planted" for share in shares)]]
        for signal, by_share in cells.items():
            table += _lines(signal, "", by_share, shares)
            table += _lines(signal, f"{TOLD}: ", best.get(signal, {}), shares)
        runs = {len(r) for by_share in cells.values() for r in by_share.values()}
        number = " to ".join(_ends([str(n) for n in sorted(runs)]))
        what = f"Planted noise: {DATA[data]}, {_title(row)}"
        ceilings = {f"{auc_ceiling(data, share):.3f}" for share in shares if share}
        lines += heading(what, markdown=markdown)
        lines += [
            f"Runs: {number}. Some planted edges join one class, so that classes alone"
            f" allow for an AUC of {' to '.join(_ends(sorted(ceilings)))} over all.",
            *([TOLD_WHAT] if best else []),
            "",
            *aligned(table, markdown=markdown, left=(0, 1)),
            "",
        ]
    return "\n".join(lines)


def _lines(
    signal: str, who: str, by_share: dict[float, list[Record]], shares: Sequence[float]
) -> list[list[str]]:
    """The lines of a table about one signal."""
    lines = []
    for measure, show in MEASURES.items():
        # Shuffled labels are not the classes that edges were drawn by.
        if measure == BETWEEN and signal == SHUFFLED:
            continue
        shown = [show(by_share.get(share, [])) for share in shares]
        if any(shown):
            lines.append([signal, who + measure, *shown])
    return lines


def _title(row: str) -> str:
    return TOLD if row == BEST_POSSIBLE else title(row)


def _ends(values: list[str]) -> list[str]:
    """The first and the last, or the only one."""
    return list(dict.fromkeys(values[:1] + values[-1:]))


def _mean(key: str) -> Callable[[list[Record]], str]:
    def show(records: list[Record]) -> str:
        values = [r.extra[key] for r in records if key in r.extra]
        return f"{sum(values) / len(values):.3f}" if values else ""

    return show


def _pair(first: str, second: str) -> Callable[[list[Record]], str]:
    def show(records: list[Record]) -> str:
        cells = [_mean(key)(records) for key in (first, second)]
        return " / ".join(cells) if all(cells) else ""

    return show


TOLD = "best possible"
TOLD_WHAT = (
    "Best possible: a judge who is told how the graph was made (class means, shares,"
    " degrees) and sees what the model sees removes the edges that are rather planted"
    " than original (sgat_lab/synthetic/block_posterior.py)."
)
BETWEEN = "AUC, planted between classes"
MEASURES: dict[str, Callable[[list[Record]], str]] = {
    "removed (%)": lambda records: percent([r.removed for r in records]),
    "AUC": _mean("auc"),
    BETWEEN: _mean("auc_between"),
    "precision / recall": _pair("precision", "recall"),
    "log α, mean / deviation": _pair("score_mean", "score_std"),
    "accuracy (%)": lambda records: percent([r.test for r in records]),
}
"""Lines of a table; AUC is that of original above planted edges, precision and recall
are those of planted among removed edges, over the runs that remove any."""


def draw(options: Options, store: Store, path: Path) -> None:
    """A panel per study: the share removed against the share planted.

    Dashes show what the best judge there could be removes.
    """
    found = _cells(options, store)
    shown = {study: found[study] for study in found if study[1] != BEST_POSSIBLE}
    shown = shown or found
    titles = [f"{_title(row)}\n{DATA[data]}" for data, row in shown]
    with panels(path, titles, height=3.9) as axes:
        for axis, ((data, _), cells) in zip(axes, shown.items(), strict=True):
            best = found.get((data, BEST_POSSIBLE), {})
            for style, signal in enumerate(_LINES):
                by_share = cells.get(signal, {})
                if not by_share:
                    continue
                band(axis, *_removed(by_share), style, f"signal {signal}")
                if signal in best:
                    places, runs = _removed(best[signal])
                    mean = [statistics.fmean(each) for each in zip(*runs, strict=True)]
                    look = {"color": STYLES[style]["color"], "linewidth": 0.9}
                    axis.plot(places, mean, linestyle=(0, (2, 3)), **look)
            look = {"color": "black", "linewidth": 0.8, "zorder": 0}
            axis.plot([0, 100], [0, 100], label="as much as planted", **look)
            if best:
                axis.plot([], [], label=TOLD, linestyle=(0, (2, 3)), **look)
            axis.set(xlim=(-3, 103), ylim=(-3, 103))
            axis.set_xlabel("edges planted (%)")
            axis.set_ylabel("edges removed (%)")
        legend_below(axes)


def _removed(
    by_share: dict[float, list[Record]],
) -> tuple[list[float], list[list[float]]]:
    """Planted shares, and the removed share at each of them in every run, in %."""
    shares = sorted(by_share)
    number = min(len(records) for records in by_share.values())
    runs = [
        [100 * by_share[share][k].removed for share in shares] for k in range(number)
    ]
    return [100 * share for share in shares], runs


_LINES = (*(f"{signal:g}" for signal in SIGNALS), SHUFFLED)
