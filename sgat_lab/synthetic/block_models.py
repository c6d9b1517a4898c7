"""Contextual stochastic block models: every edge is known as signal or noise."""

from __future__ import annotations

import dataclasses
from typing import Any

import torch
from torch import Tensor

from sgat.data.node_data import NodeData
from sgat.data.splits import random_fractions
from sgat.data.synthetic.pairs import (
    PairSpace,
    front_space,
    generator_for,
    other_classes,
    sample_pairs,
)
from sgat.graph import Graph

BLOCK_MODELS: dict[str, dict[str, Any]] = {
    "block-20": {"num_nodes": 1000, "num_classes": 20, "degree": 20.0},
    "block-5": {"num_nodes": 1000, "num_classes": 5, "degree": 10.0},
    "block-20-few": {
        "num_nodes": 1000,
        "num_classes": 20,
        "degree": 20.0,
        "fractions": (0.1, 0.2, 0.7),
    },
}
"""Arguments of `contextual_block_model`; 60 % of the nodes train, of "few" 10 %."""


@dataclasses.dataclass(frozen=True, eq=False)
class SyntheticData:
    """A made graph, and for every edge whether it is signal or noise.

    Attributes:
        data: The graph with features, labels and roles.
        is_signal: Whether each edge says something about the labels, in the order of
            `data.graph`, [E] bool. Both directions of a pair share the answer.
    """

    data: NodeData
    is_signal: Tensor

    def to(self, device: torch.device | str) -> SyntheticData:
        """The same data on another device."""
        return SyntheticData(self.data.to(device), self.is_signal.to(device))

    def __repr__(self) -> str:
        """One line: the data and the number of signal edges."""
        return f"SyntheticData({self.data!r}, {int(self.is_signal.sum())} signal edges)"


def class_means(
    num_classes: int, num_features: int, signal: float, seed: int
) -> Tensor:
    """The means that `class_features` draws around, on the CPU, [C, K]."""
    mean = torch.randn(num_classes, num_features, generator=generator_for(seed, 10))
    return signal * torch.nn.functional.normalize(mean, dim=1)


def class_features(
    y: Tensor, num_classes: int, num_features: int, signal: float, seed: int
) -> Tensor:
    """Features around a mean per class, see `contextual_block_model`, [N, K].

    Two class means are about signal · √2 standard deviations apart whatever the width.
    The means come from the CPU, so that they are the same on every device.
    """
    mean = class_means(num_classes, num_features, signal, seed).to(y.device)
    x = torch.randn(
        len(y),
        num_features,
        generator=generator_for(seed, 11, y.device),
        device=y.device,
    )
    # In slices, because mean[y] of a large graph is as large as x.
    for start in range(0, len(y), 65536):
        x[start : start + 65536] += mean[y[start : start + 65536]]
    return x


def class_space(y: Tensor, num_classes: int, *, assortative: bool) -> PairSpace:
    """Pairs of each node with its class, or else with the class before.

    Nodes of class -1 take no part; class C-1 stands before class 0.
    """
    space = other_classes(y, num_classes)
    start, count = space.start, space.count
    nodes = space.order, start, count
    if assortative:
        return PairSpace(*nodes, start, (count - 1).clamp(min=0), "self")
    return PairSpace(*nodes, start.roll(1), count.roll(1), "nothing")


def graph_from_pairs(key: Tensor, mark: Tensor, num_nodes: int) -> tuple[Graph, Tensor]:
    """The graph with both directions of each pair, and the mark of each edge, [2P].

    The keys of the pairs ascend, [P]. The row of node i is its lower neighbours and
    then its higher ones. The higher ones are the pairs in the order they have; the
    lower ones are the pairs sorted by `high`. So one stable sort of pairs is enough.
    """
    low = torch.div(key, num_nodes, rounding_mode="floor").to(torch.int32)
    high = (key % num_nodes).to(torch.int32)
    num_higher = torch.bincount(low, minlength=num_nodes)  # [N]
    num_lower = torch.bincount(high, minlength=num_nodes)  # [N]
    row_end = (num_higher + num_lower).cumsum(0)  # [N]
    row_ptr = torch.cat([row_end.new_zeros(1), row_end])
    node = torch.arange(num_nodes, dtype=torch.int32, device=key.device)
    src = torch.empty(2 * len(key), dtype=torch.int32, device=key.device)
    edge_mark = torch.empty(2 * len(key), dtype=mark.dtype, device=key.device)
    rank = torch.arange(len(key), device=key.device)  # [P]

    # Pair number k, in the order of `low`, moves on by the lower edges up to its row.
    position = rank + num_lower.cumsum(0)[low]
    src[position] = high
    edge_mark[position] = mark
    # Pair number k, in the order of `high`, by the higher edges of the rows before.
    high, order = high.sort(stable=True)
    position = rank + (num_higher.cumsum(0) - num_higher)[high]
    src[position] = low[order]
    edge_mark[position] = mark[order]

    dst = node.repeat_interleave(row_ptr.diff())
    return Graph(num_nodes=num_nodes, dst=dst, src=src, row_ptr=row_ptr), edge_mark


def contextual_block_model(
    *,
    num_nodes: int = 1000,
    num_classes: int = 5,
    degree: float = 10.0,
    noise_rate: float = 0.3,
    feature_signal: float = 1.0,
    num_features: int = 32,
    seed: int = 0,
    assortative: bool = True,
    undirected: bool = True,
    fractions: tuple[float, float, float] = (0.6, 0.2, 0.2),
    device: torch.device | str = "cpu",
) -> SyntheticData:
    """Draw a graph whose edges are known to follow the classes, or not.

    Classes are of equal size (to within one node). Of the N · degree directed edges, a
    share `noise_rate` joins two nodes drawn from the whole graph, and the others join

        class c  with class c                  assortative
        class c  with class (c + 1) mod C      disassortative

    uniformly among the pairs of that kind. Both counts are exact, there are no loops
    and no duplicates, and noise is drawn among the pairs that are not signal edges. A
    noise edge may join two nodes of one class by chance; it is noise all the same. So
    for equal classes the expected edge homophily is

        (1 - noise_rate) + noise_rate / C      assortative
        noise_rate / C                         disassortative

    up to terms of order 1/N. The features are

        x_i = feature_signal · μ_{y_i} + ε_i,   ‖μ_c‖ = 1,   ε_i ~ N(0, I)

    Args:
        num_nodes: Number of nodes N.
        num_classes: Number of classes C.
        degree: Mean number of edges into a node.
        noise_rate: Share of the edges that is noise, 0 to 1.
        feature_signal: Length of the class means; 0 makes the features pure noise.
        num_features: Width K of the features.
        seed: The same seed gives the same data on the same type of device.
        assortative: Whether signal edges join equals or neighbours in the ring of
            classes. In a directed disassortative graph they run from class c to c + 1.
        undirected: Draw pairs and give both directions; else draw single edges.
        fractions: Shares of the nodes that train, validate and test, drawn at random.
        device: Where to draw.

    Returns:
        The data, and which edges are signal.

    Raises:
        ValueError: If an argument is out of range or the graph has no room for that
            many edges of one kind.
    """
    _check(num_nodes, num_classes, degree, noise_rate, num_features)
    device = torch.device(device)
    order = torch.randperm(num_nodes, generator=generator_for(seed, 0))
    y = (order % num_classes).to(device)  # [N]

    total = round(num_nodes * degree / (2 if undirected else 1))
    num_noise = round(total * noise_rate)
    generator = generator_for(seed, 1, device)
    kind = "pairs" if undirected else "edges"
    space = class_space(y, num_classes, assortative=assortative)
    signal = sample_pairs(
        space, total - num_noise, num_nodes, generator, undirected=undirected
    )
    if signal is None:
        raise ValueError(
            f"`degree` must leave room for {total - num_noise} signal {kind} among"
            f" {num_nodes} nodes of {num_classes} classes, got {degree}."
        )
    space = front_space(torch.arange(num_nodes, device=device), num_nodes)
    noise = sample_pairs(
        space, num_noise, num_nodes, generator, undirected=undirected, taken=signal
    )
    if noise is None:
        raise ValueError(
            f"`degree` must leave room for {num_noise} noise {kind} among"
            f" {num_nodes} nodes, got {degree}."
        )
    key, order = torch.cat([signal, noise]).sort()
    is_signal = order < len(signal)
    if undirected:
        graph, is_signal = graph_from_pairs(key, is_signal, num_nodes)
    else:
        graph = Graph.from_keys(key, num_nodes)

    train, val, test = random_fractions(y, fractions, seed=[seed, 2]).masks()
    data = NodeData(
        graph=graph,
        x=class_features(y, num_classes, num_features, feature_signal, seed),
        y=y,
        train=train.to(device),
        val=val.to(device),
        test=test.to(device),
        classes=tuple(range(num_classes)),
        name="block-model",
    )
    return SyntheticData(data, is_signal)


def block_model(
    name: str,
    seed: int,
    *,
    noise_rate: float,
    feature_signal: float,
    shuffled: bool = False,
) -> SyntheticData:
    """Draw a block model.

    Args:
        name: One of `BLOCK_MODELS`.
        seed: Of everything that is drawn.
        noise_rate: Share of the edges that is planted, whatever the classes.
        feature_signal: Length of the class means of the features.
        shuffled: Deal the labels out at random, so that they say nothing of the edges.
    """
    made = contextual_block_model(
        noise_rate=noise_rate,
        feature_signal=feature_signal,
        seed=seed,
        **BLOCK_MODELS[name],
    )
    if not shuffled:
        return made
    order = torch.randperm(made.data.num_nodes, generator=generator_for(seed, 12))
    data = dataclasses.replace(made.data, y=made.data.y[order])
    return SyntheticData(data, made.is_signal)


def auc_ceiling(name: str, noise_rate: float) -> float:
    """The AUC, original above planted, of a judge who knows all classes and no more.

    Planted edges that join one class, a share q of them, look like original ones:

        1 - q / 2,   q = (N / C - 1 - d) / (N - 1 - d),   d = (1 - noise_rate) · degree

    because d of the pairs inside its class that a node is in are original edges.
    """
    made = BLOCK_MODELS[name]
    originals = (1 - noise_rate) * made["degree"]
    inside = made["num_nodes"] / made["num_classes"] - 1 - originals
    return float(1 - inside / (made["num_nodes"] - 1 - originals) / 2)


def _check(
    num_nodes: int,
    num_classes: int,
    degree: float,
    noise_rate: float,
    num_features: int,
) -> None:
    for name, value, fits, rule in (
        ("num_classes", num_classes, num_classes >= 2, "at least 2"),
        (
            "num_nodes",
            num_nodes,
            num_nodes >= num_classes,
            f"at least the number of classes, {num_classes}",
        ),
        ("degree", degree, degree >= 0, "at least 0"),
        ("noise_rate", noise_rate, 0 <= noise_rate <= 1, "from 0 to 1"),
        ("num_features", num_features, num_features >= 1, "at least 1"),
    ):
        if not fits:
            raise ValueError(f"`{name}` must be {rule}, got {value}.")
