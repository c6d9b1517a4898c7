"""SGATConv: project, gate and aggregate, merge heads."""

import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parameter import UninitializedParameter, is_lazy

from sgat import ops
from sgat.features import Features, SparseFeatures
from sgat.gates import Gates, HardConcrete
from sgat.graph import Graph
from sgat.graph.bipartite import joined
from sgat.ops import Backend, OpenEdges, Seed
from sgat.scorers import AdditiveScorer, Scores, plus_attr, symmetrised


def as_graph(
    edge_index: Tensor | Graph,
    num_nodes: int,
    edge_weight: Tensor | None,
    edge_attr: Tensor | None = None,
) -> Graph:
    """The graph itself, or one built from PyG's arguments."""
    if isinstance(edge_index, Graph):
        for name, given in (("edge_weight", edge_weight), ("edge_attr", edge_attr)):
            if given is not None:
                raise ValueError(
                    f"`{name}` must be None when a Graph is given; it has its own."
                )
        if edge_index.num_nodes != num_nodes:
            raise ValueError(
                f"`x` must have one row for each of the {edge_index.num_nodes} nodes of"
                f" the graph, got {num_nodes}."
            )
        return edge_index
    # Merging duplicates has no fixed shape, so a compiler must step around it.
    build = torch.compiler.disable(Graph.from_edges)
    built: Graph = build(
        edge_index, num_nodes, edge_weight, edge_attr, say_merged=False
    )
    return built


def noise_seed(seed: Seed | None, is_training: bool) -> Seed | None:
    """The seed in training mode, drawn from torch's global generator if it is None."""
    if is_training and seed is None:
        return torch.randint(2**62, (1,))
    return seed if is_training else None


class SGATConv(nn.Module):
    """Sparse graph attention: one gate per edge, shared by all heads.

        h = (m ⊙ x) W                               W = (W₁ ‖ … ‖ W_H), m dropout
        log α_ij = s_i + t_j                        (eq. 14), scores of h's first head
                   + q_i · k_j + c_ij + w · e_ij + bias         (ours)
        z_ij ~ HardConcrete(log α_ij)               (below eq. 12)
        a_ij = A_ij z_ij / Σ_k A_ik z_ik            (eq. 8)
        out_i = ‖_k Σ_j a_ij h_j^k                  (eq. 9), or the mean over heads

    The activation of eq. 9 is left to the caller.

    Every node has a self-loop whose gate is always 1. In training
    mode gates are drawn, in evaluation mode they take their median value.

    Duplicate edges count as one, with the sum of their weights and the mean of their
    e_ij.

    With x = (x_src, x_dst) edges run between two kinds of nodes: h_j is of x_src; s_i
    and the self-loop of i are of x_dst. Where x_dst is None, s_i is 0 and there are no
    self-loops. An edge i → i has a gate then, as any other.

    Building a `Graph` sorts and checks the edges. Build it once and pass it in place of
    `edge_index` when calling a layer more than once, and under
    `torch.compile(fullgraph=True)`.

    Args:
        in_channels: Width K of the input; -1 takes that of the first input. A pair, of
            sources and targets, gives each a matrix of its own.
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
        edge_dim: Number of columns of `edge_attr`; their weights w start at 0.
        symmetric: Give both directions of an edge the mean of their scores, so that
            evaluation keeps or removes them together. Needs an undirected graph.
        gates: Distribution of the gates; None for the hard concrete of the paper.
        init_gain: Scale of the initial weights (Xavier).
        layer: Number of the layer in its model; layers draw different dropout.
        backend: Implementation of the operations.
    """

    def __init__(
        self,
        in_channels: int | tuple[int, int],
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
        edge_dim: int | None = None,
        symmetric: bool = False,
        gates: Gates | None = None,
        init_gain: float = 1.0,
        layer: int = 0,
        backend: Backend = "auto",
    ) -> None:
        super().__init__()
        src, dst = in_channels if isinstance(in_channels, tuple) else [in_channels] * 2
        sizes = [("in_channels", src), ("in_channels", dst), ("heads", heads)]
        sizes += [("out_channels", out_channels), ("edge_dim", edge_dim or 1)]
        for name, size in sizes:
            if size < 1 and (name, size) != ("in_channels", -1):
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
        self.edge_dim = edge_dim
        self.symmetric = symmetric
        self.gates: Gates = gates or HardConcrete()
        self.init_gain = init_gain
        self.layer = layer
        self.backend: Backend = backend

        width = heads * out_channels
        self.out_width = out_width = width if concat else out_channels
        self.weight = _matrix(src, width)
        has_own = isinstance(in_channels, tuple)
        self.dst_weight = _matrix(dst, width) if has_own else None
        self.bias = nn.Parameter(torch.empty(out_width)) if bias else None
        needs_matrix = residual and dst != out_width
        self.residual_weight = _matrix(dst, out_width) if needs_matrix else None
        if scorer is None or scorer is True:
            scorer = AdditiveScorer(out_channels, init_gain=init_gain)
        self.scorer = scorer if isinstance(scorer, nn.Module) else None
        has_gate_bias = gate_bias is not None and self.scorer is not None
        self.gate_bias = nn.Parameter(torch.empty(())) if has_gate_bias else None
        columns = 0 if self.scorer is None else edge_dim or 0
        self.attr_weight = nn.Parameter(torch.empty(columns)) if columns else None
        self.reset_parameters()

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw new weights, with torch's global generator if none is given."""
        # Each head of a projection has its own scale; the residual is one matrix.
        for matrix, width in (
            (self.weight, self.out_channels),
            (self.dst_weight, self.out_channels),
            (self.residual_weight, self.out_width),
        ):
            if matrix is not None and not is_lazy(matrix):
                for part in matrix.detach().split(width, dim=1):
                    std = self.init_gain * math.sqrt(2 / sum(part.shape))
                    part.normal_(0.0, std, generator=generator)
        for start_at_0 in (self.bias, self.attr_weight):
            if start_at_0 is not None:
                nn.init.zeros_(start_at_0)
        if self.gate_bias is not None:
            nn.init.constant_(self.gate_bias, self.initial_gate_bias or 0.0)
        reset = getattr(self.scorer, "reset_parameters", None)
        if reset is not None:
            reset(generator)

    def _take_widths(self, src: int, dst: int) -> None:
        """Give the matrices that wait for an input its widths, and draw them."""
        self.in_channels = src if self.dst_weight is None else (src, dst)
        width, out_width = self.heads * self.out_channels, self.out_width
        waits = isinstance(self.residual_weight, UninitializedParameter)
        if waits and dst == out_width:
            self.residual_weight = None
        shapes = {"weight": (src, width), "dst_weight": (dst, width)}
        shapes["residual_weight"] = dst, out_width
        for name, shape in shapes.items():
            if is_lazy(getattr(self, name)):
                getattr(self, name).materialize(shape)
        self.reset_parameters()

    @property
    def _waits(self) -> bool:
        found = self.in_channels
        return -1 in found if isinstance(found, tuple) else found == -1

    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, *rest: Any
    ) -> None:
        src = state_dict.get(prefix + "weight")
        dst = src if self.dst_weight is None else state_dict.get(prefix + "dst_weight")
        if self._waits and src is not None and dst is not None:
            self._take_widths(len(src), len(dst))
        super()._load_from_state_dict(state_dict, prefix, *rest)

    def forward(
        self,
        x: Features | tuple[Features, Features | None],
        edge_index: Tensor | Graph,
        edge_weight: Tensor | None = None,
        *,
        edge_attr: Tensor | None = None,
        size: tuple[int | None, int | None] | None = None,
        opened: OpenEdges | None = None,
        seed: Seed | None = None,
        return_opened: bool = False,
    ) -> Tensor | tuple[Tensor, OpenEdges]:
        """Compute the layer.

        Args:
            x: Node features, [N, K]; or a pair, of sources [S, K] and targets [T, K'].
            edge_index: Rows `src` and `dst`, [2, E], PyG's `EdgeIndex`, or a `Graph`.
            edge_weight: Weights A_ij ≥ 0 of the edges, [E].
            edge_attr: Numbers e_ij of the edges, [E, `edge_dim`]; a `Graph` has them.
            size: Numbers of sources and targets (S, T), needed where targets have no
                features and the last of them no edge.
            opened: Open edges of another layer to share instead of gating anew.
            seed: Key of all noise in training mode; None draws one from torch.
            return_opened: Also return the open edges, whose `penalty` is the expected
                number of open gates.

        Returns:
            New features, [N, H · D] or [N, D], of the targets of a pair [T, …]; and the
            open edges on request. Those of a pair belong to one graph of all targets
            and then all sources.
        """
        src, dst = x if isinstance(x, tuple | list) else (x, x)
        if self._waits:
            self._take_widths(src.shape[1], (src if dst is None else dst).shape[1])
        if edge_attr is not None and self.attr_weight is None:
            raise ValueError("`edge_attr` needs `edge_dim`, its number of columns.")
        num_src, num_dst = sizes = len(src), None if dst is None else len(dst)
        for wanted, rows in zip(size or (), sizes, strict=False):
            if None not in (wanted, rows) and wanted != rows:
                raise ValueError(f"`size` must be {sizes}, as `x` has it, got {size}.")
        seed = noise_seed(seed, self.training)
        if isinstance(x, tuple | list) or self.dst_weight is not None:
            if isinstance(edge_index, Graph) or self.symmetric:
                raise ValueError("A pair goes with no Graph and without `symmetric`.")
            if dst is None and self.residual:
                raise ValueError("`residual` needs features of the targets, got None.")
            both = num_src, size[1] if num_dst is None and size else num_dst
            graph: Graph = torch.compiler.disable(joined)(
                edge_index, both, edge_weight, edge_attr, hears_itself=dst is not None
            )
            h = self.project(src, self.weight, None, seed)
            matrix = self.weight if self.dst_weight is None else self.dst_weight
            if dst is None:
                dst = own = h.new_zeros(graph.num_nodes - num_src, h.shape[1])
            else:
                own = self.project(dst, matrix, None, seed)
            h = torch.cat([own, h])
        else:
            dst, graph = src, as_graph(edge_index, num_src, edge_weight, edge_attr)
            h = self.project(src, self.weight, graph.node_id, seed)
        if opened is None:
            opened, _ = self.gate(h, graph, seed)
        out = self.combine(h, dst, opened, seed)
        return (out, opened) if return_opened else out

    def combine(
        self, h: Tensor, x: Features, opened: OpenEdges, seed: Seed | None
    ) -> Tensor:
        """The output of the layer, of the nodes with the input x, which come first.

        h has the projected features of these, and of nodes that are only heard.
        """
        out = ops.aggregate(
            opened,
            h,
            dropout=self.attention_dropout,
            seed=seed,
            layer=self.layer,
            backend=self.backend,
        )
        out = out if len(out) == len(x) else out[: len(x)]
        if not self.concat and self.heads > 1:
            out = out.view(-1, self.heads, self.out_channels).mean(dim=1)
        if self.residual_weight is not None:
            name = opened.graph.node_id
            name = name if name is None else name[: len(x)]
            out = out + self.project(x, self.residual_weight, name, seed)
        elif self.residual:
            out = out + (x.to_dense() if isinstance(x, SparseFeatures) else x)
        if self.bias is not None:
            out = out + self.bias
        return out

    def score(self, x: Features, graph: Graph) -> Scores:
        """Scores of evaluation, the gate bias included in those of the targets."""
        return self._score(self.project(x, self.weight, graph.node_id, None), graph)

    def project(
        self,
        x: Features,
        weight: Tensor,
        node_id: Tensor | None,
        seed: Seed | None,
        layer: int | None = None,
    ) -> Tensor:
        """Features times weights, some dropped in training: h = (m ⊙ x) W, [N, D].

        `node_id` names the nodes in the noise, see `Graph`.
        """
        return ops.project(
            x,
            weight,
            dropout=self.dropout,
            seed=seed,
            layer=self.layer if layer is None else layer,
            node_id=node_id,
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
            if self.attr_weight is not None:
                scores = plus_attr(scores, graph.edge_attr, self.attr_weight)
        goes_by_odds = getattr(self.scorer, "goes_by_odds", False)
        if self.symmetric and not (goes_by_odds and graph.has_same_odds):
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


def _matrix(rows: int, columns: int) -> Any:
    """A parameter without values yet; with -1 rows it waits for their number."""
    if rows < 0:
        return UninitializedParameter()
    return nn.Parameter(torch.empty(rows, columns))
