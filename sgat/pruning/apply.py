"""Rules applied to the scored edges of a user's graph."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sgat.data.node_data import NodeData
from sgat.gates import Gates
from sgat.pruning.choice import choose_edges, chosen_scores
from sgat.pruning.rules import Rules
from sgat.scored import EdgeScores

logger = logging.getLogger(__name__)
Array = np.ndarray[Any, Any]


def apply_rules(
    rules: Rules,
    graphs: Sequence[NodeData],
    scores: Sequence[EdgeScores],
    protect: Sequence[Any] | None,
    gates: Gates,
) -> list[EdgeScores]:
    """The scores under the rules, with the gates of the kept edges.

    Args:
        rules: The rules, for each graph; edges without direction stay or go as one in
            any case.
        graphs: The graphs.
        scores: Scores of the edges of each.
        protect: For each graph edges that are never removed, see `find_protected`.
        gates: The gates of the model.

    Raises:
        ValueError: If `protect` is not one entry for each graph, or an entry is no
            collection of edges between nodes of its graph.
    """
    given = [None] * len(graphs) if protect is None else protect
    if len(given) != len(graphs):
        raise ValueError(
            f"`protect` must have one entry for each of the {len(graphs)} graphs, got"
            f" {len(given)}."
        )
    return [
        _applied(rules, *each, gates)
        for each in zip(graphs, scores, given, strict=True)
    ]


def _applied(
    rules: Rules, data: NodeData, scores: EdgeScores, protect: Any, gates: Gates
) -> EdgeScores:
    if not data.has_directions and rules.symmetric is None:
        rules = dataclasses.replace(rules, symmetric="max")
    graph = data.graph.to("cpu")
    choice = choose_edges(
        scores.log_alpha.numpy(force=True),
        graph,
        rules,
        protected=find_protected(protect, data),
        threshold=gates.threshold,
    )
    for note in choice.notes:
        logger.warning("%s.", note)
    return chosen_scores(choice, graph, gates)


def find_protected(protect: Any, data: NodeData) -> Array | None:
    """Mark the edges to protect, [E] bool; None without any.

    Args:
        protect: Pairs (src, dst) of the user's node ids, in any collection, or an array
            or tensor of node numbers, [2, P] as `edges`. Where edges have no direction,
            a pair names both.
        data: The graph.

    Raises:
        ValueError: If it is no collection of pairs, or names a node that is not there.
    """
    if protect is None:
        return None
    src, dst = _numbers(protect, data)
    graph = data.graph.to("cpu")
    ends = torch.from_numpy(src), torch.from_numpy(dst)
    place = graph.find(*ends).numpy()
    is_there = (place >= 0) | (src == dst)
    mask = np.zeros(graph.num_edges, dtype=bool)
    mask[place[place >= 0]] = True
    if not data.has_directions:
        place = graph.find(*ends[::-1]).numpy()
        mask[place[place >= 0]] = True
    if not is_there.all():
        logger.warning(
            "%d of the %d protected edges are not in the graph.",
            int((~is_there).sum()),
            len(is_there),
        )
    return mask


def _numbers(protect: Any, data: NodeData) -> tuple[Array, Array]:
    """Source and target of each protected edge as node numbers, [P] int64 each."""
    if isinstance(protect, Tensor | np.ndarray):
        pairs = torch.as_tensor(protect).cpu().numpy()
        if pairs.ndim == 2 and pairs.shape[0] != 2 and pairs.shape[1] == 2:
            pairs = pairs.T
        if pairs.ndim != 2 or len(pairs) != 2 or pairs.dtype.kind not in "iu":
            raise ValueError(
                "`protect` must hold node numbers in rows src and dst, [2, P], or be a"
                f" list of pairs, got {pairs.dtype} of shape {list(pairs.shape)}."
            )
        numbers = pairs.astype(np.int64)
        bad = (numbers < 0) | (numbers >= data.num_nodes)
        if bad.any():
            raise _unknown(int(numbers[bad][0]), data)
        return numbers[0], numbers[1]
    ids = range(data.num_nodes) if data.node_ids is None else data.node_ids
    position = {node: number for number, node in enumerate(ids)}
    found = np.empty((2, len(protect)), dtype=np.int64)
    for place, pair in enumerate(protect):
        if isinstance(pair, str) or not hasattr(pair, "__len__") or len(pair) != 2:
            raise ValueError(f"`protect` must hold pairs (src, dst), got {pair!r}.")
        for end, node in enumerate(pair):
            if node not in position:
                raise _unknown(node, data)
            found[end, place] = position[node]
    return found[0], found[1]


def _unknown(node: Any, data: NodeData) -> ValueError:
    return ValueError(f"`protect` names {node!r}, which is no node of {data.name!r}.")
