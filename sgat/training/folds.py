"""Folds: the labelled nodes split several times, where few are for validation."""

from collections.abc import Sequence

import torch
from torch import Tensor

from sgat.data.node_data import NodeData
from sgat.ops import noise


def folds(
    graphs: Sequence[NodeData], number: int, *, seed: int
) -> list[list[NodeData]]:
    """Splits of the training and validation nodes, in which each validates once.

    Nodes of a class are dealt out in turn; of nodes with several labels, all are. Test
    nodes are left alone.
    """
    pools = [(data.train | data.val).nonzero().squeeze(1) for data in graphs]
    y = torch.cat(
        [data.y[pool].cpu() for data, pool in zip(graphs, pools, strict=True)]
    )
    generator = torch.Generator().manual_seed(noise.derive(seed, 2))
    order = torch.randperm(len(y), generator=generator)
    if y.dim() == 1:
        order = order[y[order].argsort(stable=True)]
    number = min(number, len(y))
    dealt = torch.empty_like(order)
    dealt[order] = torch.arange(len(y)) % number
    parts = dealt.split([len(pool) for pool in pools])
    return [
        [
            _with_roles(data, pool, (part == fold).to(pool.device))
            for data, pool, part in zip(graphs, pools, parts, strict=True)
        ]
        for fold in range(number)
    ]


def _with_roles(data: NodeData, pool: Tensor, held_out: Tensor) -> NodeData:
    train, val = torch.zeros_like(data.train), torch.zeros_like(data.val)
    train[pool[~held_out]] = True
    val[pool[held_out]] = True
    return data.with_split(train, val, data.test)
