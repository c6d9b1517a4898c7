"""A search as `SGATClassifier` runs it: with a bar on request, and safe from Ctrl-C."""

import contextlib
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from sgat.config import Config
from sgat.data.node_data import NodeData
from sgat.training.choosing import Search, Step
from sgat.training.result import EpochRecord, Result

Tell = Callable[[EpochRecord | Step], None]


def searched(
    graphs: Sequence[NodeData],
    config: Config,
    on_epoch: Callable[[EpochRecord], None] | None,
    *,
    verbose: bool,
) -> Result:
    """The result of a search; after Ctrl-C the best until then, with a warning."""
    quiet = contextlib.nullcontext(lambda news: None)
    with _bar(config.train.epochs) if verbose else quiet as tell:

        def both(record: EpochRecord) -> None:
            tell(record)
            if on_epoch is not None:
                on_epoch(record)

        search = Search(graphs, config.model, config.train)
        try:
            result = search.run(on_epoch=both, on_step=tell)
        except KeyboardInterrupt:
            found = search.so_far()
            if found is None:
                raise
            result = found
    if result.interrupted:
        assert result.chosen is not None
        warnings.warn(
            f"Training was interrupted; the classifier holds the best model so far,"
            f" {result.chosen.names[0]} after {len(result.records)} epochs.",
            stacklevel=3,
        )
    return result


@contextlib.contextmanager
def _bar(epochs: int) -> Iterator[Tell]:
    """A bar in a terminal or a notebook: the candidate, its epoch and its score."""
    from rich.progress import BarColumn, Progress, TimeElapsedColumn

    columns: tuple[Any, ...] = "{task.description}", BarColumn(), TimeElapsedColumn()
    with Progress(*columns) as bar:
        task = bar.add_task("judging edges", total=None)

        def tell(news: EpochRecord | Step) -> None:
            if isinstance(news, Step):
                title = f"round {news.rung}/{news.rungs}, {news.name}"
                part = news.number - 1 + news.done / news.epochs
                done = {"completed": part, "total": news.total}
            else:
                val = "" if news.val is None else f", validation {news.val:.1%}"
                title = f"epoch {news.epoch}/{epochs}{val}"
                done = {"completed": news.epoch, "total": epochs}
            bar.update(task, description=title, **done)  # type: ignore[arg-type]

        yield tell
