"""The data as a model sees it: every graph judged once, before the epochs start."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import torch
from torch import Tensor

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
    """The data as a model is to see it: judged, where gates go by evidence.

    The judge is fitted to the graphs with training nodes, and the scale of the scores
    to the share of the edges to `keep`.
    """
    if not isinstance(model, SGAT) or model.judge is None:
        return list(graphs)
    odds = model.judge.fit(examples(graphs), seed=seed)
    scorer = model.gating.scorer
    assert isinstance(scorer, EvidenceScorer)
    scorer.spread(torch.cat(odds), keep)
    left = iter(odds)
    return [
        _with_odds(data, next(left))
        if bool(data.train.any())
        else judge_anew(model, data)
        for data in graphs
    ]


def judge_anew(model: SGAT, data: NodeData) -> NodeData:
    """The data with its graph judged, whatever log-odds it has."""
    blank = _with_odds(data, None)
    return dataclasses.replace(data, graph=model.judged(data.x, blank.graph))


def _with_odds(data: NodeData, odds: Tensor | None) -> NodeData:
    graph = dataclasses.replace(data.graph, log_odds=odds)
    return dataclasses.replace(data, graph=graph)
