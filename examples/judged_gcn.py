"""Remove the edges of a PyG graph that look wrong; train a GCN of PyG before and after.

python examples/judged_gcn.py
"""

import torch
import torch.nn.functional as F
from torch_geometric.data import Data
from torch_geometric.nn import GCN

import sgat
from sgat_lab.synthetic.block_models import contextual_block_model


def accuracy(data: Data) -> float:
    """Test accuracy of a GCN that knows nothing of sgat."""
    torch.manual_seed(0)
    model = GCN(data.num_features, 16, num_layers=2, out_channels=3)
    optimiser = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
    for _ in range(60):
        scores = model(data.x, data.edge_index)
        loss = F.cross_entropy(scores[data.train_mask], data.y[data.train_mask])
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    right = model.eval()(data.x, data.edge_index).argmax(dim=1) == data.y
    return float(right[data.test_mask].float().mean())


made = contextual_block_model(num_nodes=500, num_classes=3, noise_rate=0.5).data
masks = {"train_mask": made.train, "val_mask": made.val, "test_mask": made.test}
data = Data(x=made.x, y=made.y, edge_index=made.graph.edge_index, **masks)
clean = sgat.JudgeEdges("remove")(data)  # or in a Compose with transforms of PyG
print(f"test accuracy with all {data.num_edges} edges: {accuracy(data):.1%}")
print(f"test accuracy with the {clean.num_edges} that stay: {accuracy(clean):.1%}")
