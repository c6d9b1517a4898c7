"""How well the judge finds wrong edges: one row of numbers for each case."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
import torch
from scipy import sparse
from sklearn.metrics import roc_auc_score
from torch import Tensor

from sgat.features import Features, SparseFeatures
from sgat.graph import Graph
from sgat.judging import judge
from sgat.judging.promise import choose_removed
from sgat_lab.attacks.auto_encoder import auto_encoder
from sgat_lab.attacks.graphs import NoisyGraph
from sgat_lab.sparsifiers import similarity
from sgat_lab.tables.cells import heading
from sgat_lab.tables.text_table import aligned

BINS = 10
PROMISES = (0.05, 0.1, 0.2)
"""Shares of the removed edges that may be right."""
AUTO_ENCODER = "auc_auto_encoder"
SHOWN = {
    "true_share": "true share",
    "found_share": "found",
    "auc": "AUC",
    "auc_cosine": "cosine",
    "auc_adamic_adar": "Adamic-Adar",
    "auc_jaccard": "Jaccard",
    AUTO_ENCODER: "auto-encoder",
    "calibration_error": "ECE",
    **{
        f"{what}_at_{promise:g}": f"{what} at {promise:g}"
        for promise in PROMISES
        for what in ("removed", "right")
    },
    "seconds": "s",
}
"""Columns of numbers and their headings: the share of all edges that is removed under a
promise, and the share of right edges among these. The auto-encoder is on request."""


def calibration_error(probability: Tensor, is_real: Tensor) -> float:
    """Expected calibration error over ten bins of as many edges each; 0 without edges.

    Σ_b n_b / E · |mean P(real) - share of real edges|      over the bins b

    Args:
        probability: P(real) of each edge, [E].
        is_real: Whether it is, [E] bool.
    """
    order = probability.argsort(stable=True)
    apart = (probability.double() - is_real.double())[order]
    bins = apart.tensor_split(BINS)
    return sum(abs(float(part.sum())) for part in bins) / max(len(apart), 1)


def cosine(x: Features, graph: Graph) -> Any:
    """Cosine of the tf-idf rows of an edge's ends, [E].

    Where no column is 0 in some row, tf-idf is 0 everywhere; plain rows are taken then.
    """
    if isinstance(x, SparseFeatures):
        rows = sparse.csr_array(x.to_scipy(np.float64))
    else:
        rows = sparse.csr_array(x.double().numpy(force=True))
    used = np.bincount(rows.nonzero()[1], minlength=rows.shape[1])
    weighted = rows * np.log(rows.shape[0] / np.maximum(used, 1))[None, :]
    rows = sparse.csr_array(weighted if weighted.nnz else rows)
    size = np.sqrt(rows.power(2).sum(axis=1))
    src, dst = graph.edge_index.numpy(force=True)
    product = _row_products(rows, rows, src, dst)
    return product / np.maximum(size[src] * size[dst], 1e-12)


def adamic_adar(graph: Graph) -> Any:
    """Σ 1 / log(degree) over the common neighbours of an edge's ends, [E]."""
    src, dst = graph.edge_index.numpy(force=True)
    shape = (graph.num_nodes,) * 2
    matrix = sparse.csr_array((np.ones(len(src)), (dst, src)), shape=shape)
    # A common neighbour has degree 2 or more.
    degree = np.maximum(np.diff(matrix.indptr), 2)
    return _row_products(matrix, matrix * (1 / np.log(degree))[None, :], dst, src)


def _row_products(one: Any, other: Any, left: Any, right: Any) -> Any:
    """Products of rows of two matrices, pair by pair, block by block."""
    one, other = sparse.csr_array(one), sparse.csr_array(other)
    parts = [np.zeros(0)]
    for start in range(0, len(left), 100_000):
        here = slice(start, start + 100_000)
        parts.append((one[left[here]] * other[right[here]]).sum(axis=1))
    return np.concatenate(parts)


def auc(is_real: Tensor, score: Any) -> float:
    """AUC of right above wrong edges; not a number if all are of one kind."""
    if bool(is_real.all()) or not bool(is_real.any()):
        return math.nan
    return float(roc_auc_score(is_real.numpy(), score))


def measure(
    given: NoisyGraph,
    *,
    labels: bool = True,
    with_auto_encoder: bool = False,
    seed: int = 0,
) -> dict[str, Any]:
    """Judge a graph, and compare the verdict with the truth.

    Args:
        given: The graph and its wrong edges.
        labels: Whether the judge may use the classes of the training nodes.
        with_auto_encoder: Train a graph auto-encoder, too, for `auc_auto_encoder`.
        seed: Of the judge and the auto-encoder.

    Returns:
        Numbers by the names of `SHOWN`, and the number of edges. Numbers that need both
        right and wrong edges, and shares of no edge, are not a number (NaN).
    """
    data, is_real = given.data, ~given.wrong
    y, train = (data.y, data.train) if labels else (None, None)
    start = time.perf_counter()
    judged = judge(data.graph, data.x, y, train=train, seed=seed)
    seconds = time.perf_counter() - start
    probability = judged.probability.cpu()
    src, dst = data.graph.edge_index.numpy(force=True)
    found = {
        "edges": data.graph.num_edges,
        "true_share": float(given.wrong.double().mean()),
        "found_share": judged.noise_share,
        "auc": auc(is_real, probability),
        "auc_cosine": auc(is_real, cosine(data.x, data.graph)),
        "auc_adamic_adar": auc(is_real, adamic_adar(data.graph)),
        "auc_jaccard": auc(is_real, similarity(data.x, src, dst)),
        "calibration_error": calibration_error(probability, is_real),
    }
    if with_auto_encoder:
        score = auto_encoder(data.x, data.graph, seed=seed)
        found[AUTO_ENCODER] = auc(is_real, score)
    for promise in PROMISES:
        gone = choose_removed(probability, at_most_wrong=promise).mask
        found[f"removed_at_{promise:g}"] = float(gone.double().mean())
        found[f"right_at_{promise:g}"] = float(is_real[gone].double().mean())
    return found | {"seconds": seconds}


def text(rows: list[dict[str, Any]], *, markdown: bool = False) -> str:
    """The table of the cases: mean over the seeds of each."""
    groups: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for row in rows:
        case = f"{row['kind']} {row['rate']:g}" if row["rate"] else row["kind"]
        groups.setdefault((row["graph"], case, row["labels"]), []).append(row)
    shown = {k: v for k, v in SHOWN.items() if any(k in row for row in rows)}
    table = [["graph", "wrong edges", "labels", *shown.values()]]
    for case, group in groups.items():
        table.append([*case, *(_cell([row[name] for row in group]) for name in shown)])
    what = "The judge on wrong edges of several kinds"
    lines = heading(what, markdown=markdown)
    return "\n".join([*lines, *aligned(table, markdown=markdown, left=(0, 1, 2)), ""])


def _cell(values: list[float]) -> str:
    mean = float(torch.tensor(values, dtype=torch.double).nanmean())
    return "" if math.isnan(mean) else f"{mean:.3f}"
