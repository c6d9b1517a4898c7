"""What a trained model would say of one node if some of its edges were gone."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from sgat import ops
from sgat.data.node_data import NodeData
from sgat.data.prepare import restrict
from sgat.edge_scores import EdgeScores
from sgat.features import Features, SparseFeatures, concatenate
from sgat.graph import Graph
from sgat.models import SGAT

MOST_ENTRIES = 20_000_000
"""Numbers in features, layers and edges of the copies that are evaluated in one go."""


@torch.no_grad()
def logits_without(
    model: SGAT,
    data: NodeData,
    scores: EdgeScores,
    node: int,
    dropped: Sequence[Tensor],
    *,
    progress: Callable[[int], None] | None = None,
) -> Tensor:
    """Class scores of a node with some edges gone, exactly, one row per set of edges.

    The other edges keep their gates, and the target of a missing edge shares its
    attention among what is left. Only what can reach the node through the layers is
    evaluated: copies of its neighbourhood side by side, each without its set of edges.

    Args:
        model: The trained network, in evaluation mode.
        data: The graph, on the CPU.
        scores: Scores of its edges by this model.
        node: The node.
        dropped: Positions of the edges of each set in the graph; an empty set gives
            the scores as they are.
        progress: Called with the number of sets that are done.

    Returns:
        Scores, [len(dropped), C], on the CPU.
    """
    field, position = _receptive_field(data, scores, node, len(model.convs))
    device = next(model.parameters()).device
    here = int(torch.searchsorted(field.nodes, node))
    size = max(MOST_ENTRIES // _num_entries(model, field.data), 1)
    parts = []
    for start in range(0, len(dropped), size):
        graphs = []
        for edges in dropped[start : start + size]:
            place = position[edges]
            stays = torch.ones(field.data.graph.num_edges, dtype=torch.bool)
            stays[place[place >= 0]] = False
            graphs.append(field.data.graph.select(stays))
        x = concatenate([field.data.x] * len(graphs)).to(device)
        logits = _evaluate(model, x, Graph.merge(graphs).to(device))
        parts.append(logits[here :: field.data.num_nodes].cpu())
        if progress is not None:
            progress(min(start + size, len(dropped)))
    return torch.cat(parts) if parts else torch.zeros(0, data.num_classes)


@dataclasses.dataclass(frozen=True, eq=False)
class _Field:
    """What can reach a node: the nodes, ascending, and the kept edges among them."""

    nodes: Tensor
    data: NodeData


def _receptive_field(
    data: NodeData, scores: EdgeScores, node: int, layers: int
) -> tuple[_Field, Tensor]:
    """The neighbourhood of a node, and where each edge of the graph went, -1 if out."""
    graph = data.graph
    src, dst = graph.src.long(), graph.dst.long()
    reached = torch.zeros(graph.num_nodes, dtype=torch.bool)
    reached[node] = True
    needed = torch.zeros(graph.num_edges, dtype=torch.bool)
    for _ in range(layers):
        needed = scores.kept & reached[dst]
        reached[src[needed]] = True
    weight = scores.gate * graph.edge_weight.to(scores.gate)
    kept = dataclasses.replace(
        data, graph=graph.select(needed, weight), edge_features=None
    )
    nodes = reached.nonzero().squeeze(1)
    position = torch.where(needed, needed.cumsum(0) - 1, -1)
    return _Field(nodes, restrict(kept, nodes)), position


def _evaluate(model: SGAT, x: Features, graph: Graph) -> Tensor:
    """Class scores over edges whose gates are in their weights already."""
    opened = ops.all_open(
        graph, dtype=graph.edge_weight.dtype, backend=model.gating.backend
    )
    logits: Tensor = model(x, opened)
    return logits


def _num_entries(model: SGAT, data: NodeData) -> int:
    """Numbers that one copy takes up, one at least."""
    x, width = data.x, model.gating.heads * model.gating.out_channels
    features = len(x.value) if isinstance(x, SparseFeatures) else x.numel()
    return features + data.num_nodes * width + data.graph.num_edges
