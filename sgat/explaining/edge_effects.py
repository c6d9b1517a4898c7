"""Predictions with some edges gone: of one node, of all nodes."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from sgat import ops
from sgat.data.node_data import NodeData
from sgat.data.prepare import restrict
from sgat.features import Features, SparseFeatures, concatenate
from sgat.gates import HardConcrete
from sgat.graph import Graph
from sgat.models import SGAT
from sgat.scored import ScoredGraph
from sgat.training import metrics

MOST_ENTRIES = 20_000_000
"""Numbers in features, layers and edges of the copies that are evaluated in one go."""
Count = Callable[[int, int], None]
"""Called with the number of edges that were dropped, and that will be."""
LEAST_REST = 0.01
"""Attention that is left without an edge, at least, in an estimate of its effect."""


class Effect(NamedTuple):
    """Change of all predictions if some edges are gone.

    `change` is that of the probability of what was predicted, summed over all nodes,
    and over all labels where nodes have several.
    """

    change: float
    flips: int  # nodes whose prediction becomes another
    reached: int  # nodes that the edges could reach


@torch.no_grad()
def logits_without(
    model: SGAT,
    scored: ScoredGraph,
    node: int,
    dropped: Sequence[Tensor],
    *,
    progress: Count | None = None,
) -> Tensor:
    """Class scores of a node without each set of edges, exactly, [len(dropped), C].

    The other edges keep the gates they have in the whole graph, also where gates look
    at more than the ends of their edge, and the target of a missing edge shares its
    attention among what is left. Only what can reach the node through the layers is
    evaluated: copies of its neighbourhood side by side, each without its set of edges.
    """
    data = scored.data
    reached = torch.zeros(data.num_nodes, dtype=torch.bool)
    reached[node] = True
    nodes, field, position = _receptive_field(scored, reached, model.reach)
    device = next(model.parameters()).device
    here = int(torch.searchsorted(nodes, node))
    x, width = field.x, model.gating.heads * model.gating.out_channels
    features = len(x.value) if isinstance(x, SparseFeatures) else x.numel()
    entries = features + field.num_nodes * width + field.graph.num_edges
    size = max(MOST_ENTRIES // entries, 1)
    parts = []
    for start in range(0, len(dropped), size):
        part = dropped[start : start + size]
        graphs = [_without(field.graph, position[edges]) for edges in part]
        copies = concatenate([x] * len(graphs)).to(device)
        logits = _evaluate(model, copies, Graph.merge(graphs).to(device))
        parts.append(logits[here :: field.num_nodes].cpu())
        if progress is not None:
            progress(min(start + size, len(dropped)), len(dropped))
    return torch.cat(parts) if parts else torch.zeros(0, data.num_classes)


def estimated_effects(model: SGAT, scored: ScoredGraph) -> Tensor:
    """What dropping each edge changes, see `Effect.change`, to first order, [E].

        -w_ij ∂L/∂w_ij / (1 - a_ij),   w_ij = A_ij z_ij,   L = Σ_i P_i(predicted class)

    One backward pass serves all edges. A target shares the attention a_ij of a missing
    edge among the rest, so its message changes by 1 / (1 - a_ij) times the derivative;
    with this factor only what follows in the network is linearised. The read-out
    "beliefs" sums messages and needs no factor. Removed edges have 0.
    """
    data, scores = scored.data, scored.edges
    if not model.reach:
        return torch.zeros_like(scores.gate)
    device = next(model.parameters()).device
    gates = HardConcrete()
    # With all gates halfway, and the weights adjusted, the fast backends have a
    # gradient for every edge.
    location = torch.zeros((), requires_grad=True)
    value = gates.value(location)
    (slope,) = torch.autograd.grad(value, location)
    half = value.detach()
    weight = scores.gate * data.graph.edge_weight.to(scores.gate)
    graph = _chosen(data.graph, scores.kept, weight / half).to(device)
    zero = torch.zeros(graph.num_nodes, dtype=weight.dtype, device=device)
    score = torch.zeros(graph.num_edges, dtype=weight.dtype, device=device)
    score.requires_grad_()
    backend = model.gating.backend
    opened = ops.open_edges(graph, zero, zero, score, gates=gates, backend=backend)
    logits = model(data.x.to(device), opened)
    (gradient,) = torch.autograd.grad(_sureness(data, logits, logits).sum(), score)
    estimate = torch.zeros_like(weight)
    estimate[scores.kept] = -gradient.cpu() * float(half / slope)
    if scores.attention is None:
        return estimate
    return estimate / (1 - scores.attention).clamp(min=LEAST_REST)


@torch.no_grad()
def effect_without(model: SGAT, scored: ScoredGraph, dropped: Tensor) -> Effect:
    """The exact change of all predictions without the edges at some positions, [L].

    Only what they can reach through the layers is evaluated, with them and without.
    """
    data, scores, layers = scored.data, scored.edges, model.reach
    graph = data.graph
    if not layers:
        return Effect(0.0, 0, 0)
    src, dst = graph.src.long(), graph.dst.long()
    reached = torch.zeros(graph.num_nodes, dtype=torch.bool)
    reached[dst[dropped]] = True
    for _ in range(layers - 1):
        reached[dst[scores.kept & reached[src]]] = True
    nodes, field, position = _receptive_field(scored, reached, layers)
    device = next(model.parameters()).device
    x, here = field.x.to(device), reached[nodes]
    before, after = (
        _evaluate(model, x, g.to(device)).cpu()[here]
        for g in (field.graph, _without(field.graph, position[dropped]))
    )
    change = _sureness(data, before, after) - _sureness(data, before, before)
    one, other = (metrics.decide(part, data.is_multilabel) for part in (before, after))
    is_other = (one != other).any(dim=1) if data.is_multilabel else one != other
    return Effect(float(change.sum()), int(is_other.sum()), int(here.sum()))


def both_ways(data: NodeData, edge: Tensor) -> Tensor:
    """The edge, and its reverse where edges have no direction."""
    if data.has_directions:
        return edge
    return torch.cat([edge, data.graph.reverse_edge[edge]])


def _sureness(data: NodeData, first: Tensor, logits: Tensor) -> Tensor:
    """Probability of what `first` predicts, [N]; with several labels, [N, C]."""
    wide = logits.double()
    if data.is_multilabel:
        return torch.where(first > 0, wide, -wide).sigmoid()
    predicted = first.argmax(dim=1, keepdim=True)
    return wide.softmax(dim=1).gather(1, predicted).squeeze(1)


def _receptive_field(
    scored: ScoredGraph, wanted: Tensor, layers: int
) -> tuple[Tensor, NodeData, Tensor]:
    """What can reach some nodes: the nodes, ascending, and the kept edges among them.

    With it comes where each edge of the graph went, -1 if it is not among them.
    """
    data, scores = scored.data, scored.edges
    graph = data.graph
    src, dst = graph.src.long(), graph.dst.long()
    reached = wanted.clone()
    needed = torch.zeros(graph.num_edges, dtype=torch.bool)
    for _ in range(layers):
        needed = scores.kept & reached[dst]
        reached[src[needed]] = True
    weight = scores.gate * graph.edge_weight.to(scores.gate)
    kept = dataclasses.replace(data, graph=_chosen(graph, needed, weight))
    nodes = reached.nonzero().squeeze(1)
    position = torch.where(needed, needed.cumsum(0) - 1, -1)
    return nodes, restrict(kept, nodes), position


def _without(graph: Graph, edges: Tensor) -> Graph:
    """The graph without edges at these positions; -1 is none."""
    stays = torch.ones(graph.num_edges, dtype=torch.bool)
    stays[edges[edges >= 0]] = False
    return graph.select(stays)


def _chosen(graph: Graph, edges: Tensor, weight: Tensor) -> Graph:
    """Some edges with new weights; `square_sum` stays that of the whole graph."""
    chosen = graph.select(edges, weight)
    return dataclasses.replace(chosen, square_sum=graph.square_sums)


def _evaluate(model: SGAT, x: Features, graph: Graph) -> Tensor:
    """Class scores over edges whose gates are in their weights already."""
    dtype, backend = graph.edge_weight.dtype, model.gating.backend
    return model(x, ops.all_open(graph, dtype=dtype, backend=backend))
