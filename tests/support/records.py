"""A record of a training that never was, and a process that claims its task."""

import time
from multiprocessing.queues import Queue
from pathlib import Path

from sgat_lab.config import LabConfig, MadeDataConfig
from sgat_lab.trials.record import Record
from sgat_lab.trials.store import Store
from sgat_lab.trials.task import Task

TASK = Task("gcn", LabConfig(data=MadeDataConfig(name="karate")))


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


def hold(folder: Path, seconds: float, held: Queue) -> None:
    """Claim the task for a while, and report whether that worked."""
    with Store(folder).claim(TASK) as is_mine:
        held.put(is_mine)
        time.sleep(seconds)
