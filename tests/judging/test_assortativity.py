"""Whether edges join one class, on block models of either kind and where unknown."""

import dataclasses

import pytest
import torch
from support.small_data import block_graph, several_graphs

from sgat.data.node_data import NodeData
from sgat.graph import Graph
from sgat.judging import (
    Example,
    assortativity,
    edges_ignore_classes,
    measure_assortativity,
)


def example(data: NodeData) -> Example:
    return Example.of(data.graph, data.x, data.y, data.train)


def measure(data: NodeData) -> float:
    return measure_assortativity(example(data), data.num_classes)


def is_assortative(graphs: list[NodeData]) -> bool:
    found = [example(data) for data in graphs]
    return assortativity.is_assortative(found, graphs[0].num_classes)


def says_nothing(graphs: list[NodeData], seed: int = 0) -> bool:
    found = [example(data) for data in graphs]
    return edges_ignore_classes(found, graphs[0].num_classes, seed=seed)


def block(**options) -> NodeData:
    settings = {"num_nodes": 503, "num_classes": 4, "feature_signal": 4.0, "degree": 8}
    return block_graph(**(settings | options))


def truth(data: NodeData) -> float:
    """From all labels; random pairs of 4 equal classes join one in a quarter."""
    src, dst = data.graph.edge_index
    same = float((data.y[src] == data.y[dst]).float().mean())
    return (same - 0.25) / 0.75


@pytest.mark.parametrize("noise_rate", [0.0, 0.3, 0.9])
@pytest.mark.parametrize("is_assorted", [True, False])
def test_it_is_that_of_the_labels_where_features_tell_them(
    is_assorted: bool, noise_rate: float
):
    data = block(noise_rate=noise_rate, assortative=is_assorted)
    assert measure(data) == pytest.approx(truth(data), abs=0.15)


@pytest.mark.parametrize("is_assorted", [True, False])
def test_block_models_are_told_apart(is_assorted: bool):
    data = block(noise_rate=0.3, assortative=is_assorted)
    assert is_assortative([data]) == is_assorted


def test_few_labels_are_enough_where_features_tell_the_classes():
    few = torch.arange(503) % 25 == 0
    data = block(noise_rate=0.3).with_split(few, ~few, ~few)
    assert measure(data) > 0.15 and is_assortative([data])


def test_directions_do_not_matter():
    data = block(noise_rate=0.3, undirected=False)
    assert measure(data) == pytest.approx(truth(data), abs=0.15)


@pytest.mark.parametrize("num_known", [60, 75, 90, 105])
def test_one_direction_of_the_edges_says_what_both_say(num_known: int):
    """Whether labels are few does not depend on how edges are written."""
    data = block(noise_rate=0.0, assortative=False, feature_signal=0.0)
    few = torch.arange(503) < num_known
    both = data.with_split(few, ~few, ~few)
    one = both.select_edges(data.graph.src < data.graph.dst)
    assert is_assortative([one]) == is_assortative([both])


def test_edges_by_chance_have_none():
    assert measure(block(noise_rate=1.0)) == pytest.approx(0, abs=0.03)


def test_labels_of_other_nodes_are_not_looked_at():
    data = block(noise_rate=0.3)
    hidden = dataclasses.replace(data, y=torch.where(data.train, data.y, -1))
    assert measure(hidden) == measure(data)


def test_what_is_not_known_counts_as_assortative():
    data = block(noise_rate=0.0, assortative=False)
    nobody = torch.zeros_like(data.train)
    assert is_assortative([data.with_split(nobody, nobody, nobody)])
    assert is_assortative(several_graphs())
    # Three known nodes and features without meaning.
    few = torch.arange(503) < 3
    blind = dataclasses.replace(data, x=torch.zeros(503, 5))
    assert is_assortative([blind.with_split(few, ~few, ~few)])


def test_the_first_graph_with_training_nodes_decides():
    nobody = torch.zeros(503, dtype=torch.bool)
    close, far = (block(noise_rate=0.1, assortative=kind) for kind in (True, False))
    silent = far.with_split(nobody, nobody, ~nobody)
    assert is_assortative([silent, close, far])
    assert not is_assortative([silent, far, close])


def test_a_graph_without_edges_is_not_known_to_be_otherwise():
    data = block()
    empty = data.select_edges(torch.zeros(data.graph.num_edges, dtype=torch.bool))
    assert is_assortative([empty])


@pytest.mark.parametrize("noise_rate", [0.0, 0.9])
@pytest.mark.parametrize("is_assorted", [True, False])
def test_edges_that_choose_classes_say_something(is_assorted: bool, noise_rate: float):
    data = block(noise_rate=noise_rate, assortative=is_assorted, degree=20)
    assert not says_nothing([data])


def test_edges_say_nothing_of_labels_that_are_dealt_out():
    data = block(degree=20)
    for seed in range(5):
        order = torch.randperm(503, generator=torch.Generator().manual_seed(seed))
        dealt = dataclasses.replace(data, y=data.y[order])
        assert says_nothing([dealt], seed=seed), seed
        # Few edges between labelled nodes leave it open.
        few = dealt.train & (torch.arange(503) % 3 == 0)
        assert not says_nothing([dataclasses.replace(dealt, train=few)])
    assert not says_nothing(several_graphs())


@pytest.mark.parametrize("num_rare", [1, 5])
def test_classes_of_a_few_nodes_hide_nothing(num_rare: int):
    """Class c is joined to c + 1; some classes are so rare that no random pair is."""
    generator = torch.Generator().manual_seed(num_rare)
    y = torch.randint(10, (3000,), generator=generator)
    a, b = torch.randint(3000, (2, 60_000), generator=generator)
    is_right = (y[a] + 1) % 10 == y[b]
    some = torch.rand(60_000, generator=generator) < 0.05
    edges = torch.stack([a, b])[:, (is_right | some) & (a != b)]
    for rare in range(num_rare):
        y[3 * rare : 3 * rare + 3] = 10 + rare
    nobody = torch.zeros(3000, dtype=torch.bool)
    graph = Graph.from_edges(torch.cat([edges, edges.flip(0)], dim=1), 3000)
    x = torch.randn(3000, 4, generator=generator)
    names = [str(number) for number in range(10 + num_rare)]
    data = NodeData(graph, x, y, ~nobody, nobody, nobody, names)
    for seed in range(3):
        assert not says_nothing([data], seed=seed)


def test_many_classes_do_not_hide_that_edges_join_one():
    """Of 20 classes each pair is rare, and few edges are real."""
    for seed in range(3):
        generator = torch.Generator().manual_seed(seed)
        y = torch.arange(1500) % 20
        a, b, other = torch.randint(1500, (3, 9000), generator=generator)
        is_real = torch.rand(9000, generator=generator) < 0.03
        ends = torch.stack([a, torch.where(is_real, other // 20 * 20 + y[a], b)])
        graph = Graph.from_edges(
            ends[:, (ends[0] != ends[1]) & (ends[1] < 1500)],
            1500,
            make_undirected=True,
            say_merged=False,
        )
        train = torch.rand(1500, generator=generator) < 0.6
        x = torch.randn(1500, 4, generator=generator)
        names = [str(number) for number in range(20)]
        data = NodeData(graph, x, y, train, ~train, ~train, names)
        assert not says_nothing([data], seed=seed), seed
