"""Task: one training with all its settings, and the key of its record."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from functools import cached_property
from typing import Any

from sgat.data.node_data import NodeData
from sgat_lab.config import LabConfig

FORMAT = 1
"""Counted up when a training with the same settings would give other numbers."""

DEFAULTS = LabConfig()


def differences(config: LabConfig) -> dict[str, Any]:
    """Entries that are not the defaults, by section; device and seed left out."""
    found: dict[str, Any] = {}
    for part in dataclasses.fields(config):
        entries = getattr(config, part.name)
        default = getattr(DEFAULTS, part.name)
        names = [entry.name for entry in dataclasses.fields(entries)]
        found[part.name] = {
            name: _plain(value)
            for name in names
            if (value := getattr(entries, name)) != getattr(default, name)
            and name not in ("device", "seed")
        }
    return found


def _plain(value: Any) -> Any:
    is_object = dataclasses.is_dataclass(value) and not isinstance(value, type)
    return dataclasses.asdict(value) if is_object else value


@dataclasses.dataclass(frozen=True)
class Task:
    """One training: settings, data and seed; the same task gives the same record.

    Attributes:
        row: Name of the method with its settings, such as "gat-2head".
        config: All settings, the data set, its split and the seed included.
        noise: Edges to add before training: "random" or "cross-class" and how many, as
            a share of those there are; None for none.
        probe: What to measure beyond the scores; a name in
            `sgat_lab.trials.probes`.
    """

    row: str
    config: LabConfig
    noise: tuple[str, float] | None = None
    probe: str = ""

    @cached_property
    def key(self) -> str:
        """Name of the record; the device plays no part.

        Only settings that are not the defaults count, so that a new setting leaves the
        key of an old training as it was.
        """
        settings = differences(self.config)
        settings["train"].pop("checkpoint_every", None)
        settings["train"]["seed"] = self.config.train.seed
        content = [FORMAT, self.row, settings, self.noise, self.probe]
        text = json.dumps(content, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:24]

    def prepared(self, graphs: list[NodeData]) -> list[NodeData]:
        """The data to train on, made of the data as it was loaded; here the same."""
        return graphs
