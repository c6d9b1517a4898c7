"""Probes: what an experiment measures on a trained model beyond its scores.

Tested by `tests/lab/trials/test_trial.py`.
"""

from __future__ import annotations

import base64
import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from sgat.data.node_data import NodeData
from sgat.features import SparseFeatures
from sgat.training.result import Result
from sgat_lab.baselines.gat import GAT
from sgat_lab.trials.evaluation import evaluate


class Trained(NamedTuple):
    """Input of a probe.

    Attributes:
        result: The selected model and the records of training.
        graphs: The data the model was trained on, on its device.
        given: The data before the method prepared it.
        added: Which edges of `given` were added as noise, [E]; None without noise.
    """

    result: Result
    graphs: Sequence[NodeData]
    given: Sequence[NodeData]
    added: Sequence[Tensor] | None


def history(trained: Trained) -> dict[str, Any]:
    """Scores and shares of edges after every epoch."""
    records = trained.result.records
    return {
        name: [None if v is None else round(v, 5) for v in values]
        for name in ("train", "val", "kept_share", "open_share", "expected_open")
        if (values := [getattr(record, name) for record in records])
    }


SHARES = tuple(k / 10 for k in range(11))
"""Shares of edges that `removal` takes away."""


def removal(trained: Trained) -> dict[str, Any]:
    """Test score after removing a share of the edges of the first graph.

    Edges go by the model's own score, lowest first ("low") or highest first ("high"),
    or in an order drawn at random ("random"). The model is not trained again.
    """
    data, model = trained.graphs[0], trained.result.model
    with torch.no_grad():
        score = model.score_edges(data.x, data.graph)
    assert score is not None, "only models that score edges are asked"
    generator = torch.Generator().manual_seed(0)
    shuffled = torch.randperm(len(score), generator=generator).to(score.device)
    orders = {
        "low": score.argsort(stable=True),
        "high": score.argsort(stable=True, descending=True),
        "random": shuffled,
    }
    found: dict[str, Any] = {"shares": SHARES}
    for name, order in orders.items():
        found[name] = [_score_without(trained, order, share) for share in SHARES]
    return found


def _score_without(trained: Trained, order: Tensor, share: float) -> float:
    data, model = trained.graphs[0], trained.result.model
    keep = torch.ones_like(order, dtype=torch.bool)
    keep[order[: round(share * len(order))]] = False
    smaller = dataclasses.replace(data, graph=data.graph.select(keep))
    (test,) = evaluate(model, [smaller], ["test"])
    assert test is not None
    return round(test.score, 5)


def added_edges(trained: Trained) -> dict[str, Any]:
    """Separation of added edges from original ones by a method.

    AUC of an original edge scoring above an added one, where the model scores edges;
    precision and recall of "added" among the removed edges, where it removes any.
    """
    return _separation(_judged(trained))


def planted_edges(trained: Trained) -> dict[str, Any]:
    """As `added_edges`, where all or none may be planted; and what chance allows for.

    Classes cannot separate a planted edge between two nodes of one class from an
    original one. So the AUC comes a second time over the planted edges between classes
    alone. Beyond that, mean and standard deviation of the scores.
    """
    parts = [data.y[data.graph.dst] != data.y[data.graph.src] for data in trained.given]
    judged = _judged(trained)
    found = planted_separation(judged, torch.cat(parts))
    if judged.score is not None:
        found["score_mean"] = float(judged.score.mean())
        found["score_std"] = float(judged.score.std(correction=0))
    return found


class MarkedEdges(NamedTuple):
    """Of every edge of the given graphs: added or not, removed or not, its score."""

    is_added: Tensor
    is_removed: Tensor
    score: Tensor | None


def _judged(trained: Trained) -> MarkedEdges:
    assert trained.added is not None, "asked only where edges were added"
    model = trained.result.model.eval()
    truth = torch.cat([mask.cpu() for mask in trained.added])
    scores, removed = [], []
    for data, given in zip(trained.graphs, trained.given, strict=True):
        is_left = torch.isin(given.graph.keys, data.graph.keys.cpu())
        with torch.no_grad():
            score = model.score_edges(data.x, data.graph)
        gone = ~is_left
        if score is not None:
            # What preparing took away ranks below all that it left.
            full = torch.full((len(gone),), -torch.inf)
            full[is_left] = score.cpu().float()
            scores.append(full)
        # SGAT has its gates in a layer, PTDNet in the model.
        gates = getattr(getattr(model, "gating", model), "gates", None)
        if gates is not None and score is not None:
            gone[is_left] = ~gates.is_kept(score).cpu()
        removed.append(gone)
    return MarkedEdges(truth, torch.cat(removed), torch.cat(scores) if scores else None)


def _separation(judged: MarkedEdges) -> dict[str, Any]:
    found = {}
    if judged.score is not None:
        found["auc"] = _auc(judged.score, judged.is_added)
    if bool(judged.is_removed.any()):
        hits = int((judged.is_removed & judged.is_added).sum())
        found["precision"] = hits / int(judged.is_removed.sum())
        found["recall"] = hits / max(int(judged.is_added.sum()), 1)
    return found


def planted_separation(judged: MarkedEdges, crosses: Tensor) -> dict[str, Any]:
    """Separation of planted edges from original ones; nothing if all are one kind.

    Args:
        judged: The edges.
        crosses: Whether each joins nodes of different classes, [E] bool.
    """
    if not bool(judged.is_added.any()) or bool(judged.is_added.all()):
        return {}
    found = _separation(judged)
    counts = ~judged.is_added | crosses
    if judged.score is not None and bool(judged.is_added[counts].any()):
        found["auc_between"] = _auc(judged.score[counts], judged.is_added[counts])
    return found


def _auc(score: Tensor, is_added: Tensor) -> float:
    from sklearn.metrics import roc_auc_score

    rank = score.unique(return_inverse=True)[1]
    return float(roc_auc_score(~is_added, rank))


def edge_scores(trained: Trained) -> dict[str, Any]:
    """The model's scores of all edges of each graph, packed as text.

    The coefficient of a GAT, mean over heads and layers; the model's own score of an
    edge otherwise. `unpacked` reads it.
    """
    model, packed = trained.result.model.eval(), []
    for data in trained.graphs:
        with torch.no_grad():
            if isinstance(model, GAT):
                score = model.attention(data.x, data.graph).mean(dim=1)
            else:
                found = model.score_edges(data.x, data.graph)
                assert found is not None, "only models that score edges are asked"
                score = found
        array = score.numpy(force=True).astype("<f4")
        packed.append(base64.b64encode(array.tobytes()).decode())
    return {"edge_scores": packed}


def unpacked(extra: dict[str, Any]) -> list[Tensor]:
    """The scores that the probe `edge_scores` found, one [E] per graph."""
    return [
        torch.tensor(np.frombuffer(base64.b64decode(text), "<f4").copy())
        for text in extra["edge_scores"]
    ]


BINS = 60
"""Bars of a histogram over the logarithm of the variance."""
RANGE = (-8.0, 0.0)
"""Powers of ten the histogram covers; what is smaller counts in the first bar."""


def attention_variance(trained: Trained) -> dict[str, Any]:
    """Variance of the coefficients of all heads and layers on each edge of a GAT.

    Returns:
        Counts of edges per bar of log10 variance, and quantiles of the variance.
    """
    model, data = trained.result.model, trained.graphs[0]
    assert isinstance(model, GAT), "only a GAT has coefficients of several heads"
    coefficients = model.eval().attention(data.x, data.graph)
    variance = coefficients.double().var(dim=1, unbiased=False)
    powers = variance.clamp(min=1e-30).log10().clamp(*RANGE)
    counts = torch.histc(powers, BINS, *RANGE)
    levels = torch.tensor((0.1, 0.5, 0.9, 0.99), dtype=torch.float64)
    quantiles = variance.cpu().quantile(levels)
    return {
        "heads": coefficients.shape[1],
        "counts": [int(count) for count in counts],
        "quantiles": dict(zip(levels.tolist(), quantiles.tolist(), strict=True)),
    }


def map_of_nodes(trained: Trained) -> dict[str, Any]:
    """The penultimate features of every node, laid out in two dimensions by t-SNE."""
    from sklearn.manifold import TSNE
    from sklearn.metrics import silhouette_score

    model, data = trained.result.model.eval(), trained.graphs[0]
    with torch.no_grad():
        embedding = model.compute(data.x, data.graph).embedding
    points = (
        embedding.to_dense() if isinstance(embedding, SparseFeatures) else embedding
    )
    rows = points.float().cpu().numpy()
    perplexity = min(30.0, (data.num_nodes - 1) / 3)
    layout = TSNE(perplexity=perplexity, init="pca", random_state=0)
    place = layout.fit_transform(rows)
    return {
        "x": [round(float(value), 3) for value in place[:, 0]],
        "y": [round(float(value), 3) for value in place[:, 1]],
        "label": data.y.tolist(),
        "silhouette": float(silhouette_score(rows, data.y.cpu().numpy())),
    }


def evolution(trained: Trained) -> dict[str, Any]:
    """The location of every gate and every prediction at the epochs kept."""
    return {
        "epochs": [snapshot.epoch for snapshot in trained.result.snapshots],
        "log_alpha": [
            [round(float(value), 4) for value in snapshot.log_alpha]
            for snapshot in trained.result.snapshots
        ],
        "predicted": [
            snapshot.logits.argmax(dim=1).tolist()
            for snapshot in trained.result.snapshots
        ],
    }


PROBES: dict[str, Callable[[Trained], dict[str, Any]]] = {
    "history": history,
    "removal": removal,
    "added_edges": added_edges,
    "planted_edges": planted_edges,
    "edge_scores": edge_scores,
    "attention_variance": attention_variance,
    "map_of_nodes": map_of_nodes,
    "evolution": evolution,
}
"""Every probe by its name; what it returns goes into the record as JSON."""
