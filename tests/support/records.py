"""A record of a training that never was."""

from sgat.config import Config, DataConfig
from sgat_lab.experiments.record import Record, Task

TASK = Task("gcn", Config(data=DataConfig(name="karate")))


def record(task: Task = TASK, **changes) -> Record:
    """A record of a task; `changes` are entries of it."""
    values = {
        "key": task.key,
        "row": task.row,
        "data": "karate",
        "split": "",
        "seed": 0,
        "noise": None,
        "probe": "",
        "test": 0.5,
        "val": None,
        "removed": 0.25,
        "removed_sampled": 0.3,
        "edges": 156,
        "best_epoch": 3,
        "epochs": 5,
        "seconds": 0.1,
        "parameters": 7,
        "settings": {},
        "extra": {},
        "device": "cpu",
        "date": "2026-11-15T00:00:00+00:00",
        "commit": "",
        "versions": {},
    }
    return Record(**(values | changes))
