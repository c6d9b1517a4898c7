"""Graphs of the shape of PPI: 24 of them, 50 features, 121 labels at once."""

from __future__ import annotations

import torch
from torch import Tensor

from sgat.data.node_data import NodeData
from sgat.data.synthetic.pairs import generator_for
from sgat.graph import Graph
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

NODES_PER_GRAPH = 56_944 / 24
EDGES_PER_GRAPH = 1_587_264 / 24
"""Means of PPI; both directions of an edge are counted, loops are not."""

NUM_MODULES = 10
SPREAD = 0.9
LARGEST = 25.0


def ppi_shaped(
    *,
    num_graphs: int = 24,
    scale: float = 1.0,
    noise_rate: float = 0.2,
    num_features: int = 50,
    num_labels: int = 121,
    feature_signal: float = 1.5,
    seed: int = 0,
    device: torch.device | str = "cpu",
) -> list[SyntheticData]:
    """Draw graphs of the size and shape of PPI for the inductive setting.

    Each node belongs to one of 10 modules, the same ones in all graphs. Signal edges
    join nodes of one module, noise edges nodes of different modules, both in proportion
    to heavy-tailed node weights. With the node's features x_i and the mean m_i of its
    signal neighbours' features, label l of node i is set where

        y_il = [ 0.6 · std(x_i · a_l) + 0.8 · std(m_i · b_l) > t_l ]

    with random a_l, b_l, shared by all graphs, std(·) scaling to mean 0 and variance 1,
    and t_l such that the share of nodes with the label runs from 0.1 to 0.6. So most of
    a label is in the neighbourhood, and noise edges blur it.

    Of the graphs about a twelfth validates, a twelfth tests (at least one each) and the
    others train: 20, 2 and 2 of 24.

    Args:
        num_graphs: How many graphs, at least 3.
        scale: Size of each graph as a share of PPI's 2,373 nodes and 66,136 directed
            edges on average. The graphs differ in size by a factor of up to 3. Where
            the modules are too small for the edges (below a scale of about 0.8), the
            mean degree shrinks as well.
        noise_rate: Share of the edges that is noise, 0 to 1.
        num_features: Width K of the features.
        num_labels: Number of labels C.
        feature_signal: Length of the module means, see `class_features`.
        seed: The same seed gives the same data on the same type of device.
        device: Where to draw.

    Returns:
        One entry per graph: the data with its role, and which edges are signal.

    Raises:
        ValueError: If an argument is out of range.
    """
    _check(num_graphs, scale, noise_rate)
    device = torch.device(device)
    generator = generator_for(seed, 0)
    shares = torch.linspace(0.5, 1.5, num_graphs).tolist()
    order = torch.randperm(num_graphs, generator=generator).tolist()
    shares = [shares[number] for number in order]
    sizes = sizes_by_share(round(num_graphs * NODES_PER_GRAPH * scale), shares)
    num_pairs = sizes_by_share(round(num_graphs * EDGES_PER_GRAPH / 2 * scale), sizes)
    module = torch.randint(NUM_MODULES, (sum(sizes),), generator=generator)
    weight = heavy_tailed_weights(
        sum(sizes), spread=SPREAD, largest=LARGEST, generator=generator
    )
    x = class_features(
        module.to(device), NUM_MODULES, num_features, feature_signal, seed
    )

    edge_generator = generator_for(seed, 1, device)
    graphs, truths, neighbours = [], [], []
    for graph_module, graph_weight, graph_x, pairs in zip(
        module.split(sizes), weight.split(sizes), x.split(sizes), num_pairs, strict=True
    ):
        key, is_signal = block_pairs(
            graph_module, graph_weight, pairs, 1 - noise_rate, edge_generator
        )
        graph, is_signal = graph_from_pairs(key, is_signal, len(graph_module))
        graphs.append(graph)
        truths.append(is_signal)
        neighbours.append(_neighbour_mean(graph, is_signal, graph_x))
    y = _labels(x, torch.cat(neighbours), num_labels, generator)
    roles = _roles(num_graphs)
    return [
        SyntheticData(_assemble(number, roles[number], graph, graph_x, graph_y), truth)
        for number, (graph, graph_x, graph_y, truth) in enumerate(
            zip(graphs, x.split(sizes), y.split(sizes), truths, strict=True)
        )
    ]


def _neighbour_mean(graph: Graph, is_signal: Tensor, x: Tensor) -> Tensor:
    """Mean of the features of the signal neighbours, zeros without any, [N, K]."""
    count = torch.bincount(graph.dst[is_signal], minlength=graph.num_nodes)
    # Sums over sorted rows are repeatable on a GPU, atomic additions are not.
    total = torch.segment_reduce(x[graph.src[is_signal]], "sum", lengths=count)
    return total / count.clamp(min=1).unsqueeze(1)


def _labels(
    x: Tensor, neighbours: Tensor, num_labels: int, generator: torch.Generator
) -> Tensor:
    """The labels of all nodes by the rule of `ppi_shaped`, [N, C] float of 0 and 1."""
    score = torch.zeros(len(x), num_labels, device=x.device)
    for share, part in ((0.6, x), (0.8, neighbours)):
        direction = torch.randn(x.shape[1], num_labels, generator=generator)
        projected = part @ direction.to(x.device)
        deviation = projected.std(dim=0, correction=0).clamp(min=1e-12)
        score += share * (projected - projected.mean(dim=0)) / deviation
    positive = torch.linspace(0.1, 0.6, num_labels, device=x.device)
    rank = ((1 - positive) * (len(x) - 1)).long()
    threshold = score.sort(dim=0).values.gather(0, rank.unsqueeze(0))  # [1, C]
    return (score > threshold).float()


def _roles(num_graphs: int) -> list[str]:
    held_out = max(1, round(num_graphs / 12))
    return (
        ["train"] * (num_graphs - 2 * held_out)
        + ["val"] * held_out
        + ["test"] * held_out
    )


def _assemble(number: int, role: str, graph: Graph, x: Tensor, y: Tensor) -> NodeData:
    masks = {
        name: torch.full((len(x),), name == role, device=x.device)
        for name in ("train", "val", "test")
    }
    return NodeData(
        graph=graph,
        x=x,
        y=y,
        train=masks["train"],
        val=masks["val"],
        test=masks["test"],
        classes=tuple(range(y.shape[1])),
        name=f"ppi-shaped-{number}",
    )


def _check(num_graphs: int, scale: float, noise_rate: float) -> None:
    if num_graphs < 3:
        raise ValueError(f"`num_graphs` must be at least 3, got {num_graphs}.")
    if not scale * NODES_PER_GRAPH >= NUM_MODULES:
        raise ValueError(
            f"`scale` must give {NUM_MODULES} nodes per graph, that is, be at least"
            f" {NUM_MODULES / NODES_PER_GRAPH:.4f}, got {scale}."
        )
    if not 0 <= noise_rate <= 1:
        raise ValueError(f"`noise_rate` must be from 0 to 1, got {noise_rate}.")
