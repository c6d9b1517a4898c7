import subprocess
from pathlib import Path

import pytest
import torch

from sgat.data import load
from sgat_lab.config import LabConfig, MadeDataConfig
from sgat_lab.trials import trial
from sgat_lab.trials.probes import unpacked
from sgat_lab.trials.record import Task
from sgat_lab.trials.row_settings import rows, settings

KARATE = LabConfig(data=MadeDataConfig(name="karate")).replace(
    train={"epochs": 3}, model={"symmetric": False}
)


def test_a_record_says_what_was_run():
    config = KARATE.replace(model={"method": "gcn", "hidden": 4})
    record = trial.run(Task("gcn", config), device="cpu")
    assert (record.row, record.data, record.seed) == ("gcn", "karate", 0)
    assert record.edges == 156 and record.removed == 0 and record.epochs == 3
    assert record.settings["model"] == {
        "method": "gcn",
        "hidden": 4,
        "symmetric": False,
    }
    assert record.parameters == 34 * 4 + 4 + 4 * 2 + 2


def test_the_same_task_gives_the_same_scores():
    first, second = (trial.run(Task("sgat", KARATE), device="cpu") for _ in range(2))
    assert (first.test, first.removed_sampled) == (second.test, second.removed_sampled)


def test_removed_shares_are_those_of_the_gates():
    config = KARATE.replace(train={"keep": 0.5, "epochs": 30})
    record = trial.run(Task("sgat", config), device="cpu")
    assert record.removed == pytest.approx(0.5, abs=0.01)
    assert 0.2 < record.removed_sampled < 0.8


def test_noise_is_added_before_training_and_found_by_the_probe():
    task = Task("sgat", KARATE, ("cross-class", 0.5), "added_edges")
    record = trial.run(task, device="cpu")
    assert record.edges == 156 + 78
    assert 0 <= record.extra["auc"] <= 1


def test_the_probe_sees_what_ptdnet_removes():
    model = {"method": "ptdnet", "hidden": 4, "gate_bias_start": -9.0}
    config = KARATE.replace(model=model)
    record = trial.run(Task("ptdnet", config, ("random", 0.5), "added_edges"))
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
    assert trial.source_commit.__wrapped__() == "abc+"
    (status,) = [call for call in calls if "status" in call]
    assert Path(status[-1]).name == "sgat"


def test_a_package_outside_its_repository_has_no_commit(monkeypatch):
    nothing = subprocess.CompletedProcess([], 0, stdout="")
    monkeypatch.setattr(subprocess, "run", lambda *call, **options: nothing)
    assert trial.source_commit.__wrapped__() == ""


def test_history_has_one_entry_per_epoch():
    record = trial.run(Task("sgat", KARATE, probe="history"), device="cpu")
    assert len(record.extra["kept_share"]) == 3


def test_removing_edges_by_score_ends_without_any():
    record = trial.run(Task("sgat", KARATE, probe="removal"), device="cpu")
    found = record.extra
    assert found["low"][0] == found["high"][0] == found["random"][0]
    assert found["low"][-1] == found["high"][-1] == found["random"][-1]


def test_scores_of_edges_are_log_alpha_of_sgat_and_shares_of_a_gat():
    record = trial.run(Task("sgat", KARATE, probe="edge_scores"), device="cpu")
    _, result = trial.train(load("karate"), KARATE.replace(train={"device": "cpu"}))
    (data,) = load("karate")
    with torch.no_grad():
        expected = result.sgat.log_alpha(data.x, data.graph)
    (found,) = unpacked(record.extra)
    assert torch.equal(found, expected)

    config = KARATE.replace(model={"method": "gat"})
    record = trial.run(Task("gat", config, probe="edge_scores"), device="cpu")
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
    trial.run(Task("sgat", KARATE), device="cpu")
    assert torch.equal(before, torch.random.get_rng_state())
