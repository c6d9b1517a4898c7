"""SGATConv in a model of one's own: a skip connection around two gated layers.

python examples/own_model.py
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sgat import Graph, SGATConv
from sgat_lab.synthetic.block_models import contextual_block_model


class SkipNet(nn.Module):
    """Two layers that share one set of gates, beside a plain linear path."""

    def __init__(self, num_features: int, num_classes: int) -> None:
        super().__init__()
        self.first = SGATConv(num_features, 16, heads=2, gate_bias=0.0)
        self.second = SGATConv(32, num_classes, scorer=False, layer=1)
        self.skip = nn.Linear(num_features, num_classes)

    def forward(self, x: Tensor, graph: Graph) -> tuple[Tensor, Tensor]:
        """Class scores [N, C], and the expected number of open edges."""
        h, opened = self.first(x, graph, return_opened=True)
        out = self.second(F.elu(h), graph, opened=opened)
        return out + self.skip(x), opened.penalty


torch.manual_seed(0)
made = contextual_block_model(num_nodes=500, num_classes=3, noise_rate=0.5)
data = made.data
model = SkipNet(data.num_features, data.num_classes)
optimiser = torch.optim.Adam(model.parameters(), lr=0.01)
for _ in range(100):
    logits, penalty = model(data.x, data.graph)
    loss = F.cross_entropy(logits[data.train], data.y[data.train]) + 1e-5 * penalty
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()

logits, _ = model.eval()(data.x, data.graph)
right = (logits.argmax(dim=1) == data.y)[data.test].float().mean()
print(f"test accuracy: {right:.1%}")
