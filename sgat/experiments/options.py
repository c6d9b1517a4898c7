"""Options: how much of an experiment to run."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from sgat.config import Config

QUICK_EPOCHS = 20


@dataclasses.dataclass(frozen=True)
class Options:
    """How much of an experiment to run.

    Attributes:
        runs: Seeds 0 to runs - 1.
        only: Names of rows and data sets to keep; empty keeps all. Of rows and of data
            sets at least one must be named for the other to be restricted.
        quick: A look at everything in minutes: one seed, few epochs, small graphs. The
            numbers mean nothing.
    """

    runs: int = 10
    only: tuple[str, ...] = ()
    quick: bool = False

    @property
    def seeds(self) -> range:
        """The seeds to run."""
        return range(1 if self.quick else self.runs)

    def chosen(self, names: Sequence[str]) -> list[str]:
        """Of these names those to run: the ones in `only`, or all if none is there."""
        if self.quick:
            names = [name for name in names if not _is_large(name)] or list(names[:1])
        wanted = [name for name in names if name in self.only]
        return wanted or list(names)

    def applied(self, config: Config) -> Config:
        """The settings, with fewer epochs if it is to be quick."""
        if not self.quick:
            return config
        epochs = min(config.train.epochs, QUICK_EPOCHS)
        return config.replace(train={"epochs": epochs, "warmup": None})

    def check(self, known: Sequence[str]) -> None:
        """Refuse a name in `only` that no experiment knows.

        Raises:
            ValueError: If there is one.
        """
        for name in self.only:
            if name not in known:
                raise ValueError(
                    f"`--only` must name rows or data sets, got {name!r}; known here:"
                    f" {', '.join(known)}."
                )


LARGE = ("citeseer", "pubmed", "computers", "photo", "actor", "twitch", "wisconsin")
"""Data sets that a quick look leaves out."""


def _is_large(name: str) -> bool:
    return name in LARGE or name.startswith(("ppi", "reddit", "cornell"))
