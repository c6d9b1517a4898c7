"""run(): everything a comparison takes, from trainings to the verdict."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from sgat_lab.compare.inference import Costs, measure
from sgat_lab.compare.plan import Comparison
from sgat_lab.compare.results import Results, gather
from sgat_lab.compare.shapes import Shapes, shapes
from sgat_lab.compare.verdict import verdict
from sgat_lab.trials.runner import Progress, run_planned
from sgat_lab.trials.store import Store


class Outcome(NamedTuple):
    """Results of a comparison.

    Attributes:
        comparison: What was compared.
        results: The scores.
        shapes: What the methods leave of the graph.
        costs: What a pass costs on that.
        verdict: Whether learning was worth it, a sentence or two per entry.
    """

    comparison: Comparison
    results: Results
    shapes: Shapes
    costs: Costs
    verdict: list[str]


def run(
    comparison: Comparison,
    folder: Path,
    *,
    processes: int = 1,
    device: str = "auto",
    root: str | None = None,
    progress: Progress | None = None,
    on_trained: Callable[[], None] | None = None,
) -> Outcome:
    """Train what is not trained yet, measure and judge.

    Args:
        comparison: What to compare.
        folder: Where finished trainings and measurements are kept.
        processes: How many to train in at once.
        device: Where to train and measure.
        root: Folder of the named data sets.
        progress: Called with how many trainings are done, and of how many.
        on_trained: Called before measurements, when all trainings are done.

    Raises:
        ValueError: If a training failed; the others are done nevertheless.
        KeyboardInterrupt: If asked to stop; what is finished stays.
    """
    store = Store(folder / "records")

    def report(done: int, planned: int) -> None:
        # What is planned from the records of others counts from the start.
        if progress is not None:
            progress(done, comparison.num_tasks)

    run_planned(
        lambda: list(comparison.tasks(store).values()),
        store,
        processes=processes,
        device=device,
        root=root,
        progress=report,
    )
    if on_trained is not None:
        on_trained()
    costs = measure(comparison, store, folder / "inference.json", device)
    results = gather(comparison, store)
    found = verdict(results, comparison.budgets, splits_vary=comparison.splits_vary)
    return Outcome(comparison, results, shapes(comparison, store), costs, found)
