"""Small graphs to train on in seconds."""

import dataclasses

import torch

from sgat.data.node_data import NodeData
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
