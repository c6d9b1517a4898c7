"""Small graphs to train on in seconds."""

import dataclasses

import torch

from sgat.data.node_data import NodeData
from sgat.graph import Graph
from sgat_lab.synthetic.block_models import contextual_block_model
from sgat_lab.synthetic.ppi_shaped import ppi_shaped


def block_graph(**options) -> NodeData:
    """A block model with 3 classes on which a few epochs learn something."""
    settings = {"num_nodes": 211, "num_classes": 3, "num_features": 13, "seed": 1}
    return contextual_block_model(**(settings | options)).data


def several_graphs() -> list[NodeData]:
    """Five small multi-label graphs: three train, one validates, one tests."""
    graphs = [part.data for part in ppi_shaped(num_graphs=5, scale=0.02, num_labels=7)]
    roles = ("train", "train", "train", "val", "test")
    return [_with_role(data, role) for data, role in zip(graphs, roles, strict=True)]


def _with_role(data: NodeData, role: str) -> NodeData:
    everyone = torch.ones(data.num_nodes, dtype=torch.bool)
    nobody = ~everyone
    masks = dict.fromkeys(("train", "val", "test"), nobody) | {role: everyone}
    return dataclasses.replace(data, **masks)


def neighbours_decide(num_nodes: int = 307, seed: int = 0) -> NodeData:
    """A graph whose edges join nodes at random, and whose classes need neighbours.

    The class is whether the signs of a node's second feature and of its neighbours'
    mean first feature differ: no node knows it alone, and class scores say nothing.
    """
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(num_nodes, 2, generator=generator)
    pairs = torch.randint(num_nodes, (2, 3 * num_nodes), generator=generator)
    pairs = torch.unique(pairs[:, pairs[0] < pairs[1]], dim=1)
    graph = Graph.from_edges(pairs, num_nodes, make_undirected=True)
    mean = torch.zeros(num_nodes).index_add(0, graph.dst, x[graph.src, 0])
    role = torch.randint(5, (num_nodes,), generator=generator)
    return NodeData(
        graph=graph,
        x=x,
        y=((mean > 0) != (x[:, 1] > 0)).long(),
        train=role < 2,
        val=(role == 2) | (role == 3),
        test=role == 4,
        classes=("same", "different"),
        has_directions=False,
    )
