"""Mini-batches with PyG: two gated layers that see a few nodes and their neighbours.

python examples/mini_batches.py

With pyg-lib installed, `NeighborLoader(data, [10, 10], batch_size=64)` makes such
batches and draws some of the neighbours; the nodes to learn from come first in them.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.utils import k_hop_subgraph

from sgat import SGATConv
from sgat_lab.synthetic.block_models import contextual_block_model


class Net(nn.Module):
    """Layers with gates of their own, which look at the column of each edge too."""

    def __init__(self, num_classes: int) -> None:
        super().__init__()
        self.first = SGATConv(-1, 16, heads=2, edge_dim=1)
        self.second = SGATConv(-1, num_classes, edge_dim=1)

    def forward(self, batch: Data) -> Tensor:
        """Class scores of all nodes of a batch, [N, C]."""
        edges = {"edge_index": batch.edge_index, "edge_attr": batch.edge_attr}
        return self.second(F.elu(self.first(batch.x, **edges)), **edges)


torch.manual_seed(0)
made = contextual_block_model(num_nodes=500, num_classes=3, noise_rate=0.5)
graph, y = made.data.graph, made.data.y
doubt = (~made.is_signal).float() + torch.rand(graph.num_edges)
data = Data(x=made.data.x, y=y, edge_index=graph.edge_index, edge_attr=doubt)
model = Net(num_classes=3)
model(data)  # the layers take their widths
optimiser = torch.optim.Adam(model.parameters(), lr=0.01)
for _ in range(10):
    for nodes in made.data.train.nonzero()[:, 0].split(64):
        near, edges, place, inside = k_hop_subgraph(
            nodes, 2, data.edge_index, relabel_nodes=True
        )
        batch = Data(x=data.x[near], edge_index=edges, edge_attr=doubt[inside])
        loss = F.cross_entropy(model(batch)[place], y[nodes])
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()

right = (model.eval()(data).argmax(dim=1) == y)[made.data.test].float().mean()
print(f"test accuracy: {right:.1%}")
