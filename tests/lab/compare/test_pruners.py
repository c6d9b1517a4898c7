"""Every method keeps exactly the share asked for, pairs of directions as one."""

import dataclasses

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from support.awkward import random_edges
from support.small_data import block_graph

from sgat.data.node_data import NodeData
from sgat.graph import Graph
from sgat_lab.compare.pruners import PRUNERS, UNLEARNED, PrunedTask, kept_edges, select
from sgat_lab.config import LabConfig, MadeDataConfig


def made(num_nodes: int, num_edges: int, undirected: bool) -> NodeData:
    edges = random_edges(num_nodes, num_edges)
    graph = Graph.from_edges(
        edges, num_nodes, make_undirected=undirected, say_merged=False
    )
    if not undirected:
        graph = dataclasses.replace(graph, weight=None)
    nobody = torch.zeros(num_nodes, dtype=torch.bool)
    return NodeData(
        graph=graph,
        x=torch.rand(num_nodes, 3),
        y=torch.zeros(num_nodes, dtype=torch.long),
        train=nobody,
        val=nobody,
        test=nobody,
        classes=(0, 1),
    )


def pairs(data: NodeData) -> set[tuple[int, int]]:
    return {(int(a), int(b)) for a, b in data.graph.edge_index.T}


@pytest.mark.parametrize("method", PRUNERS)
@settings(max_examples=25, deadline=None)
@given(
    num_nodes=st.integers(2, 23),
    num_edges=st.integers(1, 61),
    undirected=st.booleans(),
    keep=st.floats(0.001, 1),
    seed=st.integers(0, 2**31),
)
def test_the_share_is_exact_and_pairs_stay_together(
    method, num_nodes, num_edges, undirected, keep, seed
):
    data = made(num_nodes, num_edges, undirected)
    # Scores of two directions differ, and many tie.
    scores = [torch.randint(3, (data.graph.num_edges,)).float()]
    kept = kept_edges(method, [data], keep, seed, scores)
    (smaller,) = select([data], kept)
    before, after = pairs(data), pairs(smaller)
    assert after <= before
    if data.graph.is_undirected:
        before = {(a, b) for a, b in before if a < b}
        assert {(b, a) for a, b in after} == after
        after = {(a, b) for a, b in after if a < b}
    assert len(after) == round(keep * len(before))
    assert kept == kept_edges(method, [data], keep, seed, scores)


@pytest.mark.parametrize("method", ["gat-attention", "sgat"])
def test_the_links_of_the_highest_mean_scores_stay(method, seed):
    data = block_graph(seed=seed + 1)
    score = torch.rand(data.graph.num_edges)
    by_pair: dict[tuple[int, int], list[float]] = {}
    for (a, b), value in zip(
        data.graph.edge_index.T.tolist(), score.tolist(), strict=True
    ):
        by_pair.setdefault((min(a, b), max(a, b)), []).append(value)
    means = {pair: sum(values) / 2 for pair, values in by_pair.items()}
    ranked = sorted(means, key=lambda pair: -means[pair])
    best = set(ranked[: round(0.3 * len(ranked))])
    (smaller,) = select([data], kept_edges(method, [data], 0.3, seed, [score]))
    assert {(a, b) for a, b in pairs(smaller) if a < b} == best


def test_several_graphs_keep_the_share_each(seed):
    graphs = [made(13, 41, True), made(17, 29, True)]
    for method in UNLEARNED:
        smaller = select(graphs, kept_edges(method, graphs, 0.4, seed))
        for before, after in zip(graphs, smaller, strict=True):
            assert after.graph.num_edges == 2 * round(0.4 * before.graph.num_edges / 2)


def test_labels_are_not_looked_at(seed):
    data = block_graph()
    other = dataclasses.replace(
        data, y=data.y.flip(0), train=data.test, test=data.train
    )
    for method in UNLEARNED:
        kept = kept_edges(method, [data], 0.5, seed)
        assert kept == kept_edges(method, [other], 0.5, seed)


def test_other_edges_are_refused():
    small, large = made(13, 41, True), made(31, 211, True)
    kept = kept_edges("random", [small], 0.5, 0)
    with pytest.raises(ValueError, match="'data' have changed since the comparison"):
        select([large], kept)


TASK = PrunedTask(
    "random-0.5-gcn",
    LabConfig(data=MadeDataConfig(name="karate")),
    data_sha256="abc",
    kept=(np.packbits([1, 0, 1]).tobytes(),),
)


@pytest.mark.parametrize(
    "changes",
    [
        {"data_sha256": "abd"},
        {"kept": None},
        {"kept": (np.packbits([1, 1, 0]).tobytes(),)},
        {"row": "random-0.5-gat"},
        {"config": TASK.config.replace(train={"seed": 1})},
    ],
)
def test_other_edges_or_data_are_another_task(changes):
    assert dataclasses.replace(TASK, **changes).key != TASK.key
    assert dataclasses.replace(TASK).key == TASK.key
