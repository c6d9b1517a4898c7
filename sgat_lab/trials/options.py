"""Options: the extent of an experiment."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from sgat_lab.config import LabConfig

QUICK_EPOCHS = 20


@dataclasses.dataclass(frozen=True)
class Options:
    """Extent of an experiment.

    Attributes:
        runs: Seeds 0 to runs - 1.
        only: Names of rows and data sets to keep; empty keeps all. Where it names no
            row, all rows are kept, and where no data set, all of them.
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

    @property
    def flags(self) -> list[str]:
        """Flags of the command line that give these, defaults left out."""
        found = ["--quick"] if self.quick else []
        if self.runs != Options.runs:
            found.append(f"--runs {self.runs}")
        if self.only:
            found.append(f"--only {','.join(self.only)}")
        return found

    def chosen(self, names: Sequence[str]) -> list[str]:
        """Of these names those to run: the ones in `only`, or all if none is there."""
        wanted = [name for name in names if name in self.only]
        if self.quick and not wanted:
            wanted = [name for name in names if not _is_large(name)] or list(names[:1])
        return wanted or list(names)

    def concern(self, names: Sequence[str]) -> bool:
        """Whether an experiment with these rows and data sets is asked for at all."""
        return not self.only or any(name in names for name in self.only)

    def applied(self, config: LabConfig) -> LabConfig:
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
                choices = ", ".join(dict.fromkeys(known)) or "none"
                raise ValueError(
                    f"`only` must name rows or data sets, got {name!r}; known here:"
                    f" {choices}."
                )


LARGE = ("citeseer", "pubmed", "computers", "photo", "actor", "twitch", "wisconsin")
"""Data sets that a quick look leaves out."""


def _is_large(name: str) -> bool:
    return name in LARGE or name.startswith(("ppi", "reddit", "cornell"))
