"""SGATConv: project, gate and aggregate, merge heads."""

import math

import torch
from torch import Tensor, nn

from sgat import ops
from sgat.features import Features, SparseFeatures
from sgat.gates import Gates, HardConcrete
from sgat.graph import Graph
from sgat.ops import Backend, OpenEdges, Seed
from sgat.scorers import AdditiveScorer, Scores, symmetrised


def as_graph(
    edge_index: Tensor | Graph, num_nodes: int, edge_weight: Tensor | None
) -> Graph:
    """The graph itself, or one built from PyG's arguments."""
    if isinstance(edge_index, Graph):
        if edge_weight is not None:
            raise ValueError(
                "`edge_weight` must be None when a Graph is given; it has its own."
            )
        if edge_index.num_nodes != num_nodes:
            raise ValueError(
                f"`x` must have one row for each of the {edge_index.num_nodes} nodes of"
                f" the graph, got {num_nodes}."
            )
        return edge_index
    # Merging duplicates has no fixed shape, so a compiler must step around it.
    build = torch.compiler.disable(Graph.from_edges)
    graph: Graph = build(edge_index, num_nodes, edge_weight, say_merged=False)
    return graph


def noise_seed(seed: Seed | None, is_training: bool) -> Seed | None:
    """The seed in training mode, drawn from torch's global generator if it is None."""
    if is_training and seed is None:
        return torch.randint(2**62, (1,))
    return seed if is_training else None


class SGATConv(nn.Module):
    """Sparse graph attention: one gate per edge, shared by all heads.

        h = (m ⊙ x) W                               W = (W₁ ‖ … ‖ W_H), m dropout
        log α_ij = s_i + t_j                        (eq. 14), scores of h's first head
                   + q_i · k_j + c_ij + bias        (ours)
        z_ij ~ HardConcrete(log α_ij)               (below eq. 12)
        a_ij = A_ij z_ij / Σ_k A_ik z_ik            (eq. 8)
        out_i = ‖_k Σ_j a_ij h_j^k                  (eq. 9), or the mean over heads

    The activation of eq. 9 is left to the caller.

    Every node has a self-loop whose gate is always 1. In training
    mode gates are drawn, in evaluation mode they take their median value.

    Duplicate edges count as one with the sum of their weights.

    Building a `Graph` sorts and checks the edges. Build it once and pass it in place of
    `edge_index` when calling a layer more than once, and under
    `torch.compile(fullgraph=True)`.

    Args:
        in_channels: Width K of the input.
        out_channels: Width D of each head.
        heads: Number of heads H.
        concat: Concatenate the heads, [N, H · D]; otherwise average them, [N, D].
        dropout: Share of input features to drop in training.
        attention_dropout: Share of coefficients a_ij to drop in training.
        bias: Add a learned vector to the output.
        residual: Add the input to the output, through a matrix if the widths differ.
        scorer: Module mapping (h of the first head [N, D], graph) to `Scores`; None
            takes the paper's additive scorer. False leaves the layer without gates of
            its own: it must then be called with those of another layer.
        gate_bias: Start of a learned scalar in every log α; None leaves it out.
        symmetric: Give both directions of an edge the mean of their scores, so that
            evaluation keeps or removes them together. Needs an undirected graph.
        gates: Distribution of the gates; None for the hard concrete of the paper.
        init_gain: Scale of the initial weights (Xavier).
        layer: Number of the layer in its model; layers draw different dropout.
        backend: Implementation of the operations.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        heads: int = 1,
        *,
        concat: bool = True,
        dropout: float = 0.0,
        attention_dropout: float = 0.0,
        bias: bool = True,
        residual: bool = False,
        scorer: nn.Module | bool | None = None,
        gate_bias: float | None = None,
        symmetric: bool = False,
        gates: Gates | None = None,
        init_gain: float = 1.0,
        layer: int = 0,
        backend: Backend = "auto",
    ) -> None:
        super().__init__()
        sizes = {"in_channels": in_channels, "out_channels": out_channels}
        for name, size in {**sizes, "heads": heads}.items():
            if size < 1:
                raise ValueError(f"`{name}` must be at least 1, got {size}.")
        rates = {"dropout": dropout, "attention_dropout": attention_dropout}
        for name, rate in rates.items():
            if not 0 <= rate < 1:
                raise ValueError(f"`{name}` must be in [0, 1), got {rate}.")
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.heads = heads
        self.concat = concat
        self.dropout = dropout
        self.attention_dropout = attention_dropout
        self.residual = residual
        self.initial_gate_bias = gate_bias
        self.symmetric = symmetric
        self.gates: Gates = gates or HardConcrete()
        self.init_gain = init_gain
        self.layer = layer
        self.backend: Backend = backend

        width = heads * out_channels
        out_width = width if concat else out_channels
        self.weight = nn.Parameter(torch.empty(in_channels, width))
        self.bias = nn.Parameter(torch.empty(out_width)) if bias else None
        needs_matrix = residual and in_channels != out_width
        self.residual_weight = (
            nn.Parameter(torch.empty(in_channels, out_width)) if needs_matrix else None
        )
        if scorer is None or scorer is True:
            scorer = AdditiveScorer(out_channels, init_gain=init_gain)
        self.scorer = scorer if isinstance(scorer, nn.Module) else None
        has_gate_bias = gate_bias is not None and self.scorer is not None
        self.gate_bias = nn.Parameter(torch.empty(())) if has_gate_bias else None
        self.reset_parameters()

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw new weights, with torch's global generator if none is given."""
        for number in range(self.heads):
            head = slice(number * self.out_channels, (number + 1) * self.out_channels)
            _xavier(self.weight[:, head], self.init_gain, generator)
        if self.residual_weight is not None:
            _xavier(self.residual_weight, self.init_gain, generator)
        if self.bias is not None:
            nn.init.zeros_(self.bias)
        if self.gate_bias is not None:
            nn.init.constant_(self.gate_bias, self.initial_gate_bias or 0.0)
        reset = getattr(self.scorer, "reset_parameters", None)
        if reset is not None:
            reset(generator)

    def forward(
        self,
        x: Features,
        edge_index: Tensor | Graph,
        edge_weight: Tensor | None = None,
        *,
        opened: OpenEdges | None = None,
        seed: Seed | None = None,
        return_opened: bool = False,
    ) -> Tensor | tuple[Tensor, OpenEdges]:
        """Compute the layer.

        Args:
            x: Node features, [N, K].
            edge_index: Rows `src` and `dst`, [2, E], PyG's `EdgeIndex`, or a `Graph`.
            edge_weight: Weights A_ij ≥ 0 of the edges, [E].
            opened: Open edges of another layer to share instead of gating anew.
            seed: Key of all noise in training mode; None draws one from torch.
            return_opened: Also return the open edges, whose `penalty` is the expected
                number of open gates.

        Returns:
            New features, [N, H · D] or [N, D]; and the open edges on request.
        """
        graph = as_graph(edge_index, x.shape[0], edge_weight)
        seed = noise_seed(seed, self.training)
        h = self.project(x, self.weight, graph, seed)
        if opened is None:
            opened, _ = self.gate(h, graph, seed)
        out = self.combine(h, x, opened, seed)
        return (out, opened) if return_opened else out

    def combine(
        self, h: Tensor, x: Features, opened: OpenEdges, seed: Seed | None
    ) -> Tensor:
        """The output of the layer from its input x and its projected features h."""
        out = ops.aggregate(
            opened,
            h,
            dropout=self.attention_dropout,
            seed=seed,
            layer=self.layer,
            backend=self.backend,
        )
        if not self.concat and self.heads > 1:
            out = out.view(-1, self.heads, self.out_channels).mean(dim=1)
        if self.residual_weight is not None:
            out = out + self.project(x, self.residual_weight, opened.graph, seed)
        elif self.residual:
            out = out + (x.to_dense() if isinstance(x, SparseFeatures) else x)
        if self.bias is not None:
            out = out + self.bias
        return out

    def score(self, x: Features, graph: Graph) -> Scores:
        """Scores of evaluation, the gate bias included in those of the targets."""
        return self._score(self.project(x, self.weight, graph, None), graph)

    def project(
        self,
        x: Features,
        weight: Tensor,
        graph: Graph,
        seed: Seed | None,
        layer: int | None = None,
    ) -> Tensor:
        """Features times weights, some dropped in training: h = (m ⊙ x) W, [N, D]."""
        return ops.project(
            x,
            weight,
            dropout=self.dropout,
            seed=seed,
            layer=self.layer if layer is None else layer,
            node_id=graph.node_id,
            backend=self.backend,
        )

    def _score(self, h: Tensor, graph: Graph) -> Scores:
        if self.scorer is None:
            raise ValueError(
                "This layer has no gates of its own (scorer=False);"
                " call it with `opened=` the open edges of another layer."
            )
        first = h[:, : self.out_channels]
        # Gates are decided in full precision, also under autocast.
        with torch.autocast(first.device.type, enabled=False):
            wide = first.to(torch.promote_types(first.dtype, self.weight.dtype))
            scores: Scores = self.scorer(wide, graph)
        if self.symmetric:
            scores = symmetrised(scores, graph)
        if self.gate_bias is None:
            return scores
        return scores._replace(dst=scores.dst + self.gate_bias)

    def gate(
        self, h: Tensor, graph: Graph, seed: Seed | None
    ) -> tuple[OpenEdges, Tensor | None]:
        """Score every edge by its projected features and draw its gate.

        With the open edges comes the price of what the scorer learned, if it has one.
        """
        scores = self._score(h, graph)
        price = getattr(self.scorer, "price_of", lambda scores, graph: None)
        opened = ops.open_edges(
            graph,
            *scores,
            seed=seed if self.draws_gates else None,
            gates=self.gates,
            backend=self.backend,
        )
        return opened, price(scores, graph)

    @property
    def draws_gates(self) -> bool:
        """Whether gates are drawn in training; else they are those of evaluation."""
        return bool(getattr(self.scorer, "draws_gates", True))

    def extra_repr(self) -> str:
        """The sizes."""
        return f"{self.in_channels}, {self.out_channels}, heads={self.heads}"


def _xavier(weight: Tensor, gain: float, generator: torch.Generator | None) -> None:
    with torch.no_grad():
        std = gain * math.sqrt(2 / sum(weight.shape))
        weight.normal_(0.0, std, generator=generator)
