"""Figure 7: accuracy against the number of heads.

Tested by `tests/lab/experiments/test_documented.py`.
"""

from __future__ import annotations

from pathlib import Path

from sgat_lab.config import LabConfig
from sgat_lab.tables.cells import heading, percent
from sgat_lab.tables.plots import band, legend_below, panels
from sgat_lab.tables.published import FIGURES
from sgat_lab.tables.text_table import aligned
from sgat_lab.trials.options import Options
from sgat_lab.trials.record import Record
from sgat_lab.trials.row_settings import settings
from sgat_lab.trials.store import Store
from sgat_lab.trials.task import Task

DATA = {"cora": "Cora", "texas": "Texas"}
ROWS = {"sgat-2head": "SGAT", "gat-2head": "GAT"}
HEADS = (1, 2, 4, 8)


def names() -> list[str]:
    """Rows and data sets that `Options.only` may name."""
    return [*ROWS, *DATA]


def plan(options: Options, store: Store) -> list[Task]:
    """SGAT and GAT with every number of heads, each of the same width."""
    return [
        Task(row, options.applied(settings(row, data, seed=seed).replace(**change)))
        for data in options.chosen(list(DATA))
        for row in options.chosen(list(ROWS))
        for heads in HEADS
        for change in [{"model": {"heads": heads}}]
        for seed in options.seeds
    ]


def _groups(records: list[Record]) -> dict[str, dict[int, list[float]]]:
    """Test scores by row and number of heads."""
    found: dict[str, dict[int, list[float]]] = {}
    for record in records:
        heads = LabConfig.from_dict(record.settings).model.heads
        by_heads = found.setdefault(record.row, {})
        by_heads.setdefault(heads, []).append(record.test)
    return found


def text(options: Options, store: Store, *, markdown: bool = False) -> str:
    """Accuracy for every number of heads, mean and spread of the runs."""
    table = [
        ["data set", "method", "1 head", *(f"{heads} heads" for heads in HEADS[1:])]
    ]
    for data, records in store.by_data(plan(options, store)).items():
        for row, by_heads in _groups(records).items():
            cells = [percent(by_heads.get(heads, [])) for heads in HEADS]
            table.append([DATA[data], ROWS[row], *cells])
    what = "Figure 7: test accuracy (%) against the number of heads"
    lines = heading(what, markdown=markdown)
    lines += [*aligned(table, markdown=markdown, left=(0, 1)), "", FIGURES["heads"]]
    return "\n".join(lines) + "\n"


def draw(options: Options, store: Store, path: Path) -> None:
    """One panel per data set, one line per method."""
    shown = store.by_data(plan(options, store))
    with panels(path, [DATA[data] for data in shown]) as axes:
        for axis, records in zip(axes, shown.values(), strict=True):
            for style, (row, by_heads) in enumerate(_groups(records).items()):
                number = min(len(scores) for scores in by_heads.values())
                columns = by_heads.values()
                runs = [[100 * column[k] for column in columns] for k in range(number)]
                band(axis, list(by_heads), runs, style, ROWS[row])
            axis.set_xscale("log", base=2)
            axis.set_xticks(list(HEADS), [str(heads) for heads in HEADS])
            axis.set_xlabel("heads")
            axis.set_ylabel("test accuracy (%)")
        legend_below(axes)
