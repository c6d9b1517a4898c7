import tomllib

import pytest
from test_record import record

from sgat.config import Config
from sgat.experiments import search
from sgat.experiments.options import Options
from sgat.experiments.record import Store


def test_every_method_gets_the_same_number_of_settings():
    for row in search._rows():
        distinct = {tuple(setting.items()) for setting in search._settings(row)}
        assert len(distinct) == search.TRIALS, row


def test_settings_are_drawn_alike_at_every_call():
    assert search.drawn("gcn") == search.drawn("gcn") != search.drawn("sgat")


def test_all_settings_hold():
    options = Options(only=("cora", "texas", "computers"))
    tasks = search.plan(options, Store("nowhere"))
    assert len(tasks) == 3 * len(search._rows()) * search.TRIALS * len(search.SEEDS)
    assert all(task.config.train.seed >= 100 for task in tasks), "tables use 0 to 9"


def test_the_price_means_the_same_on_every_graph():
    sections = search.changed("sgat-2head", "texas", {"train.l0_weight": 1.0})
    assert sections["train"]["l0_weight"] == pytest.approx(1 / 558)


def test_heads_divide_the_width():
    sections = search.changed("gat-2head", "cora", {"model.hidden": 64})
    assert sections["model"]["hidden"] == 32
    assert search.changed("gcn", "cora", {"model.hidden": 64})["model"]["hidden"] == 64


def test_the_best_validation_wins_whatever_the_test(tmp_path):
    store, options = Store(tmp_path), Options(only=("gcn", "cora"))
    tasks = search.plan(options, store)
    for number, task in enumerate(tasks):
        setting = number // len(search.SEEDS)
        val = 0.9 if setting == 3 else 0.5
        store.save(record(task, data="cora", val=val, test=1 - val))
    assert search.chosen(options, store) == {("gcn", "cora"): search.drawn("gcn")[3]}


def test_a_setting_with_a_run_missing_is_no_candidate(tmp_path):
    store, options = Store(tmp_path), Options(only=("gcn", "cora"))
    store.save(record(search.plan(options, store)[0], val=0.9))
    assert search.chosen(options, store) == {}


def test_what_is_printed_is_read_as_settings(tmp_path):
    store, options = Store(tmp_path), Options(only=("dropedge", "texas"))
    for task in search.plan(options, store):
        store.save(record(task, data="texas", val=0.5))
    content = tomllib.loads(search.text(options, store))
    found = content["dropedge"]["texas"]
    Config.from_dict(found)
    assert set(found["model"]["options"]) == {"rate"}
