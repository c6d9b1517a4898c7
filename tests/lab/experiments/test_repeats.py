import pytest
from support.records import record

from sgat_lab.experiments import repeats, table2, table3
from sgat_lab.trials.options import Options
from sgat_lab.trials.row_settings import title
from sgat_lab.trials.store import Store

NOWHERE = Store("nowhere")


def test_the_trainings_of_the_tables_are_not_repeated():
    options = Options(only=("sgat-2head", "citeseer", "cornell"))
    tasks = {task.key for task in repeats.plan(options, NOWHERE)}
    known = {
        task.key for table in (table2, table3) for task in table.plan(options, NOWHERE)
    }
    assert len(tasks) == 50 * 3, "Citeseer, and Cornell under two protocols"
    assert known < tasks


def test_the_mlp_is_run_where_it_is_compared_with():
    tasks = repeats.plan(Options(runs=1), NOWHERE)
    data = {task.config.data.name for task in tasks if task.row == "mlp"}
    assert data == {"actor", "texas", "wisconsin", "cornell"}


def test_the_recommended_row_is_compared_with_both_where_no_edges_were_added(tmp_path):
    store, options = Store(tmp_path), Options(runs=2, only=("cora",))
    score = {"sgat-2head": 0.5, "sgat-recommended": 0.6, "gat-2head": 0.8}
    for task in repeats.plan(options, store):
        seed = task.config.train.seed
        store.save(record(task, data="cora", seed=seed, test=score[task.row]))
    first, *lines = [
        line for line in repeats.text(options, store).splitlines() if "Cora" in line
    ]
    assert "50.0 ± 0.00" in first and "less" not in first
    assert "+10.0 ± 0.0" in lines[0] and "-20.0 ± 0.0" in lines[1] and len(lines) == 2


def saved(store, options, scores):
    """Records of the row on Texas, and of an MLP that has always 0.5."""
    for task in repeats.plan(options, store):
        seed = task.config.train.seed
        score = 0.5 if task.row == "mlp" else scores[seed]
        store.save(record(task, data="texas", seed=seed, test=score))


def test_more_seeds_tell_what_the_first_did_not(tmp_path):
    store = Store(tmp_path)
    options = Options(runs=2, only=("sgat-2head", "mlp", "texas"))
    # The first two are unlucky.
    saved(store, options, [0.40, 0.44, *[0.52, 0.54] * 4])
    (first, *_) = [
        line for line in repeats.text(options, store).splitlines() if "Texas" in line
    ]
    # Means 42.0 and 50.8; deviations 2.83 and 4.83 over the roots of 2 and 10.
    assert "42.0 ± 2.00" in first and "50.8 ± 1.53" in first
    assert "-8.0 ± 2.0" in first and "+0.8 ± 1.5" in first
    assert first.split()[-1] == "10"


def test_nothing_is_shown_where_only_the_table_was_run(tmp_path):
    store, options = Store(tmp_path), Options(runs=2, only=("sgat-2head", "cora"))
    for task in table2.plan(options, store):
        store.save(record(task, data="cora", seed=task.config.train.seed))
    assert "Cora" not in repeats.text(options, store)


@pytest.mark.parametrize("row", ["mlp", "gat-2head"])
def test_rows_to_compare_with_are_shown_where_nothing_else_is_asked_for(row, tmp_path):
    data = {"mlp": "texas", "gat-2head": "cora"}[row]
    store, options = Store(tmp_path), Options(runs=2, only=(row, data))
    for task in repeats.plan(options, store):
        seed = task.config.train.seed
        store.save(record(task, data=data, seed=seed, test=0.5 + seed / 100))
    lines = [
        line for line in repeats.text(options, store).splitlines() if title(row) in line
    ]
    assert len(lines) == (2 if data == "texas" else 1), "Texas has two protocols"
    # Seeds 0 and 1, and 0 to 9, of deviation 3.03.
    for line in lines:
        assert "50.5 ± 0.50" in line and "54.5 ± 0.96" in line
        assert line.split()[-1] == "10" and line.count(title(row)) == 1


@pytest.mark.parametrize("name", ["sgat-recommended", "photo", "wisconsin"])
def test_names(name):
    assert repeats.names().count(name) == 1


def test_a_quick_look_shows_its_rows(tmp_path):
    store, options = Store(tmp_path), Options(quick=True, only=("texas",))
    for task in repeats.plan(options, store):
        store.save(record(task, data="texas", seed=task.config.train.seed))
    assert repeats.text(options, store).count("Texas") == 4
