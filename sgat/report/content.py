"""Content: all that a page is made of.

Tested by tests/report/test_sections.py.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sgat.config import Config
from sgat.explaining.removal import Removal
from sgat.explaining.removal_curve import RemovalPoint
from sgat.scored import ScoredGraph


@dataclasses.dataclass(frozen=True, eq=False)
class Content:
    """All that a page is made of.

    Attributes:
        config: Settings of the run.
        summary: Its numbers.
        history: One row per epoch.
        scored: Its graphs with their scores; features are not needed.
        removal: All graphs together before and after.
        curve: Score against the share of edges removed.
        snapshots: File with scores and predictions of the first graph over the epochs;
            None without.
    """

    config: Config
    summary: dict[str, Any]
    history: Any
    scored: Sequence[ScoredGraph]
    removal: Removal
    curve: Sequence[RemovalPoint]
    snapshots: Path | None = None

    @property
    def is_multilabel(self) -> bool:
        """Whether a node can have several labels."""
        return self.scored[0].data.is_multilabel

    @property
    def score_title(self) -> str:
        """Name of the score that the task is judged by."""
        return "micro-F1" if self.is_multilabel else "accuracy"
