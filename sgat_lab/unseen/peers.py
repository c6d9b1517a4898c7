"""Peers: six kinds of networks, plain and strong, of PyG's layers.

plain     2 layers, dropout before each
strong    blocks with a path around the neighbours and a norm, then a linear layer:

              h' = dropout(act(norm(conv(h) + h W)))       MLP: norm(h W)
              h' = h + dropout(act(conv(norm(h))))         residual GAT
"""

from __future__ import annotations

import dataclasses
import json
from typing import Any, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sgat_lab.unseen.layers import (
    FastGAT,
    FastGCN,
    FastSAGE,
    PeerEdges,
    SampledSuperGAT,
)

Kind = Literal["mlp", "gcn", "gat", "sage", "supergat", "residual-gat"]
KINDS: dict[Kind, str] = {
    **{"mlp": "MLP", "gcn": "GCN", "gat": "GAT", "sage": "GraphSAGE"},
    **{"supergat": "SuperGAT", "residual-gat": "residual GAT"},
}
"""Names of the peers, and their titles."""
ATTENTION = ("gat", "supergat", "residual-gat")
PLAIN_HEADS, STRONG_HEADS = 8, 4


@dataclasses.dataclass(frozen=True)
class PeerSetting:
    """What a peer is, and how it is trained.

    Attributes:
        kind: One of `KINDS`.
        is_strong: Whether it has the strong form.
        layers: Layers of a plain peer, blocks of a strong one.
        hidden: Width, all heads together.
        norm: Norm of the blocks of a strong peer.
        dropout: Share of features to drop.
        drop_input: Whether a strong peer drops features of the input, too.
        lr: Learning rate.
        weight_decay: L2 penalty on the parameters.
        attention_weight: Weight of SuperGAT's loss on edges and pairs.
        scaling: How features are scaled, see `sgat_lab.unseen.scaling`.
    """

    kind: Kind
    is_strong: bool = False
    layers: int = 2
    hidden: int = 64
    norm: Literal["layer", "batch"] = "layer"
    dropout: float = 0.5
    drop_input: bool = True
    lr: float = 0.01
    weight_decay: float = 5e-4
    attention_weight: float = 1.0
    scaling: str = "as-is"

    def to_json(self) -> str:
        """One line that `from_json` reads."""
        return json.dumps(dataclasses.asdict(self), separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> PeerSetting:
        """The setting of such a line."""
        return cls(**json.loads(text))


class Convolution(nn.Module):
    """One layer of a kind; it hands the edges on in the form that the layer takes."""

    def __init__(
        self, kind: Kind, wide_in: int, wide_out: int, *, heads: int, dropout: float
    ) -> None:
        super().__init__()
        self.kind = kind
        shape = wide_in, wide_out // heads, heads
        # Loops are there: adding them would look at the edges in every pass.
        options: dict[str, Any] = {"add_self_loops": False, "dropout": dropout}
        if kind == "mlp":
            self.conv: nn.Module = nn.Linear(wide_in, wide_out)
        elif kind == "gcn":
            self.conv = FastGCN(wide_in, wide_out, normalize=False)
        elif kind == "sage":
            self.conv = FastSAGE(wide_in, wide_out)
        elif kind == "supergat":
            self.conv = SampledSuperGAT(*shape, is_undirected=True, **options)
        else:
            self.conv = FastGAT(*shape, **options)

    def forward(self, x: Tensor, edges: PeerEdges) -> Tensor:
        """The next features, [N, D]."""
        if self.kind == "mlp":
            found = self.conv(x)
        elif self.kind in ("gcn", "sage"):
            found = self.conv(x, edges)
        elif self.kind == "supergat":
            found = self.conv(x, edges.with_loops, edges.attended)
        elif self.kind == "residual-gat":
            found = self.conv(x, edges.attended_neighbours)
        else:
            found = self.conv(x, edges.attended)
        assert isinstance(found, Tensor)
        return found


class Peer(nn.Module):
    """A peer; class scores from features and edges."""

    def __init__(
        self, setting: PeerSetting, num_features: int, num_classes: int
    ) -> None:
        super().__init__()
        self.setting = setting
        build = self._build_strong if setting.is_strong else self._build_plain
        self.convs, self.skips, self.norms = (nn.ModuleList() for _ in range(3))
        self.first: nn.Module = nn.Identity()
        self.last: nn.Module = nn.Identity()
        build(num_features, num_classes)

    def _build_plain(self, num_features: int, num_classes: int) -> None:
        setting = self.setting
        width = num_features
        for layer in range(setting.layers):
            is_last = layer == setting.layers - 1
            out = num_classes if is_last else setting.hidden
            self.convs.append(
                Convolution(
                    setting.kind,
                    width,
                    out,
                    heads=1 if is_last else PLAIN_HEADS,
                    dropout=setting.dropout,
                )
            )
            if setting.kind == "residual-gat":
                self.skips.append(nn.Linear(width, out))
            width = out

    def _build_strong(self, num_features: int, num_classes: int) -> None:
        setting, hidden = self.setting, self.setting.hidden
        is_residual = setting.kind == "residual-gat"
        norm: Any = nn.LayerNorm if setting.norm == "layer" else nn.BatchNorm1d
        if is_residual:
            self.first = nn.Linear(num_features, hidden)
        for layer in range(setting.layers):
            width = hidden if layer or is_residual else num_features
            self.convs.append(
                Convolution(
                    setting.kind, width, hidden, heads=STRONG_HEADS, dropout=0.0
                )
            )
            self.norms.append(norm(hidden))
            if not is_residual and setting.kind != "mlp":
                self.skips.append(nn.Linear(width, hidden))
        self.last = nn.Linear(hidden, num_classes)

    def forward(self, x: Tensor, edges: PeerEdges) -> Tensor:
        """Class scores, [N, C]."""
        return (self._strong if self.setting.is_strong else self._plain)(x, edges)

    def _plain(self, x: Tensor, edges: PeerEdges) -> Tensor:
        act = F.elu if self.setting.kind in ATTENTION else F.relu
        for layer, conv in enumerate(self.convs):
            x = self._dropped(act(x) if layer else x)
            out = conv(x, edges)
            x = out + self.skips[layer](x) if len(self.skips) else out
        return x

    def _strong(self, x: Tensor, edges: PeerEdges) -> Tensor:
        x = self.first(self._dropped(x) if self.setting.drop_input else x)
        for layer, (conv, norm) in enumerate(zip(self.convs, self.norms, strict=True)):
            if self.setting.kind == "residual-gat":
                x = x + self._dropped(F.relu(conv(norm(x), edges)))
                continue
            out = conv(x, edges)
            if len(self.skips):
                out = out + self.skips[layer](x)
            x = self._dropped(F.relu(norm(out)))
        found = self.last(x)
        assert isinstance(found, Tensor)
        return found

    def _dropped(self, x: Tensor) -> Tensor:
        return F.dropout(x, self.setting.dropout, self.training)

    def extra_loss(self) -> Tensor | None:
        """SuperGAT's loss on the edges and pairs of the last pass in training.

        It can be asked for once.
        """
        if self.setting.kind != "supergat":
            return None
        losses = []
        for layer in self.convs:
            assert isinstance(layer, Convolution)
            conv: Any = layer.conv
            losses.append(conv.get_attention_loss())
            # What a layer still holds of a pass cannot be captured with the next.
            conv.att_x = conv.att_y = None
        return self.setting.attention_weight * torch.stack(losses).mean()
