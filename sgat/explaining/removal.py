"""Removal: a graph before and after, kept against removed edges, and what more costs.

Tested by tests/explaining/test_removal.py and tests/explaining/test_removal_curve.py.
"""

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from sgat import ops
from sgat.config.checked import Finite, Share, Size
from sgat.config.sections import Metric
from sgat.data.node_data import NodeData, merge
from sgat.data.prepare import component_of_nodes
from sgat.data.statistics import known_neighbours
from sgat.features import Features, SparseFeatures
from sgat.graph import Graph
from sgat.models import SGAT
from sgat.ops.common_neighbours import row_products
from sgat.scored import ScoredGraph, node_score
from sgat.training import metrics
from sgat.training.budget import bias_shift

Array = np.ndarray[Any, Any]

SAMPLE = 50_000
"""Kept, and as many removed, edges that are compared neighbour by neighbour at most."""
STEPS = 20
"""Steps of the curve from no edge to all edges removed."""
BLOCK = 4_000_000
"""Entries of neighbour lists and feature rows that are looked at in one go."""


@dataclasses.dataclass(frozen=True)
class Side:
    """A graph, before or after edges were removed; self-loops are never counted.

    `homophily` is the share of the edges between labelled nodes that join one class,
    and `node_homophily` its mean over the nodes with such an edge into them. Both are
    None without such edges, or where nodes have several labels.
    """

    edges: Size  # directed
    homophily: Share | None
    node_homophily: Share | None
    components: Size  # directions ignored
    largest_component: Size  # its nodes
    isolated: Size  # nodes without any edge
    degrees: list[Size]  # nodes by in-degree, [largest in-degree + 1]

    @property
    def numbers(self) -> dict[str, tuple[str, float | None]]:
        """What it is, for people, and the value of each number, the degrees as two."""
        nodes = sum(self.degrees)
        mean = self.edges / nodes if nodes else None
        return {
            "edges": ("edges", self.edges),
            "homophily": ("edges within a class", self.homophily),
            "node_homophily": ("the same, mean over nodes", self.node_homophily),
            "components": ("connected components", self.components),
            "largest_component": ("nodes of the largest", self.largest_component),
            "isolated": ("nodes without any edge", self.isolated),
            "mean_degree": ("mean in-degree", mean),
            "largest_degree": ("largest in-degree", len(self.degrees) - 1),
        }


@dataclasses.dataclass(frozen=True)
class Contrast:
    """One property of edges, its mean over the kept and over the removed."""

    name: str
    title: str  # for people
    kept: Finite | None  # None where there are no edges to say it of
    removed: Finite | None
    is_sampled: bool = False  # whether only some edges were looked at, see `Removal`


@dataclasses.dataclass(frozen=True)
class Removal:
    """A graph before and after edges were removed, and kept against removed edges.

    At most `sample` edges of either kind are behind a contrast that is sampled, the
    same ones every time.
    """

    before: Side
    after: Side
    contrasts: tuple[Contrast, ...]
    sample: Size


@dataclasses.dataclass(frozen=True)
class RemovalPoint:
    """The model with its lowest-scored edges removed."""

    removed: Finite  # share of all edges
    threshold: Finite  # log α up to which edges are removed
    validation: Finite | None  # score on the validation nodes; None without any
    test: Finite | None  # score on the test nodes; None without any
    is_trained: bool = False  # whether the model was trained with this threshold


def removal_of(scored: Sequence[ScoredGraph]) -> Removal:
    """Describe what the scores remove, from all graphs together as one."""
    graphs = [part.data for part in scored]
    return describe_removal(
        graphs[0] if len(graphs) == 1 else merge(graphs),
        torch.cat([part.edges.kept for part in scored]),
        torch.cat([part.prediction for part in scored]),
    )


def describe_removal(
    data: NodeData,
    kept: Tensor,
    prediction: Tensor | None = None,
    *,
    sample: int = SAMPLE,
) -> Removal:
    """Describe a graph before and after, and how kept and removed edges differ.

    Degrees and common neighbours are those of the whole graph, directions ignored.
    Labels agree or not; with several labels per node, it is |A ∩ B| / |A ∪ B| of the
    labels of the two ends, where one of them has any. `prediction` is the class of each
    node, [N], or 0/1 per label, [N, C]; at most `sample` edges of either kind are
    compared by common neighbours and features.
    """
    graph, whole, after = data.graph, data.graph.undirected(), data.graph.select(kept)
    contrasts = [_agreement("label", data.y, graph, kept, after)]
    if prediction is not None:
        contrasts.append(_agreement("prediction", prediction, graph, kept, after))
    log = whole.row_ptr.diff().clamp(min=1).double().log().cpu()
    for end, name in (("source", "src"), ("target", "dst")):
        # The geometric mean, which a few hubs do not decide.
        title = f"degree of the {end} (geometric mean)"
        times, stay = (
            getattr(part, name).bincount(minlength=len(log)).cpu()
            for part in (graph, after)
        )
        sums = [(float(n.double() @ log), int(n.sum())) for n in (stay, times - stay)]
        one, other = (math.exp(total / n) if n else None for total, n in sums)
        contrasts.append(Contrast(f"{end}_degree", title, one, other))
    edge, is_sampled = _sampled(kept, sample)
    few = graph.src[edge].numpy(force=True), graph.dst[edge].numpy(force=True)
    each = np.ones((graph.num_nodes, 1))
    common = row_products(whole.to_scipy(), *few, each)[:, 0]
    compared = (
        ("common_neighbours", "common neighbours", common),
        ("feature_cosine", "cosine of the features", _cosines(data.x, *few)),
    )
    mask = kept[edge].numpy(force=True)
    for name, title, value in compared:
        contrasts.append(_contrast(name, title, value, mask, is_sampled))
    sides = _side(data, graph), _side(data, after)
    return Removal(*sides, tuple(contrasts), sample)


def _side(data: NodeData, graph: Graph) -> Side:
    size = np.bincount(component_of_nodes(graph))
    degree = graph.row_ptr.diff().numpy(force=True)
    homophily, node_homophily = _homophily(data, graph)
    return Side(
        edges=graph.num_edges,
        homophily=homophily,
        node_homophily=node_homophily,
        components=len(size),
        largest_component=int(size.max(initial=0)),
        isolated=int((size == 1).sum()),
        degrees=np.bincount(degree, minlength=1).tolist(),
    )


def _homophily(data: NodeData, graph: Graph) -> tuple[float | None, float | None]:
    """Share of edges within a class, and the mean over nodes of that share."""
    if data.is_multilabel:
        return None, None
    known, agreeing = known_neighbours(data.y, graph)
    if not int(known.sum()):
        return None, None
    share = agreeing.double() / known
    return int(agreeing.sum()) / int(known.sum()), float(share[known > 0].mean())


def _agreement(
    what: str, value: Tensor, graph: Graph, kept: Tensor, after: Graph
) -> Contrast:
    """How often the two ends have the same class, or what share of their labels."""
    if value.dim() == 1:
        every, stay = (
            np.array([int(n.sum()) for n in known_neighbours(value, part)])
            for part in (graph, after)
        )
        counts = (stay.tolist(), (every - stay).tolist())
        one, other = (same / known if known else None for known, same in counts)
        return Contrast(f"same_{what}", f"same {what}", one, other)
    src, dst, mask = (p.numpy(force=True) for p in (graph.src, graph.dst, kept))
    labels = (value.numpy(force=True) > 0).astype(np.float32)
    count = labels.sum(axis=1)
    rows = sparse.csr_array(labels)
    common = _products(rows, src, dst)
    union = count[src] + count[dst] - common
    alike = np.divide(common, union, out=np.full(len(src), np.nan), where=union > 0)
    return _contrast(f"same_{what}", f"share of common {what}s", alike, mask)


def _contrast(
    name: str, title: str, value: Array | None, mask: Array, is_sampled: bool = False
) -> Contrast:
    """The means over kept and removed edges; NaN is an edge it cannot be said of."""
    if value is None:
        return Contrast(name, title, None, None)
    known = ~np.isnan(value)
    sides = (value[side & known] for side in (mask, ~mask))
    one, other = (float(v.mean(dtype=np.float64)) if len(v) else None for v in sides)
    return Contrast(name, title, one, other, is_sampled)


def _sampled(kept: Tensor, most: int) -> tuple[Tensor, bool]:
    """At most so many kept and so many removed edges, ascending; whether it is some."""
    generator = np.random.default_rng(0)
    chosen, is_sampled = [], False
    for mask in (kept, ~kept):
        side = mask.nonzero().squeeze(1)
        if len(side) > most:
            is_sampled = True
            some = generator.choice(len(side), most, replace=False)
            side = side[torch.from_numpy(some).to(side.device)]
        chosen.append(side)
    return torch.cat(chosen).sort().values, is_sampled


def _products(rows: Any, one: Array, other: Array) -> Array:
    """Inner products of pairs of rows, dense or sparse, [L], a part at a time."""
    is_sparse = sparse.issparse(rows)
    length = np.diff(rows.indptr) if is_sparse else np.full(*rows.shape)
    block = np.cumsum(length[one] + length[other]) // BLOCK
    cuts = np.flatnonzero(np.diff(block)) + 1
    pairs = zip(np.split(one, cuts), np.split(other, cuts), strict=True)
    return np.concatenate(
        [(rows[a].astype(np.float64) * rows[b]).sum(axis=1) for a, b in pairs]
    )


def _cosines(x: Features, one: Array, other: Array) -> Array | None:
    """Cosine of pairs of feature rows, 0 for a node without features, [L].

    None where no two nodes can be alike: identity features, or no features.
    """
    if isinstance(x, SparseFeatures):
        is_alone = len(x.column.unique()) == len(x.column)
        rows = x.to_scipy(np.float64)
    else:
        is_alone, rows = not x.numel(), x.numpy(force=True)
    if is_alone:
        return None
    scale = np.sqrt(_products(rows, one, one) * _products(rows, other, other))
    product = _products(rows, one, other)
    return np.asarray(np.divide(product, scale, out=0 * scale, where=scale > 0))


@torch.no_grad()
def removal_curve(
    model: SGAT,
    scored: Sequence[ScoredGraph],
    seen: Sequence[NodeData] | None = None,
    *,
    steps: int = STEPS,
    metric: Metric = "auto",
) -> list[RemovalPoint]:
    """Evaluate a trained model with more and more of its edges removed.

    All log α are moved alike until so many edges fall below the threshold, which is
    what training does to keep exactly a share: gates of the edges left move with them,
    unless they are never drawn (`judged_edges` weigh or all). No weight is trained
    again. Edges that tie stay or go together.

    The share counts the edges of all graphs together. `seen` is their data on the
    model's device; None moves it there. Points ascend by share, that of the trained
    threshold among them, and it is the only one without edges or steps.
    """
    device = next(model.parameters()).device
    seen = [part.data.to(device) for part in scored] if seen is None else seen
    gates = model.gating.gates
    sizes = [data.graph.num_edges for data in seen]
    log_alpha = torch.cat([part.edges.log_alpha for part in scored]).to(device)
    num_edges = len(log_alpha)

    def point(scores: Sequence[float | None], shift: Tensor) -> RemovalPoint:
        removed = int((~gates.is_kept(log_alpha + shift)).sum()) / max(num_edges, 1)
        threshold, (val, test) = gates.threshold - float(shift), scores
        return RemovalPoint(removed, threshold, val, test)

    trained = [node_score(scored, role, metric)[0] for role in ("val", "test")]
    made = point(trained, log_alpha.new_zeros(()))
    points = [dataclasses.replace(made, is_trained=True)]
    for step in range(steps + 1 if num_edges and steps else 0):
        shift = bias_shift(log_alpha, round((1 - step / steps) * num_edges), gates)
        moved = log_alpha + shift
        if not model.gating.draws_gates:
            moved = torch.where(gates.is_kept(moved), log_alpha, moved)
        pairs = zip(seen, moved.split(sizes), strict=True)
        logits = [_logits(model, *pair) for pair in pairs]
        scores = [_score(seen, logits, role, metric) for role in ("val", "test")]
        points.append(point(scores, shift))
    return sorted(points, key=lambda point: (point.removed, point.threshold))


def _logits(model: SGAT, data: NodeData, log_alpha: Tensor) -> Tensor:
    """Class scores of the nodes with gates at these locations, [N, C]."""
    gating, graph = model.gating, data.graph
    zero = log_alpha.new_zeros(graph.num_nodes)
    opened = ops.open_edges(
        graph, zero, zero, log_alpha, gates=gating.gates, backend=gating.backend
    )
    return model(data.x, opened)


def _score(
    graphs: Sequence[NodeData], logits: Sequence[Tensor], role: str, metric: Metric
) -> float | None:
    masks = [getattr(data, role) for data in graphs]
    y = torch.cat([data.y[mask] for data, mask in zip(graphs, masks, strict=True)])
    found = [part[mask] for part, mask in zip(logits, masks, strict=True)]
    return metrics.as_number(metrics.score(torch.cat(found), y, metric))
