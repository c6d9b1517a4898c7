"""The public operations: what they refuse before any backend sees it."""

import pytest
import torch
from awkward import GRAPHS

from sgat import ops
from sgat.conv import SGATConv


@pytest.mark.parametrize("backend", ["reference", "cpu"])
@pytest.mark.parametrize(
    ("dst", "src", "edge", "message"),
    [
        (11, 23, None, "`dst_score` must have shape [23], got [11]."),
        (23, 29, None, "`src_score` must have shape [23], got [29]."),
        (23, 23, 5, "`edge_score` must have shape ["),
    ],
)
def test_scores_of_another_shape_are_refused(dst, src, edge, message, backend):
    graph = GRAPHS["random directed"]()
    scores = [None if size is None else torch.zeros(size) for size in (dst, src, edge)]
    with pytest.raises(ValueError) as error:
        ops.open_edges(graph, *scores, backend=backend)
    assert message in str(error.value)


@pytest.mark.parametrize("backend", ["reference", "cpu"])
def test_features_of_another_number_of_nodes_are_refused(backend):
    graph = GRAPHS["random directed"]()
    score = torch.zeros(graph.num_nodes)
    opened = ops.open_edges(graph, score, score, backend=backend)
    with pytest.raises(ValueError, match="`x` must have one row for each of the 23"):
        ops.aggregate(opened, torch.zeros(7, 3), backend=backend)


@pytest.mark.parametrize("backend", ["reference", "cpu"])
def test_a_graph_without_nodes_gives_an_empty_result(backend):
    conv = SGATConv(6, 4, backend=backend)
    no_edges = torch.empty(2, 0, dtype=torch.long)
    assert conv(torch.empty(0, 6), no_edges).shape == (0, 4)
