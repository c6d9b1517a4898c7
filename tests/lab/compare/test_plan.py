"""Trainings are planned as far as they can be known, with equal settings."""

import dataclasses

import pytest
import torch
from support.settings import request_for
from support.small_data import block_graph

from sgat.config import DataConfig
from sgat.data.configured import Loaded
from sgat.data.named import load_karate
from sgat.training.fresh_model import resolved
from sgat_lab.compare.plan import METHODS, RETRAINED, Comparison, Place, splits_vary
from sgat_lab.compare.pruners import PRUNERS, SGATS, select
from sgat_lab.trials.probes import unpacked
from sgat_lab.trials.runner import run_planned, run_tasks
from sgat_lab.trials.store import Store
from sgat_lab.trials.task import differences

KARATE = DataConfig(name="karate")


def comparison(data=None, config=KARATE, **options) -> Comparison:
    settings = {"budgets": (0.5, 0.2), "seeds": (3, 4), "epochs": 2}
    graphs = [load_karate() if data is None else data]
    return Comparison(config, Loaded(graphs), **(settings | options))


def plan(made: Comparison, store: Store):
    return lambda: list(made.tasks(store).values())


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> tuple[Comparison, Store]:
    """A comparison with one seed, and the records of all its trainings."""
    made = comparison(seeds=(3,))
    store = Store(tmp_path_factory.mktemp("finished"))
    run_planned(plan(made, store), store, device="cpu")
    return made, store


def test_what_depends_on_learning_is_planned_after_it(tmp_path, finished):
    assert not any(
        place.method in (*SGATS, "gat-attention") and place.model in RETRAINED
        for place, _ in comparison().tasks(Store(tmp_path))
    )
    made, store = finished
    places = {place for place, _ in made.tasks(store)}
    expected = {
        Place(method, budget, model)
        for method in PRUNERS
        for budget in (0.5, 0.2)
        for model in RETRAINED
    }
    expected |= {
        Place(method, share, method) for method in SGATS for share in (0.5, 0.2)
    }
    expected |= {Place("sgat-recommended", None, "sgat-recommended")}
    expected |= {Place("full", None, model) for model in RETRAINED}
    expected |= {Place("mlp", None, "mlp")}
    assert places == expected
    assert made.num_tasks == len(made.tasks(store)) == len(expected)
    assert comparison().num_tasks == 2 * len(expected)
    assert len({task.key for task in made.tasks(store).values()}) == made.num_tasks
    for (place, seed), task in made.tasks(store).items():
        record = store.find(task)
        assert record is not None and record.seed == seed
        if place.model in RETRAINED and place.budget is not None:
            # 78 links, of which 39 and 16 are kept.
            left = {0.5: 39, 0.2: 16}[place.budget] / 78
            assert record.removed == pytest.approx(1 - left)


@pytest.mark.parametrize("method", SGATS)
def test_sgats_edges_are_those_its_gates_keep(method, tmp_path):
    made, store = comparison(methods=(method,), budgets=(0.5,)), Store(tmp_path)
    run_tasks(plan(made, store)(), store, device="cpu")
    task = made.tasks(store)[Place(method, 0.5, method), 3]
    assert task.config.train.keep == 0.5 and task.config.model.symmetric
    record = store.find(task)
    assert record is not None and record.removed == pytest.approx(0.5, abs=0.02)
    (score,) = unpacked(record.extra)
    (smaller,) = select(made.graphs, made.kept(method, 0.5, 3, store))
    graph = made.graphs[0].graph
    index = graph.dst.long() * 34 + graph.src
    left = torch.isin(index, smaller.graph.dst.long() * 34 + smaller.graph.src)
    assert score[left].min() >= score[~left].max()


def test_models_have_the_same_settings_whatever_chose_the_edges(finished):
    made, store = finished
    for model in RETRAINED:
        found = [
            differences(task.config)
            for (place, _), task in made.tasks(store).items()
            if place.model == model
        ]
        assert len(found) == 1 + 2 * len(PRUNERS)
        assert all(one == found[0] for one in found)


def test_the_recommended_sgat_is_what_own_files_get():
    found = comparison(epochs=None).config("sgat-recommended", 3)
    own = request_for({"edges": "e.csv", "label": "y"}).settings()
    graphs = [load_karate()]
    assert found.train.keep is None and found.train.l0_weight == own.train.l0_weight
    for name in ("scorer", "readout", "layers", "hidden", "heads", "dropout"):
        value = getattr(resolved(found.model, graphs), name)
        assert value == getattr(resolved(own.model, graphs), name), name
    assert comparison().config("sgat-recommended", 3, 0.2).train.keep == 0.2


def test_tables_settings_hold_for_the_data_and_its_split():
    texas = comparison(config=DataConfig(name="texas"))
    assert texas.split == "geom-gcn"
    from sgat_lab.trials.row_settings import settings

    expected = settings("gcn", "texas", "geom-gcn", seed=3)
    assert texas.config("gcn", 3).model == expected.model
    assert comparison(epochs=None).config("gcn", 3).train.epochs == 200
    assert comparison(epochs=None, quick=True).config("sgat", 3, 0.5).train.epochs == 20


def test_other_data_is_planned_anew(tmp_path):
    data, store = load_karate(), Store(tmp_path)
    other = dataclasses.replace(data, y=data.y.flip(0))
    one, two = (comparison(each).tasks(store) for each in (data, other))
    assert one.keys() == two.keys()
    keys = [{task.key for task in tasks.values()} for tasks in (one, two)]
    assert keys[0].isdisjoint(keys[1])


def test_a_drawn_split_plays_no_part_in_what_the_data_is(tmp_path):
    config = DataConfig(name="karate", split="random-60-20-20")
    data = load_karate()
    other = data.with_split(data.test, data.val, data.train)
    store = Store(tmp_path)
    one, two = (comparison(each, config).tasks(store) for each in (data, other))
    assert [t.key for t in one.values()] == [t.key for t in two.values()]
    fixed, moved = (comparison(each).tasks(store) for each in (data, other))
    assert [t.key for t in fixed.values()] != [t.key for t in moved.values()]


def test_directed_edges_go_one_by_one():
    data = block_graph()
    one_way = data.select_edges(data.graph.src < data.graph.dst)
    made = comparison(one_way)
    assert not made.is_undirected
    assert made.num_links == one_way.graph.num_edges == data.graph.num_edges // 2
    assert made.config("sgat", 0, 0.5).model.symmetric is False


@pytest.mark.parametrize(
    ("name", "split", "expected"),
    [
        ("cora", None, False),
        ("cora", "random-20", True),
        ("texas", None, True),
        ("texas", "geom-gcn-3", False),
        ("photo", None, True),
        ("karate", None, False),
        ("cora", "mine.npz", False),
    ],
)
def test_whether_splits_vary(name, split, expected):
    assert splits_vary(DataConfig(name=name, split=split), Loaded([])) is expected


def test_methods_are_those_of_the_help():
    from sgat_lab.cli.compare import NAMES

    assert tuple(NAMES.split(", ")) == METHODS
