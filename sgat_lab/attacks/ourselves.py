"""An attack on ourselves: added edges that mislead the classifier and look real.

The attacker knows the judge, the classifier, all features and all classes, those of the
test nodes too, and may add edges. It works in rounds:

    1. train `SGATClassifier(fast=True)` on the graph as it is by now, every few rounds
    2. find the pairs of two classes whose edge would do most harm
    3. prefer those that look more like edges than a share of the real edges do
    4. add the most harmful of these, at most one at each node
    5. ask the judge, and take back the new edges that it calls wrong
"""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import numpy as np
import torch
from scipy import sparse
from sklearn.ensemble import HistGradientBoostingClassifier

from sgat.data.node_data import NodeData
from sgat.estimator import SGATClassifier
from sgat.features import Features
from sgat.graph import Graph
from sgat.judging import judge
from sgat.judging.contrast import LEAST_IN_LEAF, LEAVES, LEVELS, RATE
from sgat.judging.matrices import numbered, weighted
from sgat.judging.pairs import Pairs, draw_pairs
from sgat.judging.signals import Signals
from sgat.judging.verdict import TREES
from sgat_lab.attacks.graphs import NoisyGraph

Array = np.ndarray[Any, Any]

ROUNDS, ROUNDS_OF_A_MODEL = 9, 3
"""Rounds in all, and after how many of them the classifier is trained again."""
CANDIDATES = 60_000
"""Most harmful pairs that are looked at in a round."""
LIKENESS = 0.1
"""Share of the real edges that a new edge must outdo in looking like an edge."""
SOFTNESS = 1.5
"""τ over the median size of a class score."""


class Surrogate(NamedTuple):
    """The classifier as the attacker sees it: own scores that diffuse along the edges.

    y⁰ = f,   y^k = (1 - r) P y^(k-1) + r f,   P = D⁻¹ (A + I)
    """

    own: Array  # scores f of each node by itself, [N, C]
    steps: int
    restart: float  # r

    def scores(self, walk: Any) -> list[Array]:
        """Scores y of each step, for P = `walk`."""
        found = [self.own]
        for _ in range(self.steps):
            received = walk @ found[-1]
            found.append((1 - self.restart) * received + self.restart * self.own)
        return found


def train_surrogate(data: NodeData, seed: int) -> Surrogate:
    """Train `SGATClassifier()`; f are its scores on the graph without edges."""
    trained = SGATClassifier(fast=True, seed=seed, device="cpu").fit(data)
    nothing = torch.zeros(2, 0, dtype=torch.long)
    alone = dataclasses.replace(data, graph=Graph.from_edges(nothing, data.num_nodes))
    # Softmax leaves a constant for each node open, which no margin depends on.
    own = np.log(trained.predict_proba(alone).astype(np.float64).clip(min=1e-12))
    own -= own.mean(axis=1, keepdims=True)
    return Surrogate(own, trained.config_.model.steps, trained.config_.model.restart)


def harm(surrogate: Surrogate, ends: Array, y: Array, test: Array) -> Array:
    """Rise of the loss if an edge joins two nodes, to first order, [N, N].

        loss = -Σ tanh(margin_i / τ)                          over the test nodes i
        rise of u - v = h_uv + h_vu
        h_uv = (1 - r) Σ_k g^k_u · (y^(k-1)_v - (P y^(k-1))_u) / (d_u + 1)

    The margin is the score of the true class less the best other one. g^k is the slope
    of the loss with y^k, d the degree with the loop. An edge u - v turns the row P_u
    into (d_u P_u + e_v) / (d_u + 1): the change of P is exact.

    Args:
        surrogate: The classifier.
        ends: Undirected edges, each once, [2, E].
        y: Class of each node, [N].
        test: Nodes whose accuracy shall fall, [N] bool.
    """
    number = len(y)
    edges = weighted(numbered(ends, number), np.ones(ends.shape[1]))
    matrix = edges + sparse.eye_array(number)
    degree = matrix.sum(axis=1)
    walk = sparse.csr_array(sparse.diags_array(1 / degree) @ matrix)
    found = surrogate.scores(walk)
    slope = _slope(surrogate.own, found[-1], y, test)
    slopes, offset = [], np.zeros(number)
    for score in found[-2::-1]:
        slopes.append(slope)
        offset += (slope * (walk @ score)).sum(axis=1)
        slope = (1 - surrogate.restart) * (walk.T @ slope)
    products = np.hstack(slopes) @ np.hstack(found[-2::-1]).T
    one = (1 - surrogate.restart) * (products - offset[:, None]) / (degree + 1)[:, None]
    return np.asarray(one + one.T)


def _slope(own: Array, score: Array, y: Array, test: Array) -> Array:
    """Slope of the loss with the last scores, [N, C]."""
    node = np.arange(len(y))
    others = score.copy()
    others[node, y] = -np.inf
    rival = others.argmax(axis=1)
    softness = SOFTNESS * max(float(np.median(np.abs(own))), 1e-9)
    margin = score[node, y] - others[node, rival]
    steep = np.where(test, 1 - np.tanh(margin / softness) ** 2, 0.0) / softness
    slope = np.zeros_like(score)
    slope[node, y] = -steep
    slope[node, rival] += steep
    return slope


def likeness(
    candidates: Array, ends: Array, x: Features | None, label: Array, seed: int
) -> Array:
    """How much more pairs look like edges than a share LIKENESS of the edges do, [P].

    Trees tell edges from pairs by the judge's signals, as `sgat.judging.contrast` has
    them, once and without folds.

    Args:
        candidates: Pairs, [2, P].
        ends: Undirected edges, each once, [2, E].
        x: Node features.
        label: Class of each training node, -1 for the others, [N].
        seed: Of the pairs that edges are compared with.
    """
    numbers, num_edges = numbered(ends, len(label)), ends.shape[1]
    drawn = draw_pairs(ends, numbers, np.random.default_rng(seed))
    last = drawn[-1].place.stop
    pairs = (*drawn, Pairs.loose(candidates[0], candidates[1], last))
    signals = Signals(ends, numbers, x, pairs, label, seed)
    signals.weigh(np.ones(num_edges, dtype=np.float32))
    every = Pairs.of_edges(ends, slice(0, num_edges)), *pairs
    found, free = np.concatenate([*map(signals.of_all, every)]), signals.num_free
    trees = HistGradientBoostingClassifier(
        max_iter=TREES,
        max_leaf_nodes=LEAVES,
        learning_rate=RATE,
        min_samples_leaf=LEAST_IN_LEAF,
        max_bins=LEVELS,
        monotonic_cst=[1] * (found.shape[1] - free) + [0] * free,
        early_stopping=False,
        random_state=0,
    ).fit(found[:last], np.arange(last) < num_edges)
    least = np.quantile(trees.decision_function(found[:num_edges]), LIKENESS)
    return np.asarray(trees.decision_function(found[last:]) - least)


def _preferred(rise: Array, excess: Array) -> Array:
    """Order: pairs that look real by harm; if they are too few, others by likeness."""
    return np.lexsort((-np.where(excess >= 0, rise, excess), excess < 0))


def _one_at_each_node(pairs: Array, number: int) -> Array:
    """The first `number` pairs that have no node in common, [2, at most number]."""
    taken, chosen = set[int](), list[int]()
    for place, both in enumerate(pairs.T.tolist()):
        if len(chosen) == number:
            break
        if taken.isdisjoint(both):
            taken.update(both)
            chosen.append(place)
    return pairs[:, chosen]


def _with_edges(data: NodeData, ends: Array) -> NodeData:
    pairs = torch.from_numpy(ends)
    graph = Graph.from_edges(pairs, data.num_nodes, make_undirected=True)
    return dataclasses.replace(data, graph=graph)


def _called_real(data: NodeData, clean: Array, added: Array, seed: int) -> Array:
    """Whether the judge calls new edges real when they are there, [P] bool."""
    graph = _with_edges(data, np.hstack([clean, added])).graph
    judged = judge(graph, data.x, data.y, train=data.train, seed=seed)
    found = judged.probability[graph.find(*torch.from_numpy(added))] > 0.5
    return np.asarray(found)


def attack(data: NodeData, rate: float, *, seed: int = 0) -> NoisyGraph:
    """Add the edges that lower the test accuracy most and that the judge calls real.

    Memory grows with the square of the number of nodes. Weights and features of edges
    are left out. The surrogate is that of graphs whose edges tend to join one class.

    Args:
        data: A graph with one class for each node, training and test nodes.
        rate: Edges to add at most, as a share of those there are. Fewer are added where
            too few pairs would do harm.
        seed: Of the classifier and the judge. The same seed adds the same edges.

    Raises:
        ValueError: If `rate` is not above 0, if nodes have several labels, or if none
            is to test.
    """
    if not 0 < rate < float("inf"):
        raise ValueError(f"`rate` must be above 0, got {rate:g}.")
    if data.is_multilabel or not bool(data.test.any()):
        raise ValueError("`data` must have one class for each node, and test nodes.")
    number, y, test = data.num_nodes, data.y.numpy(), data.test.numpy()
    label = np.where(data.train.numpy(), y, -1)
    src, dst = data.graph.undirected().edge_index.numpy().astype(np.int64)
    clean = np.stack([src, dst])[:, src < dst]
    budget = round(rate * clean.shape[1])
    is_free = np.triu((y[:, None] != y) & (y[:, None] >= 0) & (y >= 0), 1)
    is_free[clean[0], clean[1]] = False
    added = clean[:, :0]
    for done in range(ROUNDS):
        ends = np.hstack([clean, added])
        if done % ROUNDS_OF_A_MODEL == 0:
            surrogate = train_surrogate(_with_edges(data, ends), seed)
        rise = np.where(is_free, harm(surrogate, ends, y, test), 0.0).ravel()
        worst = np.argsort(-rise, kind="stable")[:CANDIDATES]
        worst = worst[rise[worst] > 0]
        candidates = np.stack(np.divmod(worst, number))
        excess = likeness(candidates, ends, data.x, label, seed)
        candidates = candidates[:, _preferred(rise[worst], excess)]
        quota = -(-(budget - added.shape[1]) // (ROUNDS - done))
        new = _one_at_each_node(candidates, quota)
        is_free[new[0], new[1]] = False
        added = np.hstack([added, new])
        if done < ROUNDS - 1:
            added = added[:, _called_real(data, clean, added, seed)]
    attacked = _with_edges(data, np.hstack([clean, added]))
    src, dst = torch.from_numpy(added)
    wrong = torch.zeros(attacked.graph.num_edges, dtype=torch.bool)
    wrong[attacked.graph.find(src, dst)] = wrong[attacked.graph.find(dst, src)] = True
    return NoisyGraph(attacked, wrong)
