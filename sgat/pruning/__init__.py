"""Removing edges by score and by rules: in memory, and from tables of any size."""

from sgat.pruning.apply import apply_rules, find_protected
from sgat.pruning.choice import Choice, choose_edges, chosen_scores
from sgat.pruning.rules import Reason, Rules

__all__ = [
    "Choice",
    "Reason",
    "Rules",
    "apply_rules",
    "choose_edges",
    "chosen_scores",
    "find_protected",
]
