"""Peers: six kinds of networks, plain and strong, of PyG's layers.

plain     2 layers, dropout before each
strong    blocks with a path around the neighbours and a norm, then a linear layer:

              h' = dropout(act(norm(conv(h) + h W)))       MLP: norm(h W)
              h' = h + dropout(act(conv(norm(h))))         residual GAT
"""

from __future__ import annotations

import dataclasses
import json
from typing import Any, Literal, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric.nn import GATConv, GCNConv, SAGEConv, SuperGATConv

from sgat.graph import Graph

Kind = Literal["mlp", "gcn", "gat", "sage", "supergat", "residual-gat"]
KINDS: dict[Kind, str] = {
    **{"mlp": "MLP", "gcn": "GCN", "gat": "GAT", "sage": "GraphSAGE"},
    **{"supergat": "SuperGAT", "residual-gat": "residual GAT"},
}
"""Names of the peers, and their titles."""
ATTENTION = ("gat", "supergat", "residual-gat")
PLAIN_HEADS, STRONG_HEADS = 8, 4
MOST_SAMPLED = 50_000
"""Edges of each pass that teach SuperGAT's attention; as many pairs stand beside."""


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


class PeerEdges(NamedTuple):
    """The edges of a graph as PyG's layers take them."""

    edge_index: Tensor  # [2, E]
    with_loops: Tensor  # the same and a loop at each node, [2, E + N]
    gcn_weight: Tensor  # D^-1/2 (A + I) D^-1/2 of each of them, [E + N]

    @classmethod
    def of(cls, graph: Graph, device: torch.device | str = "cpu") -> PeerEdges:
        """The edges of a graph, their weights left out."""
        src, dst = (part.long().to(device) for part in (graph.src, graph.dst))
        every = torch.arange(graph.num_nodes, device=device)
        to, source = torch.cat([dst, every]), torch.cat([src, every])
        scale = torch.bincount(to, minlength=graph.num_nodes).float().rsqrt()
        return cls(
            torch.stack([src, dst]),
            torch.stack([source, to]),
            scale[source] * scale[to],
        )


class MeanConv(SAGEConv):  # type: ignore[misc]  # PyG has no types
    """GraphSAGE's layer that projects before it averages: the same, on fewer columns.

    x_i' = W_r x_i + mean over j → i of W_l x_j + b
    """

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        """The next features, [N, D]."""
        sent = F.linear(x, self.lin_l.weight)
        mean: Tensor = self.propagate(edge_index, x=(sent, sent), size=None)
        out: Tensor = mean + self.lin_l.bias + self.lin_r(x)
        return out


class SampledSuperGAT(SuperGATConv):  # type: ignore[misc]  # PyG has no types
    """SuperGAT's layer whose attention learns from a number of edges that is fixed.

    As many pairs of any nodes stand for pairs without an edge, so that the work is the
    same in every epoch.
    """

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        """The next features, [N, D]."""
        number = min(edge_index.shape[1], MOST_SAMPLED) if self.training else 0
        pairs = torch.randint(max(len(x), 1), (2, number), device=x.device)
        out: Tensor = super().forward(x, edge_index, neg_edge_index=pairs)
        return out

    def positive_sampling(self, edge_index: Tensor) -> Tensor:
        """Some of the edges, or all."""
        if edge_index.shape[1] <= MOST_SAMPLED:
            return edge_index
        number = edge_index.shape[1]
        drawn = torch.randint(number, (MOST_SAMPLED,), device=edge_index.device)
        return edge_index[:, drawn]


class Convolution(nn.Module):
    """One layer of a kind; `run` hands it the edges that it wants."""

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
            self.conv = GCNConv(wide_in, wide_out, normalize=False)
        elif kind == "sage":
            self.conv = MeanConv(wide_in, wide_out)
        elif kind == "supergat":
            self.conv = SampledSuperGAT(*shape, is_undirected=True, **options)
        else:
            self.conv = GATConv(*shape, **options)

    def forward(self, x: Tensor, edges: PeerEdges) -> Tensor:
        """The next features, [N, D]."""
        if self.kind == "mlp":
            found = self.conv(x)
        elif self.kind == "gcn":
            found = self.conv(x, edges.with_loops, edges.gcn_weight)
        elif self.kind in ("sage", "residual-gat"):
            found = self.conv(x, edges.edge_index)
        else:
            found = self.conv(x, edges.with_loops)
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
