"""Graph: order, merging, loops, the way back to the input, and what is refused."""

import dataclasses
import logging
import re
from types import ModuleType

import pytest
import torch
from support.awkward import GRAPHS, random_edges

from sgat.graph import Graph
from sgat.ops.operators.passes import SPLIT


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


def test_weights_follow_their_edges():
    graph = graph_of((4, 1), (0, 1), (2, 0), edge_weight=torch.tensor([4.0, 0.5, 2.0]))
    assert graph.weight.tolist() == [2.0, 0.5, 4.0]


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int16, torch.int32, torch.int64])
def test_any_integer_type_gives_the_same_graph(dtype: torch.dtype):
    edges = random_edges(23, 127)
    graph = Graph.from_edges(edges.to(dtype), 23)
    assert torch.equal(graph.edge_index, Graph.from_edges(edges, 23).edge_index)


def test_duplicates_become_one_edge_with_the_sum_of_weights(
    caplog: pytest.LogCaptureFixture,
):
    weight = torch.tensor([1.0, 2.0, 4.0, 8.0])
    with caplog.at_level(logging.WARNING, "sgat.graph"):
        graph = graph_of((1, 0), (2, 0), (1, 0), (1, 0), edge_weight=weight)
    assert graph.edge_index.tolist() == [[1, 2], [0, 0]]
    assert graph.weight.tolist() == [13.0, 2.0]
    assert graph.num_merged == 2
    assert caplog.messages == [
        "2 duplicate edges were merged; their weights were added."
    ]


def test_duplicates_without_weights_are_told_to_weigh_double(caplog):
    with caplog.at_level(logging.WARNING, "sgat.graph"):
        graph_of((1, 0), (2, 0), (1, 0))
    assert caplog.messages == [
        "1 duplicate edges were merged; an edge named twice weighs double."
    ]


def test_duplicates_without_weights_count():
    graph = graph_of((1, 0), (2, 0), (1, 0))
    assert graph.weight.tolist() == [2.0, 1.0]


def test_without_duplicates_nothing_is_logged_and_no_weights_are_made(
    caplog: pytest.LogCaptureFixture,
):
    graph = graph_of((1, 0), (0, 1))
    assert graph.weight is None and graph.num_merged == 0
    assert caplog.messages == []


def test_loops_are_set_apart_and_replace_the_default_weight():
    weight = torch.tensor([0.5, 3.0, 0.25, 0.25, 0.0])
    graph = graph_of((1, 1), (0, 1), (2, 2), (2, 2), (3, 3), edge_weight=weight)
    assert graph.edge_index.tolist() == [[0], [1]]
    assert graph.weight.tolist() == [3.0]
    assert graph.loop_weight.tolist() == [1.0, 0.5, 0.5, 0.0]
    assert graph.input_edge.tolist() == [-1, 0, -1, -1, -1]
    assert graph.num_merged == 0


def test_a_loop_without_weights_weighs_one():
    graph = graph_of((1, 1), (0, 1))
    assert graph.loop_weights.tolist() == [1.0, 1.0]


def test_weights_are_ones_where_none_were_given():
    graph = graph_of((1, 0), (2, 0))
    assert graph.edge_weight.tolist() == [1.0, 1.0]
    assert graph.loop_weights.tolist() == [1.0, 1.0, 1.0]


def test_ones_have_the_type_of_the_weights_beside_them():
    double = torch.tensor([2.0], dtype=torch.float64)
    assert graph_of((1, 0), edge_weight=double).loop_weights.dtype == torch.float64
    assert graph_of((0, 0), edge_weight=double).edge_weight.dtype == torch.float64


def test_integer_weights_become_floats():
    graph = graph_of((1, 0), edge_weight=torch.tensor([3]))
    assert graph.weight.dtype == torch.get_default_dtype()
    assert graph.weight.tolist() == [3.0]


def test_make_undirected_gives_both_directions_the_larger_weight():
    weight = torch.tensor([1.0, 5.0, 2.0])
    edges = (0, 1), (1, 0), (1, 2)
    graph = graph_of(*edges, edge_weight=weight, make_undirected=True)
    assert graph.edge_index.tolist() == [[1, 0, 2, 1], [0, 1, 1, 2]]
    assert graph.weight.tolist() == [5.0, 5.0, 2.0, 2.0]
    assert graph.is_undirected


@pytest.mark.parametrize("other", [(0, 1), (1, 0)])
def test_make_undirected_takes_the_largest_however_a_pair_is_spelled(other, caplog):
    edges = (0, 1), other, (2, 1)
    graph = graph_of(*edges, make_undirected=True)
    assert graph.weight is None and graph.num_edges == 4
    said = "1 duplicate edges were merged; each pair counts once."
    assert [r.getMessage() for r in caplog.records] == [said] * (other == (0, 1))
    weight = torch.tensor([3.0, 5.0, 2.0])
    for given in (weight, weight[[1, 0, 2]]):
        graph = graph_of(*edges, edge_weight=given, make_undirected=True)
        assert graph.edge_index.tolist() == [[1, 0, 2, 1], [0, 1, 1, 2]]
        assert graph.weight.tolist() == [5.0, 5.0, 2.0, 2.0]
    if other == (0, 1):
        said = "1 duplicate edges were merged; the largest weight counts."
        assert caplog.records[-1].getMessage() == said


def test_make_undirected_leaves_an_undirected_graph_as_it_is():
    once = GRAPHS["random undirected"]()
    twice = Graph.from_edges(once.edge_index, 29, once.weight, make_undirected=True)
    assert torch.equal(twice.edge_index, once.edge_index)
    assert torch.equal(twice.weight, once.weight)


def test_make_undirected_keeps_the_way_back_to_the_input():
    edges = (2, 1), (1, 1), (0, 2), (1, 2)
    graph = graph_of(*edges, make_undirected=True)
    found = graph.edge_index[:, graph.input_edge]
    assert found[:, [0, 2, 3]].T.tolist() == [[2, 1], [0, 2], [1, 2]]


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


def test_edge_order_does_not_matter(seed: int):
    edges, weight = random_edges(23, 127), torch.rand(127)
    order = torch.randperm(127)
    graph = Graph.from_edges(edges, 23, weight)
    other = Graph.from_edges(edges[:, order], 23, weight[order])
    assert torch.equal(graph.edge_index, other.edge_index)
    assert torch.equal(graph.weight, other.weight)


def test_an_edge_index_of_pyg_is_accepted(pyg: ModuleType):
    edges = random_edges(23, 127)
    index = pyg.EdgeIndex(edges, sparse_size=(23, 23))
    graph = Graph.from_edges(index.sort_by("col").values)
    assert torch.equal(graph.edge_index, Graph.from_edges(edges, 23).edge_index)
    assert type(graph.src) is torch.Tensor


def test_the_edge_index_goes_into_pyg_data(pyg: ModuleType):
    graph = GRAPHS["random undirected"]()
    data = pyg.data.Data(edge_index=graph.edge_index, num_nodes=29)
    assert data.is_undirected() and not data.has_self_loops()
    assert data.validate(raise_on_error=True)


def test_the_number_of_nodes_is_the_largest_id_plus_one():
    assert graph_of((1, 6)).num_nodes == 7
    assert graph_of((1, 6), num_nodes=11).num_nodes == 11


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


def test_degrees_from_before_edges_were_left_out_go_with_the_nodes():
    graph = Graph.from_edges(torch.tensor([[0, 1, 2, 0], [1, 0, 0, 2]]), 3)
    assert graph.in_degree.tolist() == [2, 1, 1]
    kept = graph.select(torch.tensor([True, False, False, True]))
    assert kept.in_degree.tolist() == [1, 0, 1]
    told = dataclasses.replace(kept, degree=graph.in_degree)
    assert told.select(torch.tensor([True, False])).in_degree.tolist() == [2, 1, 1]
    assert Graph.merge([kept, told]).in_degree.tolist() == [1, 0, 1, 2, 1, 1]
    assert Graph.merge([kept, kept]).degree is None


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


NAN, INF = float("nan"), float("inf")
PAIR = torch.tensor([[0, 1], [1, 0]])


@pytest.mark.parametrize(
    ("edges", "num_nodes", "weight", "sentence"),
    [
        (
            torch.zeros(3, 5),
            None,
            None,
            "`edge_index` must have shape [2, E], got [3, 5].",
        ),
        (torch.zeros(7), None, None, "`edge_index` must have shape [2, E], got [7]."),
        (
            PAIR.float(),
            None,
            None,
            "`edge_index` must hold integers, got torch.float32.",
        ),
        (PAIR.bool(), None, None, "`edge_index` must hold integers, got torch.bool."),
        (
            PAIR.to(torch.complex64),
            None,
            None,
            "`edge_index` must hold integers, got torch.complex64.",
        ),
        (PAIR[:, :0], -1, None, "`num_nodes` must be at least 0, got -1."),
        (
            torch.tensor([[0, 1], [1, 7]]),
            5,
            None,
            "`edge_index` must name nodes 0 to 4, got 7 as target of edge 1.",
        ),
        (
            torch.tensor([[0, 1, -3], [1, 1, 0]]),
            None,
            None,
            "`edge_index` must name nodes 0 to 1, got -3 as source of edge 2.",
        ),
        (PAIR, None, torch.ones(3), "`edge_weight` must have shape [2], got [3]."),
        (
            PAIR,
            None,
            torch.ones(2, 1),
            "`edge_weight` must have shape [2], got [2, 1].",
        ),
        (
            PAIR,
            None,
            torch.tensor([1.0, -0.5]),
            "`edge_weight` must be finite and at least 0, got -0.5 at edge 1.",
        ),
        (
            PAIR,
            None,
            torch.tensor([NAN, 1.0]),
            "`edge_weight` must be finite and at least 0, got nan at edge 0.",
        ),
        (
            PAIR,
            None,
            torch.tensor([1.0, INF]),
            "`edge_weight` must be finite and at least 0, got inf at edge 1.",
        ),
        (
            PAIR,
            None,
            torch.tensor([1, -2]),
            "`edge_weight` must be finite and at least 0, got -2.0 at edge 1.",
        ),
    ],
)
def test_bad_edges_are_refused_with_a_sentence(edges, num_nodes, weight, sentence):
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        Graph.from_edges(edges, num_nodes, weight)


def test_merging_no_graphs_is_refused():
    sentence = "`graphs` must hold at least one graph, got none."
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        Graph.merge([])


@pytest.mark.gpu
def test_a_graph_built_on_the_gpu_equals_one_moved_there():
    edges, weight = random_edges(23, 127), torch.rand(127)
    built = Graph.from_edges(edges.cuda(), 23, weight.cuda(), make_undirected=True)
    moved = Graph.from_edges(edges, 23, weight, make_undirected=True).to("cuda")
    assert built.device.type == moved.device.type == "cuda"
    assert torch.equal(built.edge_index, moved.edge_index)
    assert torch.equal(built.weight, moved.weight)


def test_a_merged_graph_merges_again_without_sharing_noise():
    parts = [Graph.from_edges(torch.tensor([[0], [1]])) for _ in range(3)]
    twice = Graph.merge([Graph.merge(parts[:2]), parts[2]])
    assert (twice.node_id >> 32).tolist() == [0, 0, 1, 1, 2, 2]


def test_the_larger_of_both_directions_is_the_same_for_both():
    graph = Graph.from_edges(torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    # Edges by (dst, src): 1→0, 0→1, 2→1, 1→2.
    value = torch.tensor([1.0, 5.0, 7.0, 2.0])
    assert graph.larger_direction(value).tolist() == [5.0, 5.0, 7.0, 7.0]


def test_features_of_edges_go_where_their_edges_go():
    edges = torch.tensor([[2, 0, 2, 1, 3], [0, 1, 0, 1, 0]])
    feature = torch.tensor([[1.0, 10], [2, 20], [3, 30], [4, 40], [5, 50]])
    graph = Graph.from_edges(edges, 4, edge_feature=feature, say_merged=False)
    # 2 → 0 is given twice and gets the mean; the loop 1 → 1 has none.
    expected = [[2.0, 20], [5, 50], [2, 20]]
    assert graph.edge_index.tolist() == [[2, 3, 0], [0, 0, 1]]
    assert graph.feature.tolist() == expected
    assert graph.to("cpu").feature.tolist() == expected
    kept = graph.select(torch.tensor([True, False, True]))
    assert kept.feature.tolist() == [expected[0], expected[2]]
    assert Graph.merge([kept, graph]).feature.tolist() == [
        expected[0],
        expected[2],
        *expected,
    ]


def test_the_reverse_of_an_edge_has_its_features_unless_it_has_its_own():
    edges = torch.tensor([[0, 1, 2], [1, 0, 0]])
    feature = torch.tensor([[1.0], [2], [3]])
    graph = Graph.from_edges(edges, 3, edge_feature=feature, make_undirected=True)
    assert graph.edge_index.tolist() == [[1, 2, 0, 0], [0, 0, 1, 2]]
    assert graph.feature.tolist() == [[2], [3], [1], [3]]


@pytest.mark.parametrize(
    ("feature", "sentence"),
    [
        (torch.ones(3, 2), "`edge_feature` must have shape [2, F], got [3, 2]."),
        (torch.ones(2), "`edge_feature` must have shape [2, F], got [2]."),
        (
            torch.ones(2, 1, dtype=torch.int64),
            "`edge_feature` must hold floating-point numbers, got torch.int64.",
        ),
    ],
)
def test_features_of_another_shape_are_refused(feature, sentence):
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        Graph.from_edges(torch.tensor([[0, 1], [1, 0]]), edge_feature=feature)


def test_graphs_with_different_features_are_not_merged():
    edges = torch.tensor([[0, 1], [1, 0]])
    with_two = Graph.from_edges(edges, edge_feature=torch.ones(2, 2))
    with_one = Graph.from_edges(edges, edge_feature=torch.ones(2, 1))
    for others in ([Graph.from_edges(edges)], [with_one]):
        with pytest.raises(ValueError, match="must all have the same number of"):
            Graph.merge([with_two, *others])


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
