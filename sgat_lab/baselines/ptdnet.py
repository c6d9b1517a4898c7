"""PTDNet: a GCN that learns, layer by layer, what to drop (Luo et al., WSDM 2021).

Where paper and published code differ or leave a choice open: the denoising network is
an MLP on both ends together, as in the paper (the code's is a sum of one term per end);
γ is that of `ModelConfig` and negative (the code's γ = -0.0 makes its L0 term the
constant 1); evaluation gates are the median at temperature 1, as in the code; one graph
is drawn per step, without the code's consistency loss over several.
"""

from __future__ import annotations

from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric.nn import GCNConv

from sgat.features import Features
from sgat.gates import HardConcrete
from sgat.graph import Graph
from sgat.models import ACTIVATIONS
from sgat.node_classifier import Output
from sgat.ops import Seed
from sgat_lab.baselines.baseline import Baseline, Projection, unprojected
from sgat_lab.baselines.method import Method

POWER_ITERATIONS = 10
"""Rounds towards the leading singular vectors."""


def leading_singular_values(graph: Graph, weight: Tensor, rank: int) -> Tensor:
    """Sum of the largest singular values of the matrix with these entries.

        Σ_i u_iᵀ A v_i,    A[dst, src] = weight

    The vectors u, v come from power iteration with torch's global generator and are
    constants to the gradient, which is then Σ_i u_i[dst] v_i[src] for an edge.

    Args:
        graph: The edges; loops are left out.
        weight: One entry per edge, [E].
        rank: Number of singular values, 1 or more.
    """
    src, dst = graph.edge_index
    rank = min(rank, graph.num_nodes)
    zeros = weight.new_zeros(graph.num_nodes, rank)

    def times(values: Tensor, to: Tensor, of: Tensor, x: Tensor) -> Tensor:
        return zeros.index_add(0, to, values[:, None] * x[of])

    with torch.no_grad():
        right = torch.linalg.qr(torch.randn_like(zeros)).Q
        for _ in range(POWER_ITERATIONS):
            left = torch.linalg.qr(times(weight, dst, src, right)).Q
            right = torch.linalg.qr(times(weight, src, dst, left)).Q
    core = left[:, :, None] * times(weight, dst, src, right)[:, None, :]
    values: Tensor = torch.linalg.svdvals(core.sum(dim=0))
    return values.sum()


class Denoiser(nn.Module):
    """Gate location of every edge from the features of its two ends.

        log α_ij = wᵀ relu(U x_j + V x_i + b) + c        edge j → i

    Args:
        in_channels: Width K of the features.
        hidden_channels: Width of the hidden layer.
        start: Where c starts.
    """

    def __init__(self, in_channels: int, hidden_channels: int, start: float) -> None:
        super().__init__()
        self.start = start
        self.of_src = Projection(in_channels, hidden_channels)
        self.of_dst = Projection(in_channels, hidden_channels, bias=True)
        self.score = nn.Linear(hidden_channels, 1)

    def reset_parameters(self) -> None:
        """Draw the weights; every log α is then near `start`."""
        for part in (self.of_src, self.of_dst, self.score):
            part.reset_parameters()
        nn.init.constant_(self.score.bias, self.start)

    def forward(self, x: Features, graph: Graph) -> Tensor:
        """Log α, [E]."""
        src, dst = graph.edge_index
        # The gradient of `index_select` is summed in order, that of indexing is not.
        ends = self.of_src(x, graph, None).index_select(0, src)
        ends = ends + self.of_dst(x, graph, None).index_select(0, dst)
        log_alpha: Tensor = self.score(ends.relu()).squeeze(1)
        return log_alpha


class PTDNet(Baseline):
    """A GCN in which each layer has gates of its own, drawn from its input.

        x' = D^-½ (A ⊙ Z + I) D^-½ x W        Z: hard-concrete gates of this layer
        loss = labels + Σ_layers (λ₁ mean P(z ≠ 0) + λ₂ Σ_{i ≤ k} σ_i(A ⊙ Z))

    The second sum stands for the nuclear norm. An edge counts as used if its gate is
    open in some layer. The temperature falls geometrically as training goes on.
    Gates see dropped features too. Arguments that are not listed are as of `GCN`.

    Args:
        gamma: γ < 0, the lower end of the gates' stretched interval.
        zeta: ζ > 1, the upper end.
        gate_bias_start: Where the bias of every log α starts.
        denoise_hidden: Width of the denoising networks.
        open_weight: λ₁, the price of the expected share of open edges.
        nuclear_weight: λ₂, the price of the singular values; 0 leaves them out.
        rank: k, the number of singular values.
        temperature_start: Temperature of the gates when training begins.
        temperature_end: Temperature at its end.
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        *,
        layers: int = 2,
        activation: str = "relu",
        dropout: float = 0.5,
        gamma: float = -0.1,
        zeta: float = 1.1,
        gate_bias_start: float = 0.0,
        denoise_hidden: int = 16,
        open_weight: float = 0.01,
        nuclear_weight: float = 0.001,
        rank: int = 1,
        temperature_start: float = 2.0,
        temperature_end: float = 0.05,
    ) -> None:
        super().__init__()
        widths = [hidden_channels] * (layers - 1) + [out_channels]
        self.activation, self.dropout = activation, dropout
        self.open_weight, self.nuclear_weight = open_weight, nuclear_weight
        self.rank = rank
        self.temperature_start = temperature_start
        self.temperature_end = temperature_end
        self.gates = HardConcrete(1.0, gamma, zeta)
        self.projection = Projection(in_channels, widths[0], dropout=dropout)
        convs = [unprojected(GCNConv(widths[0], widths[0]))]
        convs += [GCNConv(*pair) for pair in pairwise(widths)]
        self.convs = nn.ModuleList(convs)
        inputs = [in_channels, *widths[:-1]]
        self.denoisers = nn.ModuleList(
            Denoiser(width, denoise_hidden, gate_bias_start) for width in inputs
        )

    @property
    def drawn_gates(self) -> HardConcrete:
        """The gates of training, at the temperature of this point of it."""
        fall = self.temperature_end / self.temperature_start
        temperature = self.temperature_start * fall**self.progress
        return HardConcrete(temperature, self.gates.gamma, self.gates.zeta)

    def run(self, x: Features, graph: Graph, seed: Seed | None) -> Output:
        """Class scores from the edges whose gates are open."""
        logits, hidden, log_alphas, gates = self._pass(x, graph, seed)
        used = torch.stack(gates).amax(dim=0) > 0
        price = None
        if self.training and graph.num_edges:
            price = self._price(graph, log_alphas, gates)
        return Output(logits, hidden, extra_loss=price, num_used=used.sum())

    def _pass(
        self, x: Features, graph: Graph, seed: Seed | None
    ) -> tuple[Tensor, Features, list[Tensor], list[Tensor]]:
        """Class scores, penultimate features, log α and gates of each layer, [E]."""
        hidden: Features = x
        out = self.projection(x, graph, seed)
        log_alphas, gates = [], []
        for layer, conv in enumerate(self.convs):
            if layer:
                hidden = ACTIVATIONS[self.activation](out)
                out = F.dropout(hidden, self.dropout, self.training)
            log_alphas.append(self.denoisers[layer](hidden, graph).float())
            gates.append(self._gates(log_alphas[-1]))
            out = conv(out, graph.edge_index, gates[-1] * graph.edge_weight)
        return out, hidden, log_alphas, gates

    def _gates(self, log_alpha: Tensor) -> Tensor:
        if not self.training:
            return self.gates.value(log_alpha)
        uniform = torch.rand_like(log_alpha).clamp(1e-6, 1 - 1e-6)
        return self.drawn_gates.sample(log_alpha, uniform)

    def _price(
        self, graph: Graph, log_alphas: list[Tensor], gates: list[Tensor]
    ) -> Tensor:
        open_share = self.drawn_gates.probability_open(torch.stack(log_alphas))
        price = self.open_weight * open_share.mean(dim=1).sum()
        if self.nuclear_weight:
            for gate in gates:
                entries = gate * graph.edge_weight
                norm = leading_singular_values(graph, entries, self.rank)
                price = price + self.nuclear_weight * norm
        return price

    @torch.no_grad()
    def score_edges(self, x: Features, graph: Graph) -> Tensor:
        """The largest log α of the layers, [E]; evaluation keeps the high ones."""
        _, _, log_alphas, _ = self._pass(x, graph, None)
        return torch.stack(log_alphas).amax(dim=0)


METHOD = Method(
    PTDNet,
    defaults={
        "denoise_hidden": 16,
        "open_weight": 0.01,
        "nuclear_weight": 0.001,
        "rank": 1,
        "temperature_start": 2.0,
        "temperature_end": 0.05,
    },
)
