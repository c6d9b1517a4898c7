"""Graph: order, merging, finding edges, both directions, the way back to the input."""

import dataclasses
import re
from types import ModuleType

import numpy as np
import pytest
import torch
from support.awkward import GRAPHS

from sgat.graph import Graph
from sgat.ops.operators.pieces import SPLIT


def graph_of(*edges: tuple[int, int], num_nodes: int | None = None, **options) -> Graph:
    """A graph of edges (src, dst)."""
    index = torch.tensor(edges, dtype=torch.long).reshape(-1, 2).T
    return Graph.from_edges(index, num_nodes, **options)


def test_the_list_of_awkward_graphs_is_whole():
    sizes = [build().num_nodes for build in GRAPHS.values()]
    assert len(sizes) == len(set(sizes)) == 12
    assert int(GRAPHS["hub"]().row_ptr.diff().max()) > SPLIT["gpu"]


def test_edges_are_sorted_by_target_then_source():
    graph = graph_of((4, 1), (0, 1), (2, 0), (1, 4), (3, 1))
    assert graph.dst.tolist() == [0, 1, 1, 1, 4]
    assert graph.src.tolist() == [2, 0, 3, 4, 1]
    assert graph.row_ptr.tolist() == [0, 1, 4, 4, 4, 5]
    assert graph.edge_index.tolist() == [[2, 0, 3, 4, 1], [0, 1, 1, 1, 4]]
    assert graph.edge_index.dtype == torch.int64


def test_weights_are_ones_where_none_were_given():
    graph = graph_of((1, 0), (2, 0))
    assert graph.edge_weight.tolist() == [1.0, 1.0]
    assert graph.loop_weights.tolist() == [1.0, 1.0, 1.0]


def test_ones_have_the_type_of_the_weights_beside_them():
    double = torch.tensor([2.0], dtype=torch.float64)
    assert graph_of((1, 0), edge_weight=double).loop_weights.dtype == torch.float64
    assert graph_of((0, 0), edge_weight=double).edge_weight.dtype == torch.float64


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("no edges", True),
        ("star", True),
        ("random undirected", True),
        ("chain", False),
        ("random directed", False),
    ],
)
def test_is_undirected(name: str, expected: bool):
    assert GRAPHS[name]().is_undirected is expected


def test_different_weights_of_two_directions_are_not_undirected():
    edges = (0, 1), (1, 0)
    assert not graph_of(*edges, edge_weight=torch.tensor([1.0, 2.0])).is_undirected
    assert graph_of(*edges, edge_weight=torch.tensor([2.0, 2.0])).is_undirected


def test_by_source_holds_every_edge_sorted_by_source(awkward_graph: Graph):
    graph, order = awkward_graph, awkward_graph.by_source
    expected = sorted(zip(graph.src.tolist(), graph.dst.tolist(), strict=True))
    src = graph.src[order.edge]
    assert list(zip(src.tolist(), order.dst.tolist(), strict=True)) == expected
    count = torch.bincount(graph.src, minlength=graph.num_nodes)
    assert torch.equal(order.ptr.diff(), count)
    assert order.ptr[0] == 0 and order.ptr[-1] == graph.num_edges


def test_row_ptr_delimits_the_edges_of_each_target(awkward_graph: Graph):
    graph = awkward_graph
    assert len(graph.row_ptr) == graph.num_nodes + 1
    for node in range(graph.num_nodes):
        row = graph.dst[graph.row_ptr[node] : graph.row_ptr[node + 1]]
        assert (row == node).all()
    assert graph.row_ptr[-1] == graph.num_edges


def test_values_go_back_to_the_order_of_the_input():
    graph = graph_of((1, 0), (2, 2), (0, 1), (1, 0), (2, 0))
    value = torch.tensor([10.0, 20.0, 30.0])  # 1 → 0, 2 → 0, 0 → 1
    back = graph.to_input(value, loop=-5.0)
    assert back.tolist() == [10.0, -5.0, 30.0, 10.0, 20.0]
    kept = graph.to_input(value > 15, loop=True)
    assert kept.tolist() == [False, True, True, False, True]
    assert kept.dtype == torch.bool


def test_the_way_back_names_the_edge_that_was_given(seed: int):
    edges = torch.randint(31, (2, 307))  # with loops and duplicates
    graph = Graph.from_edges(edges, 31)
    for row, end in enumerate((graph.src, graph.dst)):
        back = graph.to_input(end, loop=-1)
        is_loop = edges[0] == edges[1]
        assert torch.equal(back.long(), torch.where(is_loop, -1, edges[row]))


def test_an_input_of_loops_alone_goes_back():
    graph = graph_of((1, 1), (0, 0))
    back = graph.to_input(torch.zeros(0, dtype=torch.float64), loop=1.0)
    assert back.tolist() == [1.0, 1.0] and back.dtype == torch.float64


def test_the_edge_index_goes_into_pyg_data(pyg: ModuleType):
    graph = GRAPHS["random undirected"]()
    data = pyg.data.Data(edge_index=graph.edge_index, num_nodes=29)
    assert data.is_undirected() and not data.has_self_loops()
    assert data.validate(raise_on_error=True)


@pytest.mark.parametrize("num_nodes", [None, 0, 3])
def test_an_empty_graph(num_nodes: int | None):
    graph = graph_of(num_nodes=num_nodes)
    assert graph.num_nodes == (num_nodes or 0)
    assert graph.num_edges == 0
    assert graph.edge_index.shape == (2, 0)
    assert graph.row_ptr.tolist() == [0] * (graph.num_nodes + 1)
    assert graph.by_source.ptr.tolist() == [0] * (graph.num_nodes + 1)
    assert graph.is_undirected
    assert graph_of(num_nodes=num_nodes, make_undirected=True).num_edges == 0


def test_merge_puts_graphs_side_by_side():
    left = graph_of((1, 0), (0, 0), num_nodes=3)
    right = graph_of((0, 1), (1, 0), edge_weight=torch.tensor([2.0, 4.0]))
    both = Graph.merge([left, right])
    assert both.num_nodes == 5
    assert both.edge_index.tolist() == [[1, 4, 3], [0, 3, 4]]
    assert both.row_ptr.tolist() == [0, 1, 1, 1, 2, 3]
    assert both.weight.tolist() == [1.0, 4.0, 2.0]
    assert both.loop_weight.tolist() == [1.0] * 5
    assert both.input_edge.tolist() == [0, -1, 2, 1]


def test_merge_leaves_out_weights_that_no_graph_has():
    both = Graph.merge([graph_of((1, 0)), graph_of((0, 1))])
    assert both.weight is None and both.loop_weight is None


def test_merge_names_nodes_by_graph_and_keeps_names():
    left, right = graph_of((1, 0)), graph_of((0, 2))
    both = Graph.merge([left, right])
    high = 1 << 32
    assert both.noise_id.tolist() == [0, 1, high, high + 1, high + 2]
    again = Graph.merge([both, Graph.merge([left])])
    assert again.noise_id.tolist() == [*both.noise_id.tolist(), 0, 1]


def test_merge_adds_up_what_was_merged():
    doubled = graph_of((1, 0), (1, 0))
    assert Graph.merge([doubled, graph_of((0, 1)), doubled]).num_merged == 2


def test_a_node_is_named_by_its_number_unless_it_has_a_name():
    assert graph_of((1, 2)).noise_id.tolist() == [0, 1, 2]


def test_select_keeps_the_marked_edges():
    weight = torch.tensor([1.0, 2.0, 3.0])
    graph = graph_of((1, 0), (2, 0), (0, 2), (2, 2), edge_weight=torch.ones(4))
    keep = torch.tensor([False, True, True])
    small = graph.select(keep)
    assert small.edge_index.tolist() == [[2, 0], [0, 2]]
    assert small.row_ptr.tolist() == [0, 1, 1, 2]
    assert small.weight.tolist() == [1.0, 1.0]
    assert small.loop_weight.tolist() == graph.loop_weight.tolist()
    assert small.input_edge is None
    assert graph.select(keep, weight).weight.tolist() == [2.0, 3.0]


def test_sums_of_squares_from_before_edges_were_left_out_go_with_the_nodes():
    graph = Graph.from_edges(torch.tensor([[0, 1, 2, 0], [1, 0, 0, 2]]), 3)
    assert graph.square_sums.tolist() == [2, 1, 1]
    kept = graph.select(torch.tensor([True, False, False, True]))
    assert kept.square_sums.tolist() == [1, 0, 1]
    told = dataclasses.replace(kept, square_sum=graph.square_sums)
    assert told.select(torch.tensor([True, False])).square_sums.tolist() == [2, 1, 1]
    assert Graph.merge([kept, told]).square_sums.tolist() == [1, 0, 1, 2, 1, 1]
    assert Graph.merge([kept, kept]).square_sum is None
    weighted = dataclasses.replace(graph, weight=torch.tensor([1.0, 2.0, 3.0, 4.0]))
    assert weighted.square_sums.tolist() == [5, 9, 16]


def test_select_can_give_weights_to_a_graph_without():
    graph = graph_of((1, 0), (0, 1))
    small = graph.select(torch.tensor([True, False]), torch.tensor([0.5, 0.25]))
    assert small.weight.tolist() == [0.5]


def test_select_of_all_or_none(awkward_graph: Graph):
    every = torch.ones(awkward_graph.num_edges, dtype=torch.bool)
    assert torch.equal(awkward_graph.select(every).edge_index, awkward_graph.edge_index)
    none = awkward_graph.select(~every)
    assert none.num_edges == 0
    assert none.row_ptr.tolist() == [0] * (awkward_graph.num_nodes + 1)


def test_to_moves_every_tensor():
    graph = Graph.merge([GRAPHS["loops in the input"](), GRAPHS["weights of zero"]()])
    moved = graph.to("meta")
    for name in ("dst", "src", "row_ptr", "weight", "loop_weight", "input_edge"):
        assert getattr(moved, name).device.type == "meta", name
    assert moved.node_id.device.type == moved.device.type == "meta"
    assert graph.device.type == "cpu"


def test_repr_is_one_line_of_counts():
    assert repr(graph_of((1, 0), num_nodes=3)) == "Graph(3 nodes, 1 edges)"
    weighted = graph_of((1, 0), edge_weight=torch.ones(1))
    assert repr(weighted) == "Graph(2 nodes, 1 edges, weighted)"


def test_merging_no_graphs_is_refused():
    sentence = "`graphs` must hold at least one graph, got none."
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        Graph.merge([])


def test_a_merged_graph_merges_again_without_sharing_noise():
    parts = [Graph.from_edges(torch.tensor([[0], [1]])) for _ in range(3)]
    twice = Graph.merge([Graph.merge(parts[:2]), parts[2]])
    assert (twice.node_id >> 32).tolist() == [0, 0, 1, 1, 2, 2]


def test_the_larger_of_both_directions_is_the_same_for_both():
    graph = Graph.from_edges(torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    # Edges by (dst, src): 1→0, 0→1, 2→1, 1→2.
    value = torch.tensor([1.0, 5.0, 7.0, 2.0])
    assert graph.larger_direction(value).tolist() == [5.0, 5.0, 7.0, 7.0]


def test_numbers_of_edges_go_where_their_edges_go():
    graph = Graph.from_edges(
        torch.tensor([[1, 2, 0], [0, 0, 1]]), 3, edge_attr=torch.rand(3, 2)
    )
    kept = graph.select(torch.tensor([True, False, True]))
    assert torch.equal(kept.edge_attr, graph.edge_attr[[0, 2]])
    assert graph.to("meta").edge_attr.is_meta
    both = Graph.merge([graph, kept])
    assert torch.equal(both.edge_attr, torch.cat([graph.edge_attr, kept.edge_attr]))
    sentence = "`graphs` must all have `edge_attr`, or none of them; got 1 of 2 with."
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        Graph.merge([graph, Graph.from_edges(torch.tensor([[0], [1]]))])


def test_log_odds_go_where_their_edges_go():
    graph = graph_of((1, 0), (2, 0), (0, 2), num_nodes=3)
    assert graph.log_odds is None
    judged = dataclasses.replace(graph, log_odds=torch.tensor([1.0, -2.0, 3.0]))
    assert judged.to("cpu").log_odds.tolist() == [1, -2, 3]
    assert judged.to("meta").log_odds.is_meta
    keep = torch.tensor([True, False, True])
    assert judged.select(keep).log_odds.tolist() == [1, 3]
    assert graph.select(keep).log_odds is None
    merged = Graph.merge([judged, judged.select(keep)])
    assert merged.log_odds.tolist() == [1, -2, 3, 1, 3]
    assert Graph.merge([graph, graph]).log_odds is None


def test_judged_and_other_graphs_are_not_merged():
    graph = graph_of((1, 0), num_nodes=2)
    judged = dataclasses.replace(graph, log_odds=torch.ones(1))
    sentence = "`graphs` must all have `log_odds`, or none of them; got 1 of 2 with."
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        Graph.merge([judged, graph])


def test_keys_ascend_and_make_the_same_graph(awkward_graph: Graph):
    graph = awkward_graph
    assert (graph.keys.diff() > 0).all()
    size = max(graph.num_nodes, 1)
    assert torch.equal(graph.keys // size, graph.dst.long())
    assert torch.equal(graph.keys % size, graph.src.long())
    again = Graph.from_keys(graph.keys, graph.num_nodes, weight=graph.weight)
    for field in ("dst", "src", "row_ptr"):
        assert torch.equal(getattr(again, field), getattr(graph, field))
    assert again.weight is graph.weight


def test_find_says_where_an_edge_is_or_that_there_is_none(awkward_graph: Graph):
    graph, size = awkward_graph, awkward_graph.num_nodes
    edges = list(zip(graph.src.tolist(), graph.dst.tolist(), strict=True))
    nodes = torch.arange(min(size, 37))
    src, dst = torch.cartesian_prod(nodes, nodes).T
    pairs = zip(src.tolist(), dst.tolist(), strict=True)
    place = {pair: position for position, pair in enumerate(edges)}
    assert graph.find(src, dst).tolist() == [place.get(pair, -1) for pair in pairs]
    assert graph.find(graph.src, graph.dst).tolist() == list(range(graph.num_edges))


def test_find_takes_the_largest_and_the_smallest_pair():
    graph = graph_of((1, 0), (3, 4), num_nodes=5)
    src, dst = torch.tensor([0, 4, 3, 1]), torch.tensor([0, 4, 4, 0])
    assert graph.find(src, dst).tolist() == [-1, -1, 1, 0]


def test_the_reverse_of_every_edge_of_an_undirected_graph():
    graph = GRAPHS["random undirected"]()
    reverse = graph.reverse_edge
    assert torch.equal(graph.src[reverse], graph.dst)
    assert torch.equal(graph.dst[reverse], graph.src)
    assert reverse.tolist() == graph.find(graph.dst, graph.src).tolist()


def test_the_undirected_view_has_both_directions_and_no_weights(awkward_graph: Graph):
    graph, view = awkward_graph, awkward_graph.undirected()
    assert view.is_undirected and view.weight is None and view.loop_weight is None
    edges = {*zip(graph.src.tolist(), graph.dst.tolist(), strict=True)}
    both = edges | {(dst, src) for src, dst in edges}
    assert {*zip(view.src.tolist(), view.dst.tolist(), strict=True)} == both
    assert view.num_edges == len(both) and view.num_nodes == graph.num_nodes


def test_the_undirected_view_of_a_plain_undirected_graph_is_the_graph():
    graph = GRAPHS["star"]()
    assert graph.undirected() is graph


def test_scipy_gets_a_one_for_every_edge(awkward_graph: Graph):
    graph = awkward_graph
    matrix = graph.to_scipy(np.float32)
    assert matrix.dtype == np.float32 and matrix.shape == (graph.num_nodes,) * 2
    expected = np.zeros(matrix.shape)
    expected[graph.dst.numpy(), graph.src.numpy()] = 1
    assert (matrix.toarray() == expected).all()
    assert graph.to_scipy().dtype == np.int8


def test_a_batch_splits_into_its_graphs():
    parts = [GRAPHS[name]() for name in ("random directed", "no edges", "chain")]
    found = Graph.merge(parts).split()
    assert [part.num_nodes for part in found] == [part.num_nodes for part in parts]
    for one, other in zip(found, parts, strict=True):
        assert torch.equal(one.edge_index, other.edge_index)
        assert torch.equal(one.row_ptr, other.row_ptr)
    assert parts[0].split() == [parts[0]]
