"""Poincaré embedding: its slopes against autograd, and what its places keep."""

import numpy as np
import pytest
import torch
from support.small_graphs import tree, without_edges

from sgat.graph import Graph
from sgat_lab.embeddings import poincare as module
from sgat_lab.embeddings.disc import hyperbolic_distance
from sgat_lab.embeddings.kernels.poincare import descend, pull, run_epoch
from sgat_lab.embeddings.neighbours import neighbours_of
from sgat_lab.embeddings.poincare import BORDER, poincare


def distance(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    room = (1 - x.square().sum(-1)) * (1 - y.square().sum(-1))
    return torch.acosh(1 + 2 * (x - y).square().sum(-1) / room)


def random_places(seed: int, size: int) -> torch.Tensor:
    draw = torch.Generator().manual_seed(seed)
    return torch.rand(size, 2, generator=draw, dtype=torch.float64) * 1.3 - 0.65


def all_apart(places: np.ndarray) -> np.ndarray:
    size = len(places)
    one, other = np.repeat(places, size, axis=0), np.tile(places, (size, 1))
    return hyperbolic_distance(one, other).reshape(size, size)


def test_distance_and_slopes_are_those_of_autograd(seed):
    x, y = random_places(seed, 2).requires_grad_()
    apart = distance(x, y)
    slopes = torch.autograd.grad(apart, (x, y))
    expected = [apart.item(), *torch.cat(slopes).tolist()]
    assert pull(*x.tolist(), *y.tolist()) == pytest.approx(expected, rel=1e-6)


def test_nodes_in_one_place_do_not_pull():
    assert pull(0.3, 0.1, 0.3, 0.1) == (0, 0, 0, 0, 0)


def test_a_step_is_scaled_by_the_metric_and_stays_inside():
    places = np.array([[0.6, 0.0], [0.0, 0.9]])
    # ((1 - 0.36)² / 4) = 0.1024.
    descend(places, 0, 2.0, -1.0, 0.5, BORDER)
    assert places[0] == pytest.approx([0.6 - 0.1024, 0.0512])
    descend(places, 1, 0.0, -1e6, 0.5, BORDER)
    assert places[1] == pytest.approx([0, BORDER])


def test_one_step_descends_the_loss_of_the_paper(seed):
    # A star: node 1 may draw all nodes, and itself and the hub are left out.
    places = random_places(seed, 5)
    linked = neighbours_of(
        Graph.from_edges(torch.tensor([[0, 0, 0, 0], [1, 2, 3, 4]]), 5)
    )
    moved = places.numpy().copy()
    owner = np.repeat(np.arange(5), linked.degree)
    edge = np.flatnonzero((owner == 1) & (linked.neighbour == 0))
    first, size, member = np.zeros(5, dtype=int), np.full(5, 5), np.arange(5)
    # The draws are those of the same generator.
    drawn = (np.random.default_rng(seed).random(100) * 5).astype(int)
    assert set(drawn) == set(range(5))
    rng = np.random.default_rng(seed)
    settings = (first, size, member, 100, 1e-3, BORDER, rng)
    run_epoch(moved, *linked, owner, edge, *settings)

    x = places.clone().requires_grad_()
    apart = distance(x[1], x[[0, *drawn[drawn >= 2].tolist()]])
    (apart[0] + (-apart).exp().sum().log()).backward()
    metric = (1 - places.square().sum(1, keepdim=True)).square() / 4
    step = -1e-3 * metric * x.grad
    # A node drawn twice moves twice, the second time from where the first took it.
    np.testing.assert_allclose(moved - places.numpy(), step.numpy(), rtol=0.01)


def test_the_root_of_a_tree_is_nearer_to_the_origin_than_its_leaves(seed):
    disc = poincare(tree(), seed=seed)
    norm = np.linalg.norm(disc.places, axis=1)
    level = np.repeat(np.arange(5), [1, 3, 9, 27, 81])
    assert norm[0] < np.quantile(norm[level == 4], 0.05)
    assert norm[level <= 1].mean() < norm[level == 4].mean()


def test_linked_nodes_are_closer_than_others(seed):
    graph = tree()
    disc = poincare(graph, seed=seed)
    apart = all_apart(disc.places)
    linked = neighbours_of(graph).matrix.toarray() > 0
    rank = apart.argsort(axis=1).argsort(axis=1)
    assert rank[linked].mean() < 8, "of 121; about 60 by chance"
    near = disc.near_pairs(graph.num_edges)
    assert linked[near[0], near[1]].mean() > 0.2, "240 of 14,520 pairs are linked"


def test_seeds_make_places(seed):
    graph = tree()
    assert (
        poincare(graph, seed=seed).places == poincare(graph, seed=seed).places
    ).all()
    assert (
        poincare(graph, seed=seed).places != poincare(graph, seed=seed + 1).places
    ).any()


def test_relabelled_nodes_are_placed_as_well(seed):
    graph = tree()
    order = torch.randperm(graph.num_nodes)
    moved = Graph.from_edges(order[graph.edge_index], graph.num_nodes)
    depth = hyperbolic_distance(np.zeros((121, 2)), poincare(graph, seed=seed).places)
    again = hyperbolic_distance(np.zeros((121, 2)), poincare(moved, seed=seed).places)
    # Other numbers are drawn; that leaves stay outside does not depend on names.
    assert np.corrcoef(depth, again[order])[0, 1] > 0.3


def test_components_have_discs_of_their_own():
    edges = torch.tensor([[0, 1, 4], [1, 2, 5]])
    disc = poincare(Graph.from_edges(edges, 7))
    assert len(set(disc.component.tolist())) == 4
    assert disc.component[0] == disc.component[2] != disc.component[4]
    assert (disc.places[[3, 6]] == 0).all()
    # Two nodes alone have nobody to be pushed by, whatever else is in the graph.
    assert (np.abs(disc.places[[4, 5]]) <= module.START).all()
    assert (np.abs(disc.places[[0, 2]]).max(axis=1) > module.START).all()
    assert (np.linalg.norm(disc.places, axis=1) <= BORDER).all()
    near = disc.near_pairs(6)
    assert (disc.component[near[0]] == disc.component[near[1]]).all()


@pytest.mark.parametrize("size", [0, 1, 5])
def test_no_edges_leave_all_at_the_origin(size):
    disc = poincare(without_edges(size))
    assert (disc.places == 0).all()
    assert disc.near_pairs(0).shape == (2, 0)


def test_more_epochs_fit_better(seed, monkeypatch):
    graph = tree()
    one, other = graph.edge_index.numpy()

    def mean_rank(epochs: int) -> float:
        apart = all_apart(poincare(graph, seed=seed, epochs=epochs).places)
        return float(apart.argsort(axis=1).argsort(axis=1)[one, other].mean())

    burnt_in, trained = mean_rank(module.BURN_IN), mean_rank(module.EPOCHS)
    assert trained < burnt_in
