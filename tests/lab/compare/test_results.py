"""Results are gathered from records by place and seed."""

from sgat.config import DataConfig
from sgat.data.configured import load_configured
from sgat_lab.compare.plan import Comparison, Place
from sgat_lab.compare.results import gather, summary
from sgat_lab.trials.runner import run_tasks
from sgat_lab.trials.store import Store


def test_every_record_is_found_at_its_place(tmp_path):
    data = DataConfig(name="karate", split="random-60-20-20")
    made = Comparison(
        data,
        load_configured(data),
        budgets=(0.5,),
        methods=("sgat", "mlp"),
        seeds=(0, 1),
        epochs=2,
    )
    store = Store(tmp_path)
    assert gather(made, store).test == {}
    tasks = made.tasks(store)
    run_tasks(list(tasks.values()), store, device="cpu")
    results = gather(made, store)
    for (place, seed), task in tasks.items():
        record = store.find(task)
        assert record is not None
        assert results.test[place][seed] == record.test
        assert results.val[place][seed] == record.val
    own = Place("sgat", 0.5, "sgat")
    assert set(results.kept) == {own} and set(results.kept[own]) == {0, 1}
    assert all(0.45 < share < 0.55 for share in results.kept[own].values())
    # What is retrained on SGAT's edges is planned now, and not done.
    assert Place("sgat", 0.5, "gcn") in {place for place, _ in made.tasks(store)}
    assert Place("sgat", 0.5, "gcn") not in results.test
    assert len(results.devices) == len(results.dates) == 1


def test_a_summary_of_nothing_one_and_two():
    assert summary({}) == {"mean": None, "sd": None}
    assert summary({3: 0.5}) == {"mean": 0.5, "sd": None}
    assert summary({0: 0.25, 1: 0.75}) == {"mean": 0.5, "sd": 0.125**0.5}
