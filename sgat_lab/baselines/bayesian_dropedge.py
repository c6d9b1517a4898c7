"""DropEdge with a learned rate per layer (Hasanzadeh et al., ICML 2020).

Of the paper's variants of adaptive connection sampling this is the beta-Bernoulli
DropEdge: one keep rate per layer and one mask for all features, trained through the
concrete relaxation in place of the ARM estimator. Evaluation takes the mean mask, where
the paper averages the predictions of several draws. Self-loops are never dropped.
"""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric.nn.conv.gcn_conv import gcn_norm

from sgat.features import Features
from sgat.graph import Graph
from sgat.models import ACTIVATIONS
from sgat.node_classifier import Output
from sgat.ops import Seed, noise
from sgat_lab.baselines.gcn import GCN
from sgat_lab.baselines.method import Method

MASKS = 10 << 16
"""First stream of the noise of the masks; the layer's number is added."""
EULER = 0.5772156649015329
NEAREST = 1e-6
"""Drawn rates stay so far from 0 and 1, where the logarithm has no slope."""


class KeepRates(nn.Module):
    """The keep rate π of each layer: a Kumaraswamy distribution.

        density(π) = a b π^(a-1) (1 - π^a)^(b-1),   a, b > 0 learned

    Args:
        layers: Number of layers L.
        prior: α of the prior Beta(α, 1), whose mean is α / (1 + α).
        start: Mean keep rate at the start.
    """

    def __init__(self, layers: int, *, prior: float, start: float) -> None:
        super().__init__()
        self.prior, self.start = prior, start
        self.log_a = nn.Parameter(torch.empty(layers))
        self.log_b = nn.Parameter(torch.empty(layers))

    def reset_parameters(self) -> None:
        """Start with b = 1, where the mean is a / (1 + a)."""
        nn.init.constant_(self.log_a, math.log(self.start / (1 - self.start)))
        nn.init.zeros_(self.log_b)

    def sample(self) -> Tensor:
        """π = (1 - u^(1/b))^(1/a) with u from torch's generator, [L]."""
        uniform = torch.rand_like(self.log_a)
        power = uniform.clamp(NEAREST, 1 - NEAREST).pow((-self.log_b).exp())
        rate = (1 - power).pow((-self.log_a).exp())
        return rate.clamp(NEAREST, 1 - NEAREST)

    def mean(self) -> Tensor:
        """E[π] = b B(1 + 1/a, b), [L]."""
        shape, b = 1 + (-self.log_a).exp(), self.log_b.exp()
        log_beta = torch.lgamma(shape) + torch.lgamma(b) - torch.lgamma(shape + b)
        return (self.log_b + log_beta).exp()

    def divergence(self) -> Tensor:
        """KL divergence from the prior, [L].

        (a - α)/a (-γ - ψ(b) - 1/b) + log(a b / α) - (b - 1)/b,   γ Euler's constant
        """
        a, b = self.log_a.exp(), self.log_b.exp()
        first = (1 - self.prior / a) * (-EULER - torch.digamma(b) - 1 / b)
        log_ratio = self.log_a + self.log_b - math.log(self.prior)
        return first + log_ratio - (b - 1) / b


def relaxed_mask(rate: Tensor, uniform: Tensor, temperature: float) -> Tensor:
    """Concrete relaxation of Bernoulli(π) draws, σ((logit π + logit u) / t), [E].

    More than ½ where the hard draw would be 1.
    """
    return ((torch.logit(rate) + torch.logit(uniform)) / temperature).sigmoid()


class BayesianDropEdge(GCN):
    """A GCN whose layers mask the edges at rates they learn.

        layer l:  H' = (Z_l ⊙ Â) H W,   Z_l relaxed draws of Bernoulli(π_l), π_l ~ q_l
        loss:     data loss + kl_weight Σ_l KL(q_l ‖ Beta(prior, 1))

    Â is normalised before it is masked. Evaluation puts E[π_l] in place of Z_l and so
    uses all edges.

    Args:
        sizes: Those of `GCN`.
        prior: α of the prior of every keep rate, > 0.
        start_keep: Mean keep rate at the start, in (0, 1).
        kl_weight: Price of the divergence from the prior, at least 0; the bound of the
            paper has 1 / number of training nodes for a mean loss.
        temperature: t of the relaxation, > 0.
        options: Those of `GCN`.
    """

    def __init__(
        self,
        *sizes: int,
        prior: float = 0.8,
        start_keep: float = 0.6,
        kl_weight: float = 0.01,
        temperature: float = 0.67,
        **options: Any,
    ) -> None:
        for name, value in {"prior": prior, "temperature": temperature}.items():
            if not 0 < value < math.inf:
                raise ValueError(f"`{name}` must be positive and finite, got {value}.")
        if not 0 < start_keep < 1:
            raise ValueError(f"`start_keep` must be in (0, 1), got {start_keep}.")
        if not 0 <= kl_weight < math.inf:
            raise ValueError(f"`kl_weight` must be at least 0, got {kl_weight}.")
        super().__init__(*sizes, **options)
        self.kl_weight, self.temperature = kl_weight, temperature
        self.rates = KeepRates(len(self.convs), prior=prior, start=start_keep)

    def run(self, x: Features, graph: Graph, seed: Seed | None) -> Output:
        """Class scores from masked edges; from the mean masks without a seed."""
        edge_index, value = gcn_norm(
            graph.edge_index, graph.edge_weight.float(), graph.num_nodes
        )
        masks = self.masks(graph, seed)
        hidden: Features = x
        out = self.projection(x, graph, seed)
        for layer, (conv, mask) in enumerate(zip(self.convs, masks, strict=True)):
            if layer:
                hidden = ACTIVATIONS[self.activation](out)
                out = F.dropout(hidden, self.dropout, self.training)
            # The loops stand behind the edges.
            loops = mask.new_ones(graph.num_nodes)
            out = conv(out, edge_index, value * torch.cat([mask, loops]))
        extra_loss = self.kl_weight * self.rates.divergence().sum()
        used = None if seed is None else (torch.stack(masks) > 0.5).any(dim=0).sum()
        return Output(out, hidden, extra_loss=extra_loss, num_used=used)

    def masks(self, graph: Graph, seed: Seed | None) -> list[Tensor]:
        """Z of each layer: drawn, or without a seed its mean, L of [E]."""
        if seed is None:
            return [rate.expand(graph.num_edges) for rate in self.rates.mean()]
        masks = []
        for layer, rate in enumerate(self.rates.sample()):
            uniform = noise.edge_uniform(seed, graph, MASKS + layer)
            masks.append(relaxed_mask(rate, uniform, self.temperature))
        return masks


METHOD = Method(
    BayesianDropEdge,
    defaults={
        "prior": 0.8,
        "start_keep": 0.6,
        "kl_weight": 0.01,
        "temperature": 0.67,
    },
)
