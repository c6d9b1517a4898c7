"""Judging: is an edge real, or does it look like a pair that no edge joins?

A stage of its own, before any network. No label is needed: pairs that no edge joins
show how wrong edges look. Labels, where there are any, show where attacks aim.
"""

from sgat.judging.assortativity import (
    edges_ignore_classes,
    is_assortative,
    measure_assortativity,
)
from sgat.judging.edge_judge import EdgeJudge, JudgedGraph, judge
from sgat.judging.known_nodes import Example
from sgat.judging.reasons import REASONS

__all__ = [
    "REASONS",
    "EdgeJudge",
    "Example",
    "JudgedGraph",
    "edges_ignore_classes",
    "is_assortative",
    "judge",
    "measure_assortativity",
]
