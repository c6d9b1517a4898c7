import subprocess
from pathlib import Path

import pytest
import torch

from sgat.data import load
from sgat_lab.config import LabConfig, MadeDataConfig
from sgat_lab.trials import trial
from sgat_lab.trials.probes import unpacked
from sgat_lab.trials.row_settings import rows, settings
from sgat_lab.trials.task import Task
from sgat_lab.trials.trial import MOST_KEPT, Trials, source_commit, train

KARATE = LabConfig(data=MadeDataConfig(name="karate")).replace(
    train={"epochs": 3}, model={"symmetric": False}
)


def test_a_record_says_what_was_run():
    config = KARATE.replace(model={"method": "gcn", "hidden": 4})
    record = Trials(device="cpu").run(Task("gcn", config))
    assert (record.row, record.data, record.seed) == ("gcn", "karate", 0)
    assert record.edges == 156 and record.removed == 0 and record.epochs == 3
    assert record.settings["model"] == {
        "method": "gcn",
        "hidden": 4,
        "symmetric": False,
    }
    assert record.parameters == 34 * 4 + 4 + 4 * 2 + 2


def test_the_same_task_gives_the_same_scores():
    first, second = (Trials(device="cpu").run(Task("sgat", KARATE)) for _ in range(2))
    assert (first.test, first.removed_sampled) == (second.test, second.removed_sampled)


def test_removed_shares_are_those_of_the_gates():
    config = KARATE.replace(train={"keep": 0.5, "epochs": 30})
    record = Trials(device="cpu").run(Task("sgat", config))
    assert record.removed == pytest.approx(0.5, abs=0.01)
    assert 0.2 < record.removed_sampled < 0.8


def test_noise_is_added_before_training_and_found_by_the_probe():
    task = Task("sgat", KARATE, ("cross-class", 0.5), "added_edges")
    record = Trials(device="cpu").run(task)
    assert record.edges == 156 + 78
    assert 0 <= record.extra["auc"] <= 1


def test_the_probe_sees_what_ptdnet_removes():
    model = {"method": "ptdnet", "hidden": 4, "gate_bias_start": -9.0}
    config = KARATE.replace(model=model)
    record = Trials().run(Task("ptdnet", config, ("random", 0.5), "added_edges"))
    assert record.removed == 1
    assert record.extra["precision"] == pytest.approx(1 / 3)
    assert record.extra["recall"] == 1


def test_the_commit_is_marked_where_any_file_of_the_package_differs(monkeypatch):
    calls = []

    def git(call, **options):
        calls.append(call)
        changed = " M sgat/ops/__init__.py" if "status" in call else "abc"
        return subprocess.CompletedProcess(call, 0, stdout=f"{changed}\n")

    monkeypatch.setattr(subprocess, "run", git)
    assert source_commit() == "abc+"
    (status,) = [call for call in calls if "status" in call]
    assert [Path(folder).name for folder in status[-2:]] == ["sgat", "sgat_lab"]


def test_a_package_outside_its_repository_has_no_commit(monkeypatch):
    nothing = subprocess.CompletedProcess([], 0, stdout="")
    monkeypatch.setattr(subprocess, "run", lambda *call, **options: nothing)
    assert source_commit() == ""


def test_history_has_one_entry_per_epoch():
    record = Trials(device="cpu").run(Task("sgat", KARATE, probe="history"))
    assert len(record.extra["kept_share"]) == 3


def test_removing_edges_by_score_ends_without_any():
    record = Trials(device="cpu").run(Task("sgat", KARATE, probe="removal"))
    found = record.extra
    assert found["low"][0] == found["high"][0] == found["random"][0]
    assert found["low"][-1] == found["high"][-1] == found["random"][-1]


def test_scores_of_edges_are_log_alpha_of_sgat_and_shares_of_a_gat():
    record = Trials(device="cpu").run(Task("sgat", KARATE, probe="edge_scores"))
    _, result = train(load("karate"), KARATE.replace(train={"device": "cpu"}))
    (data,) = load("karate")
    with torch.no_grad():
        expected = result.sgat.log_alpha(data.x, data.graph)
    (found,) = unpacked(record.extra)
    assert torch.equal(found, expected)

    config = KARATE.replace(model={"method": "gat"})
    record = Trials(device="cpu").run(Task("gat", config, probe="edge_scores"))
    (share,) = unpacked(record.extra)
    heard = torch.zeros(34).index_add(0, data.graph.dst.long(), share)
    assert (share > 0).all() and (heard < 1).all() and heard.max() > 0.8


@pytest.mark.parametrize("row", rows())
@pytest.mark.parametrize("data", ["cora", "texas", "pubmed"])
def test_every_row_has_settings_that_hold(row, data):
    config = settings(row, data, seed=7)
    assert config.data.name == data and config.train.seed == 7
    if config.model.method != "sgat":
        from sgat_lab.baselines import find_method

        find_method(config.model.method).options(config.model)


def test_an_unknown_row_is_told():
    with pytest.raises(ValueError, match="Unknown row 'gxn'; choose from"):
        settings("gxn", "cora")


def test_torch_is_left_alone():
    before = torch.random.get_rng_state()
    Trials(device="cpu").run(Task("sgat", KARATE))
    assert torch.equal(before, torch.random.get_rng_state())


def test_data_is_loaded_once_and_only_the_last_few_are_kept(monkeypatch):
    asked = []

    def load(data, seed, root):
        asked.append(seed)
        return given

    given = trial.load(KARATE.data, 0)
    monkeypatch.setattr(trial, "load", load)
    trials = Trials(device="cpu")
    for seed in (0, 0, *range(1, MOST_KEPT + 1), 1, 0):
        trials.run(Task("sgat", KARATE.replace(train={"seed": seed, "epochs": 1})))
    assert asked == [*range(MOST_KEPT + 1), 0]
