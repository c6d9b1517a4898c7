"""A graph auto-encoder: how likely edges are, learned from the noisy graph alone.

    Z = Â relu(Â X W₀) W₁,   Â = D^-½ (A + I) D^-½,   log-odds of i - j = z_i · z_j + b

(Kipf, Welling: Variational graph auto-encoders, 2016, the plain one.) It learns to tell
edges from pairs of any nodes, and it sees the edges that it scores.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from scipy import sparse
from torch import Tensor

from sgat.features import Features, SparseFeatures
from sgat.graph import Graph
from sgat.judging.beliefs import random_pairs

HIDDEN, WIDTH = 32, 16
EPOCHS, LR = 100, 0.01


def _to_torch(matrix: Any) -> Tensor:
    coordinates = sparse.coo_array(matrix)
    place = torch.from_numpy(np.stack(coordinates.coords).astype(np.int64))
    value = torch.from_numpy(coordinates.data.astype(np.float32))
    found = torch.sparse_coo_tensor(
        place, value, coordinates.shape, check_invariants=False
    )
    return found.coalesce()


def _normalised(graph: Graph) -> Tensor:
    """The matrix Â of the edges in both directions and loops."""
    src, dst = graph.undirected().edge_index.numpy(force=True)
    shape = (graph.num_nodes,) * 2
    matrix = sparse.csr_array((np.ones(len(src)), (dst, src)), shape=shape)
    matrix = matrix + sparse.eye_array(graph.num_nodes)
    root = sparse.diags_array(1 / np.sqrt(matrix.sum(axis=1)))
    return _to_torch(root @ matrix @ root)


def auto_encoder(x: Features, graph: Graph, *, seed: int = 0) -> Tensor:
    """Log-odds of each edge after training on all of them; on the CPU, [E].

    Args:
        x: Node features, [N, K].
        graph: Edges; without any there is nothing to learn, and nothing is returned.
        seed: Of weights and pairs.
    """
    if not graph.num_edges:
        return torch.zeros(0)
    if isinstance(x, SparseFeatures):
        rows = _to_torch(x.to_scipy(np.float32))
    else:
        rows = x.float().cpu()
    matrix, src, dst = (
        _normalised(graph),
        graph.src.long().cpu(),
        graph.dst.long().cpu(),
    )
    generator = torch.Generator().manual_seed(seed)
    shapes = ((x.shape[1], HIDDEN), (HIDDEN, WIDTH))
    weights = [torch.empty(shape) for shape in shapes]
    for weight in weights:
        torch.nn.init.xavier_uniform_(weight, generator=generator).requires_grad_()
    bias = torch.zeros(1, requires_grad=True)
    optimiser = torch.optim.Adam([*weights, bias], lr=LR)

    def odds(*pairs: tuple[Tensor, Tensor]) -> list[Tensor]:
        hidden = F.relu(matrix @ (rows @ weights[0]))
        z = matrix @ (hidden @ weights[1])
        return [(z[a] * z[b]).sum(dim=1) + bias for a, b in pairs]

    for epoch in range(EPOCHS):
        drawn = random_pairs(graph, graph.num_edges, seed=seed * EPOCHS + epoch)
        edges, others = odds((src, dst), (drawn[0].cpu(), drawn[1].cpu()))
        loss = F.softplus(-edges).mean()
        if len(others):
            loss = loss + F.softplus(others).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    with torch.no_grad():
        return odds((src, dst))[0]
