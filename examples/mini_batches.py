"""Mini-batches with PyG: gated layers that see a few nodes and their neighbours.

`NeighborLoader` draws the neighbours where pyg-lib or torch-sparse is installed. Where
neither is, a batch has all neighbours of its nodes: python examples/mini_batches.py
"""

from collections.abc import Iterator

import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.loader import NeighborLoader
from torch_geometric.typing import WITH_PYG_LIB, WITH_TORCH_SPARSE
from torch_geometric.utils import k_hop_subgraph

from sgat import SGATConv
from sgat_lab.synthetic.block_models import contextual_block_model


class Net(nn.Module):
    """Layers with gates of their own, which look at the column of each edge too."""

    def __init__(self) -> None:
        super().__init__()
        self.first = SGATConv(-1, 16, heads=2, edge_dim=1)
        self.second = SGATConv(-1, 3, edge_dim=1)

    def forward(self, batch: Data) -> Tensor:
        """Class scores of all nodes of a batch, [N, C]."""
        edges = {"edge_index": batch.edge_index, "edge_attr": batch.edge_attr}
        return self.second(nn.functional.elu(self.first(batch.x, **edges)), **edges)


def batches(data: Data, nodes: Tensor) -> Iterator[tuple[Data, Tensor]]:
    """Small graphs, each with the places of the nodes to learn from."""
    if WITH_PYG_LIB or WITH_TORCH_SPARSE:
        for batch in NeighborLoader(data, [10, 10], nodes, batch_size=64):
            yield batch, torch.arange(batch.batch_size)
        return
    for some in nodes.split(64):
        near, edges, place, at = k_hop_subgraph(some, 2, data.edge_index, True)
        yield Data(data.x[near], edges, data.edge_attr[at], data.y[near]), place


torch.manual_seed(0)
made = contextual_block_model(num_nodes=500, num_classes=3, noise_rate=0.5)
doubt = (~made.is_signal).float() + torch.rand(len(made.is_signal))
edges, y = made.data.graph.edge_index, made.data.y
data = Data(x=made.data.x, y=y, edge_index=edges, edge_attr=doubt)
(model := Net())(data)  # the layers take their widths
optimiser = torch.optim.Adam(model.parameters(), lr=0.01)
for _ in range(10):
    for batch, place in batches(data, made.data.train.nonzero()[:, 0]):
        loss = nn.functional.cross_entropy(model(batch)[place], batch.y[place])
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
is_right = (model.eval()(data).argmax(dim=1) == y)[made.data.test]
print(f"test accuracy: {is_right.float().mean():.1%}")
