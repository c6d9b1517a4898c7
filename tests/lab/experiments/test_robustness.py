"""What is trained for the tables of added edges, and how records become tables."""

import statistics

import pytest
from support.records import record

from sgat_lab.experiments import robustness
from sgat_lab.trials.options import Options
from sgat_lab.trials.row_settings import settings, title
from sgat_lab.trials.store import Store
from sgat_lab.trials.task import Task

ROW, OTHER = "sgat-recommended", "gat-2head"
ONLY = ("cora", "mlp", OTHER, ROW)
OPTIONS = Options(runs=2, only=ONLY)


def score(task: Task) -> float:
    """The deaf row always the same; others lose by noise, the recommended one less."""
    rate = task.noise[1] if task.noise else 0.0
    kind = 1.0 if task.noise and task.noise[0] == "cross-class" else 0.5
    loss = {"mlp": 0.0, OTHER: 0.2, ROW: 0.05}[task.row] * rate * kind
    start = {"mlp": 0.55, OTHER: 0.8, ROW: 0.81}[task.row]
    return start - loss + 0.01 * task.config.train.seed


@pytest.fixture
def store(tmp_path) -> Store:
    found = Store(tmp_path)
    for task in robustness.plan(OPTIONS, found):
        extra = {}
        if task.noise and task.row == ROW:
            extra = {"auc": 0.9, "precision": 0.75, "recall": 0.5}
        seed = task.config.train.seed
        noise = task.noise
        found.save(
            record(
                task, data="cora", seed=seed, noise=noise, test=score(task), extra=extra
            )
        )
    return found


def cells_of(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_a_row_that_hears_no_edge_is_trained_once_for_all_noise():
    tasks = robustness.plan(OPTIONS, Store("nowhere"))
    deaf = [task for task in tasks if task.row == robustness.DEAF]
    assert len({task.key for task in deaf}) == 2, "one for each seed"
    assert all(task.noise is None for task in deaf)


def test_every_other_row_meets_every_amount_of_either_noise():
    tasks = robustness.plan(OPTIONS, Store("nowhere"))
    for row in (OTHER, ROW):
        found = {task.noise for task in tasks if task.row == row}
        expected = {
            (kind, rate)
            for kind in ("random", "cross-class")
            for rate in (0.25, 0.5, 1.0, 2.0)
        }
        assert found == {None, *expected}
        assert {task.probe for task in tasks if task.noise} == {"added_edges"}


def test_graphs_with_noise_have_settings_of_their_own():
    for task in robustness.plan(OPTIONS, Store("nowhere")):
        seed = task.config.train.seed
        noisy = task.noise is not None
        assert task.config == settings(task.row, "cora", seed=seed, noisy=noisy)


def test_a_quick_look_has_two_amounts():
    options = Options(quick=True, only=ONLY)
    tasks = robustness.plan(options, Store("nowhere"))
    assert {task.noise[1] for task in tasks if task.noise} == {1.0}
    assert any(task.noise is None for task in tasks)


@pytest.mark.parametrize("kind", robustness.KINDS)
def test_the_table_shows_the_mean_of_every_cell(store: Store, kind: str):
    text = robustness.text(OPTIONS, store, markdown=True)
    part = text.split(f"Cora, {kind} edges added")[1].split("Robustness:")[0]
    lines = {
        cells_of(line)[0]: cells_of(line)[1:] for line in reversed(part.split("\n"))
    }
    assert lines["method"] == ["+0%", "+25%", "+50%", "+100%", "+200%"]
    for row in ("mlp", OTHER, ROW):
        for cell, rate in zip(lines[title(row)], robustness.RATES, strict=True):
            noise = (kind, rate) if rate and row != "mlp" else None
            runs = [
                100 * score(Task(row, settings(row, "cora", seed=seed), noise))
                for seed in range(2)
            ]
            assert cell.startswith(f"{statistics.fmean(runs):.1f}"), (row, rate)


def test_the_deaf_row_has_the_same_score_whatever_is_added(store: Store):
    text = robustness.text(OPTIONS, store, markdown=True)
    (line, *_) = [line for line in text.split("\n") if title("mlp") in line]
    assert len(set(cells_of(line)[1:])) == 1 and len(cells_of(line)) == 6


def test_what_was_told_apart_stands_beside_its_amount(store: Store):
    text = robustness.text(OPTIONS, store, markdown=True)
    part = text.split("AUC of original")[1]
    lines = [line for line in part.split("\n") if line.startswith(f"| {title(ROW)}")]
    assert cells_of(lines[0])[1:] == ["0.90, 0.75 / 0.50"] * 4
    assert title(OTHER) not in part.split("less")[0]


def test_nothing_is_shown_before_noise_was_trained_with(tmp_path):
    store = Store(tmp_path)
    for task in robustness.plan(OPTIONS, store):
        if task.noise is None:
            store.save(record(task, data="cora", seed=task.config.train.seed))
    assert robustness.text(OPTIONS, store) == ""


def test_the_figure_is_drawn(store: Store, tmp_path):
    path = tmp_path / "robustness.png"
    robustness.draw(OPTIONS, store, path)
    assert path.read_bytes().startswith(b"\x89PNG")
