"""Judging: is an edge real, or does it look like any random pair of nodes?

A stage of its own, before any network. No label is needed: pairs that no edge joins
show how noise looks. Labels, where there are any, add which classes edges join.
"""

from sgat.judging.assortativity import (
    edges_ignore_classes,
    is_assortative,
    measure_assortativity,
)
from sgat.judging.edge_judge import EDGE_LIMIT, EdgeJudge, JudgedGraph, judge
from sgat.judging.known_nodes import Example

__all__ = [
    "EDGE_LIMIT",
    "EdgeJudge",
    "Example",
    "JudgedGraph",
    "edges_ignore_classes",
    "is_assortative",
    "judge",
    "measure_assortativity",
]
