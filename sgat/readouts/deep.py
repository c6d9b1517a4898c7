"""DeepReadout: layers of messages with a path of its own for the node itself."""

import functools
import math
from collections.abc import Callable
from typing import get_args

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sgat import ops
from sgat.config import ModelConfig
from sgat.config.sections import Normalisation
from sgat.graph import Graph
from sgat.ops import Backend, OpenEdges, Seed
from sgat.parallel.part import normalised

SPREAD, MANY = 2.0, 3
"""How much larger the initial weights of layers are with a norm, and from how many
layers on: small ones change too fast for deep networks to begin to learn."""


class DeepReadout(nn.Module):
    """Class scores after L layers of messages, each beside a path for the node itself.

        g = m ⊙ h^(l-1)                                        m dropout
        h^l_i = act(norm_l(Σ_j a_ij g_j W_l + g_i S_l + b_l))         l = 1 … L
        logits = (m ⊙ h^L) V + c

    h⁰ are the features of each node by itself and a_ij the attention of open edges and
    self-loops, the same in all layers. Where all gates close it is an MLP whose layers
    have the weights W_l + S_l. This is the form of classic GNNs that are tuned with
    care (Luo, Shi, Wu: Classic GNNs are strong baselines, NeurIPS 2024).

    `normalisation` "layer" divides each node by its own spread, "batch" each column by
    its spread over the nodes, "none" neither. "batch" takes running means in
    evaluation, and for a single node; it needs no b_l. In training a share `dropout` of
    g and a share `attention_dropout` of a_ij is dropped. `channels` is the width of h
    in all layers, and `init_gain` scales the initial weights.
    """

    mean: Tensor
    variance: Tensor

    def __init__(
        self,
        channels: int,
        out_channels: int,
        layers: int,
        *,
        activation: Callable[[Tensor], Tensor] = F.elu,
        normalisation: Normalisation = ModelConfig.normalisation,
        dropout: float = 0.0,
        attention_dropout: float = 0.0,
        bias: bool = True,
        init_gain: float = 1.0,
        backend: Backend = "auto",
    ) -> None:
        super().__init__()
        if layers < 1:
            raise ValueError(f"`layers` must be at least 1, got {layers}.")
        if normalisation not in get_args(Normalisation):
            raise ValueError(
                f"`normalisation` must be none, layer or batch, got {normalisation!r}."
            )
        self.activation = activation
        self.normalisation = normalisation
        self.dropout = dropout
        self.attention_dropout = attention_dropout
        self.init_gain = init_gain
        self.backend: Backend = backend
        size = layers, channels
        # W_l and S_l side by side: one product, and one dropout, for both.
        self.layer_weight = nn.Parameter(torch.empty(layers, channels, 2 * channels))
        has_bias, has_norm = bias and normalisation != "batch", normalisation != "none"
        self.layer_bias = nn.Parameter(torch.empty(size)) if has_bias else None
        self.norm_scale = nn.Parameter(torch.empty(size)) if has_norm else None
        self.norm_bias = nn.Parameter(torch.empty(size)) if has_norm else None
        if normalisation == "batch":
            self.register_buffer("mean", torch.empty(size))
            self.register_buffer("variance", torch.empty(size))
        self.weight = nn.Parameter(torch.empty(channels, out_channels))
        self.bias = nn.Parameter(torch.empty(out_channels))
        self.reset_parameters()

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw new weights: both paths together keep the spread of h, or twice that.

        Behind a norm the size of weights changes no output, but how far a step of Adam
        turns them (`SPREAD`).
        """
        channels = self.weight.shape[0]
        is_free = self.normalisation != "none" and self.reach >= MANY
        std = self.init_gain / math.sqrt(2 * channels) * (SPREAD if is_free else 1)
        nn.init.normal_(self.layer_weight, std=std, generator=generator)
        bound = self.init_gain / math.sqrt(channels)
        nn.init.uniform_(self.weight, -bound, bound, generator)
        nn.init.zeros_(self.bias)
        for part in (self.layer_bias, self.norm_bias):
            if part is not None:
                nn.init.zeros_(part)
        if self.norm_scale is not None:
            nn.init.ones_(self.norm_scale)
        if self.normalisation == "batch":
            self.mean.zero_()
            self.variance.fill_(1)

    @property
    def reach(self) -> int:
        """Number of steps that messages travel."""
        return len(self.layer_weight)

    def forward(
        self, hidden: Tensor, opened: OpenEdges, *, seed: Seed | None = None
    ) -> tuple[Tensor, Tensor]:
        """Class scores, [N, C], and h^L, [N, D], from the features h⁰, [N, D]."""
        project = functools.partial(
            ops.project,
            dropout=self.dropout,
            seed=seed,
            node_id=opened.graph.node_id,
            backend=self.backend,
        )
        for layer, weight in enumerate(self.layer_weight.unbind(), start=1):
            sent, own = project(hidden, weight, layer=layer).chunk(2, dim=1)
            received = ops.aggregate(
                opened, sent, dropout=self.attention_dropout, seed=seed, layer=layer
            )
            summed = received + own
            hidden = self.activation(self._normalised(summed, layer - 1, opened.graph))
        return project(hidden, self.weight, layer=self.reach + 1) + self.bias, hidden

    def _normalised(self, h: Tensor, layer: int, graph: Graph) -> Tensor:
        """norm_l(h + b_l), [N, D]."""
        if self.layer_bias is not None:
            h = h + self.layer_bias[layer]
        if self.norm_scale is None or self.norm_bias is None:
            return h
        scale, bias = self.norm_scale[layer], self.norm_bias[layer]
        if self.normalisation == "layer":
            # Scaled apart: else torch sums the gradients by the number of threads.
            return F.layer_norm(h, h.shape[1:]) * scale + bias
        known = self.mean[layer], self.variance[layer]
        if self.training and graph.halo is not None:
            return graph.halo.normalised(h, *known) * scale + bias
        # One node has no spread.
        is_training = self.training and len(h) > 1
        if is_training and h.is_cpu and h.dtype == scale.dtype == torch.float32:
            return normalised(h, *known, len(h)) * scale + bias
        return F.batch_norm(h, *known, scale, bias, training=is_training)

    def extra_repr(self) -> str:
        """The sizes."""
        channels, classes = self.weight.shape
        norm = self.normalisation
        return f"{channels}, {classes}, layers={self.reach}, normalisation={norm}"
