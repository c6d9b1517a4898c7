"""Given edges: merging, loops, both directions, and what is refused."""

import logging
import re
from types import ModuleType

import pytest
import torch
from support.awkward import GRAPHS, random_edges

from sgat.graph import Graph


def graph_of(*edges: tuple[int, int], num_nodes: int | None = None, **options) -> Graph:
    """A graph of edges (src, dst)."""
    index = torch.tensor(edges, dtype=torch.long).reshape(-1, 2).T
    return Graph.from_edges(index, num_nodes, **options)


def test_weights_follow_their_edges():
    graph = graph_of((4, 1), (0, 1), (2, 0), edge_weight=torch.tensor([4.0, 0.5, 2.0]))
    assert graph.weight.tolist() == [2.0, 0.5, 4.0]


@pytest.mark.parametrize("num_nodes", [23, 263])
@pytest.mark.parametrize(
    "dtype", ["uint8", "int8", "int16", "uint16", "int32", "uint64", "int64"]
)
def test_any_integer_type_gives_the_same_graph(dtype: str, num_nodes: int):
    edges = random_edges(23, 127)
    graph = Graph.from_edges(edges.to(getattr(torch, dtype)), num_nodes)
    expected = Graph.from_edges(edges, num_nodes)
    assert torch.equal(graph.edge_index, expected.edge_index)


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


@pytest.mark.parametrize("make_undirected", [True, False])
def test_numbers_of_edges_are_means_over_the_rows_of_an_edge(make_undirected: bool):
    attr = torch.tensor([[1.0, 8.0], [5.0, 2.0], [3.0, 2.0], [7.0, 7.0], [9.0, 9.0]])
    attr.requires_grad_()
    rows = (1, 0), (2, 0), (1, 0), (0, 2), (2, 2)
    graph = graph_of(*rows, edge_attr=attr, make_undirected=make_undirected)
    ends = map(tuple, graph.edge_index.T.tolist())
    found = dict(zip(ends, graph.edge_attr.tolist(), strict=True))
    expected = {(1, 0): [2.0, 5.0], (2, 0): [5.0, 2.0], (0, 2): [7.0, 7.0]}
    if make_undirected:
        expected = {(1, 0): [2.0, 5.0], (0, 1): [2.0, 5.0]}
        expected |= {(2, 0): [6.0, 4.5], (0, 2): [6.0, 4.5]}
    assert found == expected
    graph.edge_attr.sum().backward()
    assert attr.grad[4].tolist() == [0, 0] and bool((attr.grad[:4] > 0).all())
    alone = graph_of(*rows, edge_attr=attr[:, 0], make_undirected=make_undirected)
    assert torch.equal(alone.edge_attr, graph.edge_attr[:, :1])
    assert graph_of(num_nodes=3, edge_attr=attr[:0]).edge_attr.shape == (0, 2)


@pytest.mark.parametrize(
    "attr", [torch.rand(3, 2), torch.rand(2, 2, 2), torch.ones(2, 1).int()]
)
def test_numbers_of_edges_have_a_row_for_each(attr):
    with pytest.raises(
        ValueError, match="`edge_attr` must be floating-point numbers of shape"
    ):
        graph_of((1, 0), (2, 0), edge_attr=attr)


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


def test_loops_that_are_given_twice_merge_as_edges_do():
    edges, weight = ((1, 1), (1, 1), (0, 1)), torch.tensor([0.25, 0.5, 3.0])
    for options, expected in (({}, [2.0, 0.75]), ({"make_undirected": True}, [1, 0.5])):
        assert graph_of(*edges, **options).loop_weight[1] == expected[0]
        weighted = graph_of(*edges, edge_weight=weight, **options)
        assert weighted.loop_weight.tolist() == [1.0, expected[1]]


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


def test_the_number_of_nodes_is_the_largest_id_plus_one():
    assert graph_of((1, 6)).num_nodes == 7
    assert graph_of((1, 6), num_nodes=11).num_nodes == 11


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
            "`edge_weight` must be from 0 to 1e+30, got -0.5 at edge 1.",
        ),
        (
            PAIR,
            None,
            torch.tensor([NAN, 1.0]),
            "`edge_weight` must be from 0 to 1e+30, got nan at edge 0.",
        ),
        (
            PAIR,
            None,
            torch.tensor([1.0, INF]),
            "`edge_weight` must be from 0 to 1e+30, got inf at edge 1.",
        ),
        (
            PAIR,
            None,
            torch.tensor([1, -2]),
            "`edge_weight` must be from 0 to 1e+30, got -2.0 at edge 1.",
        ),
    ],
)
def test_bad_edges_are_refused_with_a_sentence(edges, num_nodes, weight, sentence):
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        Graph.from_edges(edges, num_nodes, weight)


@pytest.mark.gpu
def test_a_graph_built_on_the_gpu_equals_one_moved_there():
    edges, weight = random_edges(23, 127), torch.rand(127)
    built = Graph.from_edges(edges.cuda(), 23, weight.cuda(), make_undirected=True)
    moved = Graph.from_edges(edges, 23, weight, make_undirected=True).to("cuda")
    assert built.device.type == moved.device.type == "cuda"
    assert torch.equal(built.edge_index, moved.edge_index)
    assert torch.equal(built.weight, moved.weight)
