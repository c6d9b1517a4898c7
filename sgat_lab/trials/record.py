"""Record: results and circumstances of one training."""

from __future__ import annotations

import dataclasses
import json
from typing import Any


@dataclasses.dataclass(frozen=True)
class Record:
    """Results and circumstances of one training.

    Attributes:
        key: `Task.key`.
        row: `Task.row`.
        data: Name of the data set.
        split: Name of the split.
        seed: Of split, weights and noise.
        noise: `Task.noise`.
        probe: `Task.probe`.
        test: Score on the test nodes, looked at once, with the selected model.
        val: Score on the validation nodes.
        removed: Share of edges that evaluation removes, self-loops left out.
        removed_sampled: The same for the gates drawn in training in that epoch.
        edges: Number of edges before anything was removed.
        best_epoch: The epoch that was selected.
        epochs: Number of epochs.
        seconds: Time of training.
        parameters: Number of learned numbers.
        settings: What differs from the defaults, by section.
        extra: What the probe found.
        device: What it ran on.
        date: When, in UTC.
        commit: Of the source, where it is known.
        versions: Of the libraries.
    """

    key: str
    row: str
    data: str
    split: str
    seed: int
    noise: tuple[str, float] | None
    probe: str
    test: float
    val: float | None
    removed: float
    removed_sampled: float
    edges: int
    best_epoch: int
    epochs: int
    seconds: float
    parameters: int
    settings: dict[str, Any]
    extra: dict[str, Any]
    device: str
    date: str
    commit: str
    versions: dict[str, str]

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and strings, for JSON."""
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, text: str | bytes, where: str) -> Record:
        """Read a record.

        Raises:
            ValueError: If the text is none.
        """
        try:
            content = json.loads(text)
            noise = content["noise"]
            content["noise"] = None if noise is None else (noise[0], noise[1])
            return cls(**content)
        except (ValueError, TypeError, KeyError):
            raise ValueError(
                f"{where} is no record of this version; move it away and run again."
            ) from None
