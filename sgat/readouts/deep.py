"""DeepReadout: layers of messages with a path of its own for the node itself."""

import math
from collections.abc import Callable
from typing import get_args

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sgat import ops
from sgat.config import ModelConfig
from sgat.config.sections import Normalisation
from sgat.ops import Backend, OpenEdges, Seed


class DeepReadout(nn.Module):
    """Class scores after L layers of messages, each beside a path for the node itself.

        g = m ⊙ h^(l-1)                                        m dropout
        h^l_i = act(norm_l(Σ_j a_ij g_j W_l + g_i S_l + b_l))         l = 1 … L
        logits = (m ⊙ h^L) V + c

    h⁰ are the features of each node by itself and a_ij the attention of open edges and
    self-loops, the same in all layers. Where all gates close it is an MLP whose layers
    have the weights W_l + S_l. This is the form of classic GNNs that are tuned with
    care (Luo, Shi, Wu: Classic GNNs are strong baselines, NeurIPS 2024).

    Args:
        channels: Width D of h in all layers.
        out_channels: Number of classes C.
        layers: Number of layers L.
        activation: The function act.
        normalisation: "layer" divides each node by its own spread, "batch" each column
            by its spread over the nodes, "none" neither. "batch" takes running means in
            evaluation, and for a single node. It needs no b_l.
        dropout: Share of features to drop before every projection in training.
        attention_dropout: Share of coefficients a_ij to drop in training.
        bias: Add b_l.
        init_gain: Scale of the initial weights.
        backend: Implementation of the projections.
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
        """Draw new weights: both paths of a layer together keep the spread of h."""
        channels = self.weight.shape[0]
        std = self.init_gain / math.sqrt(2 * channels)
        nn.init.normal_(self.layer_weight, std=std, generator=generator)
        bound = self.init_gain / math.sqrt(channels)
        nn.init.uniform_(self.weight, -bound, bound, generator)
        nn.init.zeros_(self.bias)
        for start, parts in (
            (0.0, (self.layer_bias, self.norm_bias)),
            (1.0, (self.norm_scale,)),
        ):
            for part in parts:
                if part is not None:
                    nn.init.constant_(part, start)
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
        """Class scores, [N, C], and the features they come from, h^L, [N, D].

        Args:
            hidden: Features h⁰ of each node by itself, [N, D].
            opened: The open edges.
            seed: Key of the dropout; None drops nothing.
        """
        for layer, weight in enumerate(self.layer_weight.unbind(), start=1):
            both = self._project(hidden, weight, opened, seed, layer)
            sent, own = both.chunk(2, dim=1)
            received = ops.aggregate(
                opened, sent, dropout=self.attention_dropout, seed=seed, layer=layer
            )
            hidden = self.activation(self._normalised(received + own, layer - 1))
        logits = self._project(hidden, self.weight, opened, seed, self.reach + 1)
        return logits + self.bias, hidden

    def _project(
        self,
        x: Tensor,
        weight: Tensor,
        opened: OpenEdges,
        seed: Seed | None,
        layer: int,
    ) -> Tensor:
        return ops.project(
            x,
            weight,
            dropout=self.dropout,
            seed=seed,
            layer=layer,
            node_id=opened.graph.node_id,
            backend=self.backend,
        )

    def _normalised(self, h: Tensor, layer: int) -> Tensor:
        """norm_l(h + b_l), [N, D]."""
        if self.layer_bias is not None:
            h = h + self.layer_bias[layer]
        if self.norm_scale is None or self.norm_bias is None:
            return h
        scale, bias = self.norm_scale[layer], self.norm_bias[layer]
        if self.normalisation == "layer":
            return F.layer_norm(h, h.shape[1:], scale, bias)
        known = self.mean[layer], self.variance[layer]
        # One node has no spread.
        is_training = self.training and len(h) > 1
        return F.batch_norm(h, *known, scale, bias, training=is_training)

    def extra_repr(self) -> str:
        """The sizes."""
        channels, classes = self.weight.shape
        norm = self.normalisation
        return f"{channels}, {classes}, layers={self.reach}, normalisation={norm}"
