"""Open edges of the nodes of one process, and sums over them, see `sgat.parallel`.

Tested by tests/parallel/test_part.py.
"""

from collections.abc import Callable
from typing import NamedTuple

from torch import Tensor

from sgat.graph import Graph
from sgat.ops.reference import OpenEdges
from sgat.parallel.part import Halo, HaloRows


class ShardedEdges(NamedTuple):
    """The open edges of one process; the attributes of `OpenEdges` that models use.

    `penalty` and `num_open` count the edges of all processes. Gradients by the penalty
    reach the own scores alone.
    """

    graph: Graph  # the own nodes and the edges into them
    among_columns: OpenEdges  # the same, of the graph of the columns
    rows: HaloRows  # the rows of others that the open edges come from
    row_sum: Tensor
    penalty: Tensor
    num_open: Tensor


def open_edges(
    graph: Graph,
    halo: Halo,
    scores: tuple[Tensor, Tensor, Tensor | None, Tensor | None, Tensor | None],
    draw: Callable[..., OpenEdges],
) -> ShardedEdges:
    """See `sgat.ops.open_edges`; `draw` does it for a graph and its scores."""
    dst_score, src_score, edge_score, query, key = scores
    # All processes ask for these in the same order.
    ends = halo.padded(dst_score), halo.scores(src_score)
    pair: tuple[Tensor | None, ...] = None, None
    if query is not None and key is not None:
        pair = halo.padded(query), halo.scores(key)
    opened = draw(halo.graph, *ends, edge_score, *pair)
    rows, row_sum = halo.open(opened.open_src), opened.row_sum[halo.own]
    penalty = halo.ranks.total(opened.penalty)
    num_open = halo.ranks.summed(opened.num_open)
    return ShardedEdges(graph, opened, rows, row_sum, penalty, num_open)


def aggregate(
    opened: ShardedEdges, x: Tensor, total: Callable[[OpenEdges, Tensor], Tensor]
) -> Tensor:
    """See `sgat.ops.aggregate`; `total` does it for open edges and all their rows."""
    halo = opened.graph.halo
    assert halo is not None
    return total(opened.among_columns, halo.columns(x, opened.rows))[halo.own]
