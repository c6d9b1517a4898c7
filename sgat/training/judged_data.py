"""The data as a model sees it: every graph judged once, before the epochs start."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import torch

from sgat.data.node_data import NodeData
from sgat.judging import Example
from sgat.models import SGAT
from sgat.node_classifier import NodeClassifier
from sgat.scorers import EvidenceScorer


def examples(graphs: Sequence[NodeData]) -> list[Example]:
    """The graphs with training nodes, and the classes of these nodes."""
    training = [data for data in graphs if bool(data.train.any())]
    return [Example.of(data.graph, data.x, data.y, data.train) for data in training]


def observe(
    model: NodeClassifier,
    graphs: Sequence[NodeData],
    *,
    seed: int,
    keep: float | None = None,
) -> list[NodeData]:
    """Where gates go by evidence, fit the judge of a model and judge every graph.

    Args:
        model: The model; its judge and the scale of its scores change.
        graphs: The data, on the device of the model. Graphs with training nodes are
            learned from; all are judged.
        seed: Of all that is drawn.
        keep: Share of the edges that training is to keep; None if it is free.

    Returns:
        The data as the model is to see it.
    """
    if not isinstance(model, SGAT) or model.judge is None:
        return list(graphs)
    model.judge.fit(examples(graphs), seed=seed)
    judged = judge_anew(model, graphs)
    scorer = model.gating.scorer
    assert isinstance(scorer, EvidenceScorer)
    odds = [example.graph.log_odds for example in examples(judged)]
    scorer.spread(torch.cat([part for part in odds if part is not None]), keep)
    return judged


def judge_anew(model: SGAT, graphs: Sequence[NodeData]) -> list[NodeData]:
    """The data with each graph judged by itself, whatever log-odds it has."""
    blank = [dataclasses.replace(data.graph, log_odds=None) for data in graphs]
    return [
        dataclasses.replace(data, graph=model.judged(data.x, graph))
        for data, graph in zip(graphs, blank, strict=True)
    ]
