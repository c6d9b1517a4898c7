"""Layers and walks against the paper's formulas, pair by pair."""

import networkx as nx
import numpy as np
import pytest
from support.small_graphs import barbell, from_networkx, without_edges

from sgat_lab.embeddings.context_graph import STAY, context_graph, find_classes
from sgat_lab.embeddings.kernels.walks import walk_layers
from sgat_lab.embeddings.neighbours import neighbours_of
from sgat_lab.embeddings.structural_distance import collect, structural_distance

LAYERS = 3


def irregular(seed: int) -> nx.Graph:
    """A path of hubs with leaves, which are alike hub by hub, and a shortcut."""
    found = nx.path_graph(5)
    for hub, leaves in enumerate((2, 3, 5, 7, 4)):
        found.add_edges_from((hub, f"{hub} {leaf}") for leaf in range(leaves))
    found.add_edge(seed % 3, 4)
    return nx.convert_node_labels_to_integers(found)


def chances(context) -> np.ndarray:
    """p_k(u, v) by position, [layers, N, N], from the sums over classes."""
    ptr = context.classes.ptr
    size, total = np.diff(ptr), ptr[-1]
    found = np.zeros((len(context.rise), total, total))
    each = np.diff(context.cumulative, axis=2, prepend=0)
    for at in range(len(size)):
        for step, share in zip(context.step, each[:, at].T, strict=True):
            if not share.any():
                continue
            mine, others = (np.arange(ptr[c], ptr[c + 1]) for c in (at, int(at + step)))
            spread = np.ones((len(mine), len(others)))
            if step == 0:
                spread -= np.eye(len(mine))
            spread /= spread.sum(axis=1, keepdims=True)
            found[np.ix_(range(len(share)), mine, others)] = (
                share[:, None, None] * spread
            )
    return found


def formulas(rings, classes):
    """Eq. 3 to 8 over all pairs that are linked: chances within layers, and to rise."""
    size = len(classes.member)
    one, other = np.meshgrid(classes.member, classes.member, indexing="ij")
    apart = structural_distance(rings, one.ravel(), other.ravel()).T
    at = np.repeat(np.arange(len(classes.ptr) - 1), np.diff(classes.ptr))
    is_near = np.abs(at[:, None] - at) <= np.ceil(np.log2(size))
    weight = np.exp(-apart.reshape(-1, size, size)) * is_near
    weight[:, np.arange(size), np.arange(size)] = 0
    heavy = []
    for each in weight:
        linked = each[np.triu_indices(size, 1)]
        heavy.append((each > linked[linked > 0].mean()).sum(axis=1))
    up = np.log(np.array(heavy) + np.e)
    rise = up / (up + 1)
    rise[0], rise[-1] = 1, 0
    total = weight.sum(axis=2, keepdims=True)
    within = np.divide(weight, total, out=np.zeros_like(weight), where=total > 0)
    return within, rise


@pytest.mark.parametrize("graph", ["irregular", "barbell"])
def test_layers_are_those_of_the_paper(graph, seed):
    known = from_networkx(irregular(seed)) if graph == "irregular" else barbell()
    rings = collect(neighbours_of(known), LAYERS)
    context = context_graph(rings)
    within, rise = formulas(rings, context.classes)
    np.testing.assert_allclose(chances(context), within, atol=1e-9)
    number = np.diff(context.classes.ptr)
    np.testing.assert_allclose(np.repeat(context.rise, number, axis=1), rise)
    assert number.max() > 5, "nodes alike are taken together"
    is_complete = (within[0] > 0).sum() == len(within[0]) * (len(within[0]) - 1)
    assert is_complete == (graph == "barbell"), "OPT2 leaves links out of the other"


def test_a_node_cannot_rise_where_it_has_no_ring():
    # Hubs alike and leaves alike.
    edges = nx.disjoint_union(nx.star_graph(4), nx.star_graph(4))
    rings = collect(neighbours_of(from_networkx(edges)), LAYERS)
    context = context_graph(rings)
    assert np.diff(context.classes.ptr).tolist() == [8, 2]
    _, rise = formulas(rings, context.classes)
    # A hub has nobody two hops away, so it cannot rise to layer 2.
    rise[1, 8:] = 0
    np.testing.assert_allclose(context.rise[:2], rise[:2][:, [0, 8]])


def test_nodes_with_the_same_rings_are_one_class_and_classes_go_by_degree():
    graph = barbell()
    classes = find_classes(collect(neighbours_of(graph), 5))
    degree = neighbours_of(graph).degree[classes.member]
    assert (np.diff(degree) >= 0).all()
    groups = [
        set(classes.member[a:b].tolist())
        for a, b in zip(classes.ptr[:-1], classes.ptr[1:], strict=True)
    ]
    assert {*range(9), *range(21, 30)} in groups
    assert {9, 20} in groups and {10, 19} in groups and {13, 16} in groups


def test_walks_step_by_their_chances():
    rings = collect(neighbours_of(barbell()), LAYERS)
    context = context_graph(rings)
    rng = np.random.default_rng(5)
    walks = np.empty((30 * 2000, 2), np.int32)
    # Without changes of layer the first step is one of layer 0.
    ways = (context.step, context.cumulative, context.rise)
    walk_layers(context.classes.ptr, *ways, 1.0, rng, walks)
    found = np.zeros((30, 30))
    np.add.at(found, (walks[:, 0], walks[:, 1]), 1 / 2000)
    np.testing.assert_allclose(found, chances(context)[0], atol=0.03)
    assert (np.diag(found) == 0).all(), "a walk never stays where it is"


def test_layers_are_visited_as_often_as_their_chain_says():
    rings = collect(neighbours_of(barbell()), LAYERS)
    context = context_graph(rings)
    steps = context.walk(4000, 2, np.random.default_rng(6))
    ptr = context.classes.ptr
    at = np.searchsorted(ptr, 0, side="right") - 1
    # Where a first step is taken: in layer k with the chance to stop there.
    rise, layer = context.rise[:, at], np.array([1.0, 0, 0])
    stopped = np.zeros(3)
    for _ in range(500):
        stopped += STAY * layer
        moving = (1 - STAY) * layer
        layer = np.zeros(3)
        layer[1:] += moving[:-1] * rise[:-1]
        layer[:-1] += moving[1:] * (1 - rise[1:])
        layer[0] += moving[0] * (1 - rise[0])
    assert stopped.sum() == pytest.approx(1)
    mixed = np.einsum("k,kv->v", stopped, chances(context)[:, 0])
    mine = steps[steps[:, 0] == 0][:, 1]
    found = np.bincount(mine, minlength=30) / len(mine)
    by_class = [np.add.reduceat(each, ptr[:-1]) for each in (found, mixed)]
    np.testing.assert_allclose(*by_class, atol=0.03)
    layers = np.add.reduceat(chances(context)[:, 0], ptr[:-1], axis=1)
    assert np.ptp(layers, axis=0).max() > 0.1, "layers differ by more than that"


def test_very_unlike_nodes_are_still_linked():
    # Degrees 1 and 1,999: exp(-f) is 0 in floating point.
    context = context_graph(
        collect(neighbours_of(from_networkx(nx.star_graph(1999))), 2)
    )
    assert np.diff(context.classes.ptr).tolist() == [1999, 1]
    each = np.diff(context.cumulative, axis=2, prepend=0)
    np.testing.assert_allclose(each[:, 1].sum(axis=1), 1)
    assert each[0, 1].tolist() == [1, 0, 0]


def test_no_edges_have_no_context():
    context = context_graph(collect(neighbours_of(without_edges(3)), 2))
    assert len(context.classes.member) == 0
    assert context.walk(2, 5, np.random.default_rng(0)).shape == (0, 5)
