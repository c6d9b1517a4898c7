"""Small trainings of the lab, and a run of them that other processes can start."""

from pathlib import Path

from sgat_lab.config import LabConfig, MadeDataConfig
from sgat_lab.trials.runner import run_tasks
from sgat_lab.trials.store import Store
from sgat_lab.trials.task import Task


def task(seed: int = 0, **train) -> Task:
    config = LabConfig(data=MadeDataConfig(name="karate"))
    settings = {"epochs": 3, "seed": seed, "device": "cpu", **train}
    model = {"method": "gcn", "hidden": 4, "symmetric": False}
    return Task("gcn", config.replace(train=settings, model=model))


def long_run(folder: str | Path) -> None:
    """Train in two processes until somebody stops it."""
    tasks = [task(seed, epochs=100_000) for seed in range(2)]
    run_tasks(tasks, Store(folder), device="cpu", processes=2)
