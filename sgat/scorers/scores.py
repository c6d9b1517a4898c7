"""Scores: the parts of the location log α of each edge's gate."""

from typing import NamedTuple

import torch
from torch import Tensor

from sgat.graph import Graph
from sgat.ops.dense_product import product
from sgat.ops.reference import MAX_RANK


class Scores(NamedTuple):
    """The parts of log α_ij = dst_i + src_j + query_i · key_j + edge_ij; None is 0."""

    dst: Tensor  # score s of each node as a target, [N]
    src: Tensor  # score t of each node as a source, [N]
    edge: Tensor | None = None  # score c of each edge in the order of the graph, [E]
    query: Tensor | None = None  # vector q of each node as a target, [N, R]
    key: Tensor | None = None  # vector k of each node as a source, [N, R]


def check_rank(rank: int) -> int:
    """The length of vectors, if the kernels take it."""
    if not 1 <= rank <= MAX_RANK:
        raise ValueError(f"`rank` must be from 1 to {MAX_RANK}, got {rank}.")
    return rank


def plus_attr(scores: Scores, attr: Tensor | None, weight: Tensor) -> Scores:
    """Scores with the term w · e_ij of the numbers e of each edge, [E, F]."""
    if attr is None or attr.shape[1] != len(weight):
        raise ValueError(
            f"Each edge must have {len(weight)} numbers in `edge_attr`, which the gates"
            f" look at, got {'none' if attr is None else attr.shape[1]}."
        )
    term = product(attr.to(weight), weight[:, None])[:, 0].to(scores.dst)
    edge = term if scores.edge is None else scores.edge + term
    return scores._replace(edge=edge)


def symmetrised(scores: Scores, graph: Graph) -> Scores:
    """Scores with which both directions of an edge have the mean of their log α.

        s'_i = t'_i = (s_i + t_i) / 2,   c'_ij = (c_ij + c_ji) / 2
        q'_i = (u_i, v_i),  k'_j = (u_j, -v_j)   with u = (q + k) / 2, v = (q - k) / 2

    for q_i · k_j + q_j · k_i = 2 (u_i · u_j - v_i · v_j), whose terms are the same
    numbers in both directions. Vectors become twice as long, unless query and key are
    one tensor and the product symmetric already. The graph must be undirected: its
    order by source then lists the reverse of each edge.
    """
    node = (scores.dst + scores.src) / 2
    edge, query, key = scores[2:]
    if edge is not None:
        edge = (edge + graph.of_reverse(edge)) / 2
    if query is not None and key is not None and query is not key:
        rank = query.shape[1]
        if 2 * rank > MAX_RANK:
            raise ValueError(
                f"`rank` must be at most {MAX_RANK // 2} where both directions of an"
                f" edge share a gate (`symmetric`), got {rank}."
            )
        same, other = (query + key) / 2, (query - key) / 2
        query, key = torch.cat([same, other], 1), torch.cat([same, -other], 1)
    return Scores(node, node, edge, query, key)
