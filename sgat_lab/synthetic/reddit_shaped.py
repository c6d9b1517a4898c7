"""A graph of the shape of Reddit: large, dense, heavy-tailed, 41 classes."""

from __future__ import annotations

import torch

from sgat.data.node_data import NodeData
from sgat.data.splits import random_fractions
from sgat.data.synthetic.pairs import generator_for
from sgat_lab.synthetic.block_models import (
    SyntheticData,
    class_features,
    graph_from_pairs,
)
from sgat_lab.synthetic.degree_corrected import (
    block_pairs,
    heavy_tailed_weights,
    sizes_by_share,
)

NUM_NODES = 232_965
NUM_EDGES = 114_615_892
NUM_CLASSES = 41
"""Counts of Reddit; both directions of an edge are counted, loops are not."""

SPREAD = 1.3
LARGEST = 17.0
"""Tail of the degrees: cut near 17 times the mean, 8,000 or so at full size."""


def reddit_shaped(
    *,
    scale: float = 1.0,
    homophily: float = 0.81,
    num_features: int = 602,
    feature_signal: float = 3.5,
    features: bool = True,
    seed: int = 0,
    device: torch.device | str = "cpu",
) -> SyntheticData:
    """Draw a degree-corrected block model of the size and shape of Reddit.

    Class c has a share of the nodes in proportion to (c + 1)^-0.8 (16 % down to 0.9 %),
    nodes are numbered at random, and node i has a heavy-tailed weight θ_i
    (`heavy_tailed_weights`). A pair is drawn with probability in proportion to θ_i θ_j,
    exactly the share `homophily` of the pairs inside the classes; repeats are drawn
    again. Signal edges are those inside a class.

    With `scale` the nodes and the edges shrink alike, down to about scale 0.12. Below,
    a class of the same degree would be a clique; the classes are filled to one quarter
    and the mean degree shrinks with the graph.

    On the CPU the full size takes about a minute on 2 busy cores, within 5 GiB
    (`benchmarks/results/generate.csv`).

    Args:
        scale: Size as a share of Reddit's 232,965 nodes and 114,615,892 directed edges.
        homophily: Share of the edges inside a class.
        num_features: Width K of the features.
        feature_signal: Length of the class means, see `class_features`.
        features: Whether to make features; without them `x` has no columns.
        seed: The same seed gives the same data on the same type of device; nodes and
            labels are the same on all.
        device: Where to draw the edges and the features.

    Returns:
        The data, split 66/10/24 at random, and which edges are signal.

    Raises:
        ValueError: If an argument is out of range.
    """
    num_nodes = round(NUM_NODES * scale)
    if not num_nodes >= 8 * NUM_CLASSES:
        raise ValueError(
            f"`scale` must give at least {8 * NUM_CLASSES} nodes, that is, be at least"
            f" {8 * NUM_CLASSES / NUM_NODES:.4f}, got {scale}."
        )
    if not 0 <= homophily <= 1:
        raise ValueError(f"`homophily` must be from 0 to 1, got {homophily}.")
    device = torch.device(device)
    shares = [(c + 1) ** -0.8 for c in range(NUM_CLASSES)]
    sizes = torch.tensor(sizes_by_share(num_nodes, shares))
    y = torch.arange(NUM_CLASSES).repeat_interleave(sizes)
    y = y[torch.randperm(num_nodes, generator=generator_for(seed, 0))]  # [N]
    weight = heavy_tailed_weights(
        num_nodes, spread=SPREAD, largest=LARGEST, generator=generator_for(seed, 1)
    )

    key, is_signal = block_pairs(
        y,
        weight,
        round(NUM_EDGES / 2 * scale),
        homophily,
        generator_for(seed, 2, device),
    )
    graph, is_signal = graph_from_pairs(key, is_signal, num_nodes)
    del key
    train, val, test = random_fractions(y, (0.66, 0.10, 0.24), seed=[seed, 3]).masks()
    y = y.to(device)
    x = torch.empty(num_nodes, 0, device=device)
    if features:
        x = class_features(y, NUM_CLASSES, num_features, feature_signal, seed)
    data = NodeData(
        graph=graph,
        x=x,
        y=y,
        train=train.to(device),
        val=val.to(device),
        test=test.to(device),
        classes=tuple(range(NUM_CLASSES)),
        name="reddit-shaped",
    )
    return SyntheticData(data, is_signal)
