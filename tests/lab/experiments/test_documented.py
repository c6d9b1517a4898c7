"""docs/reproduction.md against the records it is made from, one by one."""

from importlib import import_module
from pathlib import Path

import networkx
import pytest

from sgat_lab.cli.run import ALL
from sgat_lab.tables.document import Section, render
from sgat_lab.tables.notes import NOTES
from sgat_lab.trials.options import Options
from sgat_lab.trials.store import Store

DOCS = Path(__file__).parents[3] / "docs"
TRAINED = [name for name in ALL if name != "table1"]
FIGURES = ["fig2", "fig3", "fig4", "fig5", "fig6", "fig7", "fig8"]


@pytest.fixture(scope="module")
def store() -> Store:
    return Store(DOCS / "records")


@pytest.mark.parametrize("name", TRAINED)
def test_the_document_is_what_the_records_say(name, store):
    module = import_module(f"sgat_lab.experiments.{name}")
    records = [r for task in module.plan(Options(), store) if (r := store.find(task))]
    assert records
    text = module.text(Options(), store, markdown=True)
    figure = DOCS / "images" / f"{name}.png" if hasattr(module, "draw") else None
    assert figure is None or figure.exists()
    section = Section(name, text, records, figure, NOTES.get(name, ()))
    path = DOCS / "reproduction.md"
    rendered = render([section], path)
    assert rendered[rendered.index("\n## ") :].strip() in path.read_text("utf-8")


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_drawn_from_the_records(name, store, tmp_path, monkeypatch):
    # Finding places for the nodes of fig3 takes seconds.
    monkeypatch.setattr(networkx, "kamada_kawai_layout", networkx.circular_layout)
    path = tmp_path / f"{name}.png"
    import_module(f"sgat_lab.experiments.{name}").draw(Options(), store, path)
    assert path.read_bytes()[:4] == b"\x89PNG"


@pytest.mark.parametrize("name", TRAINED)
def test_rows_and_data_sets_can_be_named(name, store):
    module = import_module(f"sgat_lab.experiments.{name}")
    known = module.names()
    assert known and len(set(known)) == len(known)
    all_of_it = {task.key for task in module.plan(Options(runs=1), store)}
    parts = [
        {task.key for task in module.plan(Options(runs=1, only=(one,)), store)}
        for one in known
    ]
    assert set().union(*parts) == all_of_it
    # A column without files has nothing to train.
    assert sum(bool(part) for part in parts) > len(parts) / 2
    assert len(parts) == 1 or min(map(len, parts)) < len(all_of_it)


def test_notes_are_of_experiments():
    assert set(NOTES) <= set(ALL)
