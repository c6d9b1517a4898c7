import dataclasses
import json
from pathlib import Path

import pytest
from support.records import TASK

from sgat_lab.config import LabConfig
from sgat_lab.trials.store import PACKED, read_packed
from sgat_lab.trials.task import Task, differences

DOCS = Path(__file__).parents[3] / "docs"


@pytest.mark.parametrize(
    "changed",
    [
        dataclasses.replace(TASK, row="gat"),
        dataclasses.replace(TASK, noise=("random", 1.0)),
        dataclasses.replace(TASK, probe="history"),
        dataclasses.replace(TASK, config=TASK.config.replace(train={"seed": 1})),
        dataclasses.replace(TASK, config=TASK.config.replace(model={"hidden": 3})),
        dataclasses.replace(TASK, config=TASK.config.replace(data={"split": "x"})),
    ],
)
def test_whatever_changes_the_training_changes_the_key(changed):
    assert changed.key != TASK.key


def test_stored_records_are_found_by_the_keys_they_were_stored_under():
    """Defaults of the library may change; those that keys are taken from may not."""
    stored = read_packed(DOCS / "records" / PACKED)
    assert len(stored) > 28_000
    # One for every choice of settings, whatever the seed.
    some = {(r.row, r.noise, r.probe, json.dumps(r.settings)): r for r in stored}
    for found in some.values():
        config = LabConfig.from_dict(found.settings)
        config = config.replace(train={"seed": found.seed})
        assert Task(found.row, config, found.noise, found.probe).key == found.key
        assert differences(config) == found.settings


def test_the_device_does_not_change_the_key():
    on_gpu = TASK.config.replace(train={"device": "cuda"})
    assert dataclasses.replace(TASK, config=on_gpu).key == TASK.key
