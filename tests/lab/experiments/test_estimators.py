from typing import get_args, get_type_hints

from support.records import record

from sgat_lab.config import MethodConfig
from sgat_lab.experiments import estimators
from sgat_lab.trials.options import Options
from sgat_lab.trials.store import Store


def test_every_gradient_of_the_settings_has_a_row():
    known = get_args(get_type_hints(MethodConfig)["gate_gradient"])
    assert set(estimators.GRADIENTS) == set(known)


def test_only_the_gradient_and_the_share_differ():
    tasks = estimators.plan(Options(runs=1, only=("texas",)), Store("nowhere"))
    same = {"model": {"gate_gradient": "relax"}, "train": {"keep": None}}
    first, *others = [task.config.replace(**same) for task in tasks]
    assert len(others) == 9 and all(other == first for other in others)


def test_a_gradient_that_was_not_run_says_so(tmp_path):
    store, options = Store(tmp_path), Options(runs=2, only=("texas",))
    for task in estimators.plan(options, store):
        if task.config.model.gate_gradient != "relax":
            seed = task.config.train.seed
            found = {"data": "texas", "test": 0.8 + 0.1 * seed}
            settings = task.config.model.gate_gradient, task.config.train.keep
            differing = {"model": {"gate_gradient": settings[0]}}
            differing["train"] = {"keep": settings[1]} if settings[1] else {}
            store.save(record(task, settings=differing, **found))
    lines = estimators.text(options, store).splitlines()
    assert sum("85.0 ± 7.1" in line for line in lines) == 8
    missing = [line for line in lines if "RELAX" in line]
    assert len(missing) == 2
    assert all(line.split()[-3:] == ["not", "run", "0"] for line in missing)
