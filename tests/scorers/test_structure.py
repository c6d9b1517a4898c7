"""What the shape of a graph says of its edges, against networkx."""

import math
import weakref

import networkx as nx
import pytest
import torch
from support.awkward import GRAPHS, scattered

from sgat.graph import Graph
from sgat.ops import log_alphas
from sgat.scorers import StructureScorer
from sgat.scorers.structure import structure_of, work_out


@pytest.mark.parametrize("name", [*GRAPHS, "dense"])
def test_common_neighbours_are_those_of_networkx(name: str):
    graph = scattered(23, 301) if name == "dense" else GRAPHS[name]()
    plain = nx.Graph(graph.edge_index.T.tolist())
    plain.add_nodes_from(range(graph.num_nodes))
    found = structure_of(graph)
    degree = [math.log1p(plain.degree[node]) for node in range(graph.num_nodes)]
    assert found.degree.tolist() == pytest.approx(degree, rel=1e-6)
    assert found.common.shape == (graph.num_edges, 3)
    pairs = graph.edge_index.T.tolist()
    adamic = nx.adamic_adar_index(plain, pairs)
    jaccard = nx.jaccard_coefficient(plain, pairs)
    for row, pair, (*_, index), (*_, share) in zip(
        found.common.tolist(), pairs, adamic, jaccard, strict=True
    ):
        count = len(list(nx.common_neighbors(plain, *pair)))
        expected = [math.log1p(count), math.log1p(index), share]
        assert row == pytest.approx(expected, rel=1e-6)


def test_the_score_is_linear_in_the_structure(seed: int):
    graph, h = scattered(23, 301), torch.randn(23, 5)
    scorer = StructureScorer(5)
    degree, common = structure_of(graph)
    sender, target = graph.edge_index
    left, right = (h @ scorer.additive.weight).T
    u, v = scorer.degree_weight
    expected = left[target] + right[sender] + common @ scorer.common_weight
    expected = expected + u * degree[target] + v * degree[sender]
    found = log_alphas(graph, *scorer(h, graph))
    assert torch.allclose(found, expected, atol=1e-5)
    scorer.additive.weight.data.zero_()
    plain = scorer(h, graph)
    assert plain.dst.unique().numel() == degree.unique().numel()


def test_the_structure_is_worked_out_once_and_owned_by_its_graph():
    graph, other = scattered(23, 301), scattered(23, 301)
    found = structure_of(graph)
    assert structure_of(graph) is found
    assert structure_of(other) is not found
    owned = weakref.ref(found.common)
    del graph, found
    assert owned() is None


def test_the_operator_is_registered_as_torch_expects():
    graph = scattered(23, 301)
    torch.library.opcheck(work_out, (graph.row_ptr, graph.dst, graph.src))


def test_a_compiled_scorer_sees_the_structure_of_a_fresh_graph(seed: int):
    scorer, h = StructureScorer(5), torch.randn(23, 5)
    compiled = torch.compile(scorer, fullgraph=True, backend="aot_eager")
    graph = scattered(23, 301)
    first, second = compiled(h, graph), compiled(h, graph)
    assert "structure" in graph.derived
    for one, other in zip(first[:3], scorer(h, scattered(23, 301))[:3], strict=True):
        torch.testing.assert_close(one, other)
    assert torch.equal(first.edge, second.edge)


def test_a_graph_without_edges_has_no_structure_to_see():
    graph = Graph.from_edges(torch.zeros(2, 0, dtype=torch.long), 3)
    assert structure_of(graph).common.shape == (0, 3)
    assert structure_of(graph).degree.tolist() == [0, 0, 0]
