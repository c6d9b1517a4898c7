import math
import tomllib

import pytest
from support.records import record

from sgat_lab.config import LabConfig
from sgat_lab.experiments import robustness, search, table2, table3
from sgat_lab.trials.options import Options
from sgat_lab.trials.row_settings import settings, unsearched
from sgat_lab.trials.store import Store

CORA = search.DataVariant("cora", None)


def test_every_method_gets_the_same_number_of_settings():
    options = Options()
    for variant in search._variants(options):
        is_short = variant.is_noisy or variant.data in search.LARGE
        trials = search.TRIALS_LARGE if is_short else search.TRIALS
        for row in search._rows_of(variant, options):
            found = search._settings(row, variant, options)
            distinct = {tuple(setting.items()) for setting in found}
            has_more = row == "gcn-jaccard" and variant.data in robustness.DATA
            further = len(search.FURTHER["gcn_jaccard"]) if has_more else 0
            assert len(distinct) == 1 + trials + further, (row, variant)


def test_thresholds_of_gcn_jaccard_reach_beyond_the_best_or_to_the_last_edge():
    drawn = search.OWN["gcn_jaccard"]["options.threshold"]
    further = [one["options.threshold"] for one in search.FURTHER["gcn_jaccard"]]
    assert max(further) == 1, "no edge is left"
    for data in robustness.DATA:
        found = settings("gcn-jaccard", data, noisy=True).model.options["threshold"]
        assert found > min(drawn), data


def test_what_a_row_starts_from_is_tried_first():
    first = search._settings("gcn", CORA, Options())[0]
    (task, *_) = search._tasks("gcn", CORA, first, search.SEEDS, Options())
    assert task.config == unsearched("gcn", "cora", None, search.SEEDS[0])


def test_settings_are_drawn_alike_at_every_call():
    assert search.drawn("gcn") == search.drawn("gcn") != search.drawn("sgat")


def test_all_settings_hold():
    options = Options(only=("cora", "texas", "computers"))
    tasks = search.plan(options, Store("nowhere"))
    # The table's rows without top-k, and two of the robustness table.
    cora = len(table2.ROWS) - 2 + 2, 11, 2
    computers = len(table2.ROWS) - 2, 5, 4
    # The recommended settings are no row of table 3.
    texas = len(table3.ROWS) - 2 + 1, 11, 3, len(table3.PROTOCOLS)
    further = len(search.FURTHER["gcn_jaccard"]), 2
    parts = (cora, computers, texas, further)
    assert len(tasks) == sum(math.prod(part) for part in parts)
    assert all(task.config.train.seed >= 100 for task in tasks), "tables use 0 to 9"


def test_a_share_that_is_asked_for_stays():
    variant = search.DataVariant("photo", None)
    for setting in search._settings("sgat-2head", variant, Options()):
        (task, *_) = search._tasks("sgat-2head", variant, setting, (100,), Options())
        assert task.config.train.keep == 0.55


def test_the_price_means_the_same_on_every_graph():
    sections = search.changed("sgat-2head", "texas", {"train.l0_weight": 1.0})
    assert sections["train"]["l0_weight"] == pytest.approx(1 / 558)


def test_heads_divide_the_width():
    sections = search.changed("gat-2head", "cora", {"model.hidden": 64})
    assert sections["model"]["hidden"] == 32
    assert search.changed("gcn", "cora", {"model.hidden": 64})["model"]["hidden"] == 64


NOISY = search.DataVariant("cora", None, is_noisy=True)


def test_the_best_validation_wins_whatever_the_test(tmp_path):
    store, options = Store(tmp_path), Options(only=("gcn", "cora-noisy"))
    tasks = search.plan(options, store)
    for number, task in enumerate(tasks):
        setting = number // len(search.SEEDS) - 1
        val = 0.9 if setting == 3 else 0.5
        store.save(record(task, data="cora", val=val, test=1 - val))
    assert search.chosen(options, store) == {("gcn", NOISY): search.drawn("gcn")[3]}


def test_nothing_is_chosen_as_long_as_a_run_is_missing(tmp_path):
    store, options = Store(tmp_path), Options(only=("gcn", "cora-noisy"))
    *tasks, last = search.plan(options, store)
    for task in tasks:
        store.save(record(task, val=0.9))
    assert search.chosen(options, store) == {}
    store.save(record(last, val=0.9))
    assert search.chosen(options, store) == {("gcn", NOISY): {}}


def test_the_recommended_row_tries_what_the_mlp_does():
    for variant in search._variants(Options()):
        for row in set(search.LIKE) & set(search._rows_of(variant, Options())):
            ours = search._settings(row, variant, Options())
            assert ours == search._settings("mlp", variant, Options()), variant


def test_the_best_are_judged_by_more_seeds(tmp_path):
    store, options = Store(tmp_path), Options(only=("gcn", "photo"))
    (variant,) = search._variants(options)
    tried = search._settings("gcn", variant, options)
    first = search.plan(options, store)
    assert len(first) == len(tried) * len(search.SEEDS_DRAWN)

    def save(number, seeds, val):
        for task in search._tasks("gcn", variant, tried[number], seeds, options):
            if store.find(task) is None:
                store.save(record(task, data="photo", val=val))

    for number, val in enumerate((0.6, 0.9, 0.5, 0.8, 0.4)):
        save(number, search.SEEDS_DRAWN, val)
    assert search.chosen(options, store) == {}
    final = [task for task in search.plan(options, store) if task not in first]
    assert len(final) == 2 * (10 - len(search.SEEDS_DRAWN))
    for number, val in ((1, 0.1), (3, 0.8)):
        save(number, search.SEEDS_FINAL, val)
    # Means over all ten seeds: 0.42 and 0.80.
    assert search.chosen(options, store) == {("gcn", variant): tried[3]}


def test_what_is_printed_is_read_as_settings(tmp_path):
    store, options = Store(tmp_path), Options(only=("dropedge", "texas"))
    for _ in ("all", "final"):
        for task in search.plan(options, store):
            rate = task.config.model.options.get("rate", 0.0)
            store.save(record(task, data="texas", val=rate))
    content = tomllib.loads(search.text(options, store))
    assert set(content["dropedge"]) == {"texas", "texas-geom-gcn"}
    for found in content["dropedge"].values():
        LabConfig.from_dict(found)
        assert found["model"]["options"] == {"rate": 0.8}


def test_noisy_graphs_are_searched_apart():
    options = Options(only=("cora-noisy",))
    tasks = search.plan(options, Store("nowhere"))
    rows = set(robustness.ROWS) - {robustness.DEAF}
    assert {task.row for task in tasks} == rows
    assert len(tasks) == (len(rows) * 5 + len(search.FURTHER["gcn_jaccard"])) * 2
    assert all(task.noise == search.NOISE for task in tasks)
    (variant,) = search._variants(options)
    assert variant.name == "cora-noisy"
