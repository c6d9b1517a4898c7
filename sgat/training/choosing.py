"""Choosing by the data: the scorer and the read-out that "auto" stands for."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from sgat.judging import EDGE_LIMIT, edges_ignore_classes, is_assortative
from sgat.training.judged_data import examples

if TYPE_CHECKING:
    from sgat.config import ModelConfig
    from sgat.data.node_data import NodeData


def chosen_scorer(
    model: ModelConfig, graphs: Sequence[NodeData]
) -> Literal["evidence", "additive"]:
    """The scorer that "auto" stands for on these graphs.

    Gates go by evidence where that can be had: not on more edges than
    `EDGE_LIMIT`, nor in the transductive mode, which takes no scorer but the
    paper's.
    """
    if model.gate_mode == "transductive" or is_large(graphs):
        return "additive"
    return "evidence"


def is_large(graphs: Sequence[NodeData]) -> bool:
    """Whether graphs have more edges than are judged unless asked for."""
    return sum(data.graph.num_edges for data in graphs) > EDGE_LIMIT


def chosen_readout(model: ModelConfig, graphs: Sequence[NodeData]) -> dict[str, Any]:
    """The read-out that "auto" stands for on these graphs, as entries of `ModelConfig`.

    With gates by evidence class scores are averaged along the edges where edges tend to
    join nodes of one class. Gates that training moves learn better by layers of
    attention, and several labels per node depend on more of a neighbour than its
    scores. Where edges do not join nodes of one class, beliefs travel; no step,
    whatever `layers` was, if edges ignore the classes, for then neighbours say nothing
    of a node. Gates by evidence still judge the edges.
    """
    by_evidence = model.scorer == "evidence"
    known, num_classes = examples(graphs), graphs[0].num_classes
    if is_assortative(known, num_classes):
        if not by_evidence or any(data.is_multilabel for data in graphs):
            return {"readout": "attention"}
        return {"readout": "diffusion"}
    if by_evidence and edges_ignore_classes(known, num_classes):
        return {"readout": "beliefs", "layers": 0}
    return {"readout": "beliefs"}


def resolved(model: ModelConfig, graphs: Sequence[NodeData]) -> ModelConfig:
    """The settings of a network with those that depend on the data filled in."""
    if model.readout == "beliefs" and any(data.is_multilabel for data in graphs):
        raise ValueError(
            "`readout` must not be beliefs where nodes have several labels: a belief is"
            " in one class; use attention, diffusion or auto."
        )
    if model.scorer == "auto":
        model = dataclasses.replace(model, scorer=chosen_scorer(model, graphs))
    if model.readout == "auto":
        model = dataclasses.replace(model, **chosen_readout(model, graphs))
    if model.symmetric is None:
        symmetric = not any(data.has_directions for data in graphs)
        return dataclasses.replace(model, symmetric=symmetric)
    if model.symmetric and not all(data.graph.is_undirected for data in graphs):
        raise ValueError(
            "`symmetric` must be false on a directed graph: some edge has no reverse"
            " of the same weight."
        )
    return model
