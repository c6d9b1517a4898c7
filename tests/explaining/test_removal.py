import dataclasses
import json
import math
import time

import networkx as nx
import numpy as np
import pytest
import torch

from sgat.data.node_data import NodeData
from sgat.explaining.removal import describe_removal
from sgat.features import SparseFeatures
from sgat.graph import Graph


def node_data(graph: Graph, *, seed: int = 0, unlabelled: int = 2) -> NodeData:
    """Random features and three classes; the first nodes have no label."""
    generator = torch.Generator().manual_seed(seed)
    size = graph.num_nodes
    y = torch.randint(3, (size,), generator=generator)
    y[:unlabelled] = -1
    nobody = torch.zeros(size, dtype=torch.bool)
    x = torch.randn(size, 7, generator=generator)
    x[x < 0] = 0
    return NodeData(graph, x, y, nobody, nobody, nobody, ("a", "b", "c"))


def some_kept(graph: Graph) -> torch.Tensor:
    return torch.rand(graph.num_edges, generator=torch.Generator().manual_seed(5)) < 0.4


def mean(values) -> float | None:
    values = list(values)
    return sum(values) / len(values) if values else None


def plain_side(data: NodeData, pairs: list[tuple[int, int]]) -> dict:
    """The same numbers, by networkx and loops over the edges."""
    drawn = nx.DiGraph()
    drawn.add_nodes_from(range(data.num_nodes))
    drawn.add_edges_from(pairs)
    parts = list(nx.weakly_connected_components(drawn))
    y = data.y.tolist()
    shares = []
    for node in drawn:
        if y[node] < 0:
            continue
        heard = [j for j in drawn.predecessors(node) if y[j] >= 0]
        if heard:
            shares.append(mean(y[j] == y[node] for j in heard))
    degrees = [0] * (max((d for _, d in drawn.in_degree()), default=0) + 1)
    for _, degree in drawn.in_degree():
        degrees[degree] += 1
    labelled = [(j, i) for j, i in pairs if y[j] >= 0 and y[i] >= 0]
    return {
        "edges": len(pairs),
        "homophily": mean(y[j] == y[i] for j, i in labelled),
        "node_homophily": mean(shares),
        "components": len(parts),
        "largest_component": max(map(len, parts), default=0),
        "isolated": sum(d == 0 for _, d in drawn.degree()),
        "degrees": degrees,
    }


def plain_contrasts(data: NodeData, prediction, pairs) -> dict:
    """Means of the properties of some of the edges, one edge at a time."""
    joined = nx.Graph()
    joined.add_nodes_from(range(data.num_nodes))
    joined.add_edges_from(data.graph.edge_index.T.tolist())
    x = data.x.to_dense() if isinstance(data.x, SparseFeatures) else data.x
    x, y = x.double().numpy(), data.y.tolist()

    def cosine(j: int, i: int) -> float:
        scale = np.linalg.norm(x[j]) * np.linalg.norm(x[i])
        return float(x[j] @ x[i] / scale) if scale else 0.0

    def typical(place: int) -> float | None:
        logs = mean(math.log(joined.degree[pair[place]]) for pair in pairs)
        return None if logs is None else math.exp(logs)

    return {
        "same_label": mean(y[j] == y[i] for j, i in pairs if min(y[j], y[i]) >= 0),
        "same_prediction": mean(int(prediction[j] == prediction[i]) for j, i in pairs),
        "source_degree": typical(0),
        "target_degree": typical(1),
        "common_neighbours": mean(
            len(set(joined[j]) & set(joined[i])) for j, i in pairs
        ),
        "feature_cosine": mean(cosine(j, i) for j, i in pairs),
    }


def pairs_of(graph: Graph, mask=None) -> list[tuple[int, int]]:
    index = graph.edge_index if mask is None else graph.edge_index[:, mask]
    return [tuple(pair) for pair in index.T.tolist()]


def assert_close(found: dict, wanted: dict) -> None:
    assert found.keys() == wanted.keys()
    for name, value in wanted.items():
        expected = value if value is None else pytest.approx(value, rel=1e-6, abs=1e-9)
        assert found[name] == expected, name


@pytest.mark.parametrize("is_sparse", [False, True])
def test_numbers_equal_those_counted_edge_by_edge(awkward_graph, is_sparse):
    data = node_data(awkward_graph, unlabelled=min(2, awkward_graph.num_nodes - 1))
    if is_sparse:
        data = dataclasses.replace(data, x=SparseFeatures.from_dense(data.x))
    kept = some_kept(awkward_graph)
    prediction = torch.arange(data.num_nodes) % 3
    found = describe_removal(data, kept, prediction)
    whole, rest = pairs_of(awkward_graph), pairs_of(awkward_graph, kept)
    assert_close(vars(found.before), plain_side(data, whole))
    assert_close(vars(found.after), plain_side(data, rest))
    for side, mask in (("kept", kept), ("removed", ~kept)):
        means = {c.name: getattr(c, side) for c in found.contrasts}
        pairs = pairs_of(awkward_graph, mask)
        assert_close(means, plain_contrasts(data, prediction, pairs))
    assert json.loads(json.dumps(dataclasses.asdict(found)))["after"]["edges"] == len(
        rest
    )
    assert not any(contrast.is_sampled for contrast in found.contrasts)


def test_without_labels_or_prediction_nothing_is_said_of_them(awkward_graph):
    data = node_data(awkward_graph, unlabelled=awkward_graph.num_nodes)
    found = describe_removal(data, some_kept(awkward_graph))
    assert found.before.homophily is found.after.node_homophily is None
    contrasts = {contrast.name: contrast for contrast in found.contrasts}
    assert contrasts["same_label"].kept is contrasts["same_label"].removed is None
    assert "same_prediction" not in contrasts


def test_several_labels_are_compared_by_what_is_common():
    graph = Graph.from_edges(torch.tensor([[0, 1, 2, 3], [1, 2, 3, 0]]), 4)
    data = node_data(graph)
    y = torch.tensor([[1.0, 1, 0], [1, 0, 0], [0, 0, 0], [0, 0, 0]])
    data = dataclasses.replace(data, y=y)
    # In the order of the graph: 3 → 0, 0 → 1, 1 → 2, 2 → 3.
    kept = torch.tensor([False, True, False, True])
    found = describe_removal(data, kept, y.bool())
    assert found.before.homophily is None
    for contrast in found.contrasts[:2]:
        # 2 → 3 has no label at either end and is left out.
        assert contrast.kept == 0.5
        assert contrast.removed == 0
    assert found.contrasts[0].title == "share of common labels"


def test_identity_features_have_no_cosine():
    graph = Graph.from_edges(torch.tensor([[0, 1, 2], [1, 2, 0]]), 3)
    for x in (SparseFeatures.identity(3), torch.zeros(3, 0)):
        data = dataclasses.replace(node_data(graph), x=x)
        last = describe_removal(data, torch.tensor([True, False, True])).contrasts[-1]
        assert (last.name, last.kept, last.removed) == ("feature_cosine", None, None)


def test_a_sample_says_so_repeats_and_is_near(seed):
    generator = torch.Generator().manual_seed(seed)
    graph = Graph.from_edges(torch.randint(300, (2, 9000), generator=generator), 300)
    data, kept = node_data(graph), some_kept(graph)
    exact = describe_removal(data, kept)
    found = describe_removal(data, kept, sample=1500)
    again = describe_removal(data, kept, sample=1500)
    assert found == again
    assert found.sample == 1500
    sampled = [contrast.name for contrast in found.contrasts if contrast.is_sampled]
    assert sampled == ["common_neighbours", "feature_cosine"]
    for some, whole in zip(found.contrasts, exact.contrasts, strict=True):
        assert some.kept == pytest.approx(whole.kept, rel=0.1)
        assert some.removed == pytest.approx(whole.removed, rel=0.1)
    assert found.after == exact.after


def test_half_a_million_edges_take_seconds():
    generator = torch.Generator().manual_seed(0)
    # Hubs: targets are drawn with a long tail, as in a graph of the web.
    dst = (20_000 * torch.rand(500_000, generator=generator) ** 3).long()
    src = torch.randint(20_000, (500_000,), generator=generator)
    graph = Graph.from_edges(torch.stack([src, dst]), 20_000, say_merged=False)
    data = node_data(graph)
    start = time.process_time()
    describe_removal(data, some_kept(graph))
    assert time.process_time() - start < 30


def test_a_hub_is_not_gone_through_for_each_of_its_edges():
    leaf = torch.arange(1, 100_000)
    pairs = torch.stack([torch.zeros_like(leaf), leaf])
    graph = Graph.from_edges(torch.cat([pairs, pairs.flip(0)], dim=1), 100_000)
    data = node_data(graph)
    describe_removal(node_data(graph.select(leaf.new_zeros(0))), leaf[:0] > 0)
    start = time.process_time()
    describe_removal(data, some_kept(graph))
    # One after the other, the neighbours of the hub took 15 s.
    assert time.process_time() - start < 5
