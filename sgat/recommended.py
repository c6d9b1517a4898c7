"""The recommended settings: what a graph gets where nobody says otherwise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from sgat.config import ModelConfig
    from sgat.data.node_data import NodeData

RECOMMENDED: Mapping[str, str] = {"scorer": "auto", "readout": "auto"}
"""Entries of `ModelConfig` for the user's own data; those of the paper are its own."""
MOST_JUDGED = 10_000_000
"""Edges up to which evidence is sought, all in memory: gigabytes, more so with many
classes, for messages are held for every edge and class."""


def chosen_scorer(
    model: ModelConfig, graphs: Sequence[NodeData]
) -> Literal["evidence", "additive"]:
    """What the scorer "auto" stands for on these graphs.

    Gates go by evidence where that can be had: not on more than `MOST_JUDGED` edges,
    nor in the transductive mode, which takes no scorer but the paper's.
    """
    if model.gate_mode == "transductive" or is_large(graphs):
        return "additive"
    return "evidence"


def is_large(graphs: Sequence[NodeData]) -> bool:
    """Whether graphs have more edges than evidence is sought for."""
    return sum(data.graph.num_edges for data in graphs) > MOST_JUDGED


def chosen_readout(model: ModelConfig, graphs: Sequence[NodeData]) -> dict[str, Any]:
    """What the read-out "auto" stands for on these graphs, as entries of `ModelConfig`.

    Neighbours are averaged where edges tend to join nodes of one class. Where they do
    not, features stay with their node and beliefs travel; no step, whatever `layers`
    was, if edges say nothing of the classes, for then there is nothing to hear. Gates
    by evidence tell edges apart all the same; others would learn nothing.
    """
    # The command line reads the settings above, and need not load torch for that.
    from sgat.evidence import is_assortative, says_nothing

    if is_assortative(graphs):
        return {"readout": "attention"}
    if model.scorer == "evidence" and says_nothing(graphs):
        return {"readout": "beliefs", "layers": 0}
    return {"readout": "beliefs"}
