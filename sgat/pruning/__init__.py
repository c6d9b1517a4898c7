"""Removing edges by score and by rules: in memory, and from tables of any size."""

from sgat.config.pruning import Rules
from sgat.pruning.choice import (
    Choice,
    Reason,
    apply_rules,
    choose_edges,
    chosen_scores,
    find_protected,
)

__all__ = [
    "Choice",
    "Reason",
    "Rules",
    "apply_rules",
    "choose_edges",
    "chosen_scores",
    "find_protected",
]
