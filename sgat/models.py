"""SGAT: layers sharing one set of gates, down to class scores."""

from collections.abc import Callable, Sequence
from typing import Any, get_args

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sgat import ops
from sgat.config import ModelConfig
from sgat.config.sections import (
    Activation,
    FixedReadout,
    GateMode,
    JudgedUse,
    Normalisation,
    Scaling,
)
from sgat.conv import SGATConv, as_graph, noise_seed
from sgat.features import Features, FeatureScaling
from sgat.gates import WEIGHING, Gates, HardConcrete
from sgat.graph import Graph
from sgat.judging import EdgeJudge
from sgat.node_classifier import NodeClassifier, Output
from sgat.ops import Backend, OpenEdges, Seed
from sgat.readouts.beliefs import BeliefReadout
from sgat.readouts.deep import DeepReadout
from sgat.readouts.diffusion import DiffusionReadout
from sgat.scorers import EvidenceScorer, choose_scorer

ELEMENTS_AT_ONCE = 1 << 15
"""So many numbers torch gives to one thread, which rounds the last few otherwise."""


def elu(x: Tensor) -> Tensor:
    """As `torch.nn.functional.elu`, with the same bits whatever the threads."""
    if not x.is_cpu or x.numel() <= ELEMENTS_AT_ONCE:
        return F.elu(x)
    return torch.cat(
        [F.elu(part) for part in x.flatten().split(ELEMENTS_AT_ONCE)]
    ).view(x.shape)


ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"relu": F.relu, "elu": elu}
Readout = DiffusionReadout | BeliefReadout | DeepReadout
"""Read-outs that begin with the features of each node by itself."""


class SGAT(NodeClassifier):
    """Sparse graph attention network: gates drawn once per pass, shared by all layers.

    Each hidden layer is `SGATConv` with its activation (eq. 9); all layers have the
    attention of the first (eq. 8).

    Read-outs: "linear" is that of the paper (sec. 4.2), `layers` attention layers with
    concatenated heads and then a linear classifier; "attention" that of the authors'
    code, where the heads of the last layer give class scores and are averaged. The
    others begin with each node by itself. Class scores travel along the edges with
    `DiffusionReadout`, and with `BeliefReadout` for graphs whose neighbours are often
    of another class; `DeepReadout` has layers with a path for the node itself.

    Arguments that are not listed are settings of `ModelConfig`, which has their
    description and all defaults. Of those that it leaves to the data, read-out and
    scorer are the paper's here, and gates are not symmetric.

    Args:
        in_channels: Number of input features K.
        hidden_channels: Width D of each head.
        out_channels: Number of classes C.
        scaling: See `FeatureScaling`. Training fits it; judging takes features as they
            are.
        num_edges: Number of edges of the graph; needed by transductive gates only.
        scorer: Source of inductive gates: a name of `sgat.scorers.SCORERS`, or a
            module; None for the additive scorer of the paper. With "evidence" gates go
            by `Graph.log_odds`, see `judged`; with "revised" training corrects them.
        judged_edges: "remove", "weigh" or "all": what is done with these odds, see
            `EvidenceScorer`. "weigh" has gates of its own.
        edge_dim: Number of columns of `Graph.edge_attr` that gates look at.
        gate_bias: Start of a learned scalar in every log α; None leaves it out. With
            "evidence" it stays where it starts, unless training has a budget (`keep`).
        symmetric: Keep or remove both directions of an edge together (undirected
            graphs only).
        gates: Distribution of the gates; None for the hard concrete of the paper.
    """

    convs: Sequence[SGATConv]  # a `ModuleList`

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        *,
        heads: int = ModelConfig.heads,
        layers: int = ModelConfig.layers,
        readout: FixedReadout = "linear",
        steps: int = ModelConfig.steps,
        restart: float = ModelConfig.restart,
        normalisation: Normalisation = ModelConfig.normalisation,
        output_heads: int = ModelConfig.output_heads,
        activation: Activation = ModelConfig.activation,
        scaling: Scaling = ModelConfig.scaling,
        dropout: float = ModelConfig.dropout,
        attention_dropout: float = ModelConfig.attention_dropout,
        gate_mode: GateMode = ModelConfig.gate_mode,
        num_edges: int | None = None,
        scorer: nn.Module | str | None = None,
        judged_edges: JudgedUse = ModelConfig.judged_edges,
        rank: int = ModelConfig.rank,
        edge_dim: int | None = None,
        gate_bias: float | None = ModelConfig.gate_bias_start,
        symmetric: bool = False,
        bias: bool = ModelConfig.bias,
        residual: bool = ModelConfig.residual,
        gates: Gates | None = None,
        init_gain: float = ModelConfig.init_gain,
        backend: Backend = ModelConfig.backend,
    ) -> None:
        super().__init__()
        least = 0 if readout == "beliefs" else 1
        if layers < least:
            raise ValueError(f"`layers` must be at least {least}, got {layers}.")
        if activation not in ACTIVATIONS:
            raise ValueError(f"`activation` must be relu or elu, got {activation!r}.")
        if readout not in get_args(FixedReadout):
            raise ValueError(
                "`readout` must be linear, attention, diffusion, beliefs or deep, got"
                f" {readout!r}."
            )
        self.activation = activation
        self.readout = readout
        hops = layers
        if readout in ("diffusion", "beliefs", "deep"):
            layers = 1
        num_hidden = layers - 1 if readout == "attention" else layers
        if judged_edges == "weigh":
            gates = WEIGHING
        scorer = choose_scorer(
            scorer,
            gate_mode,
            num_edges,
            channels=hidden_channels if num_hidden else out_channels,
            rank=rank,
            threshold=(gates or HardConcrete()).threshold,
            judged_edges=judged_edges,
            init_gain=init_gain,
        )
        by_evidence = isinstance(scorer, EvidenceScorer)
        self.judge = EdgeJudge() if by_evidence else None
        self.scaling = FeatureScaling(in_channels, scaling)

        shared: dict[str, Any] = {
            **{"dropout": dropout, "attention_dropout": attention_dropout},
            **{"bias": bias, "init_gain": init_gain, "backend": backend},
        }
        width = in_channels
        convs = []
        for layer in range(layers):
            hidden = layer < num_hidden
            conv = SGATConv(
                width,
                hidden_channels if hidden else out_channels,
                heads if hidden else output_heads,
                concat=hidden,
                residual=residual,
                scorer=scorer if layer == 0 else False,
                gate_bias=gate_bias,
                edge_dim=edge_dim,
                symmetric=symmetric,
                gates=gates,
                layer=layer,
                **shared,
            )
            convs.append(conv)
            width = conv.heads * conv.out_channels
        self.convs = nn.ModuleList(convs)  # type: ignore[assignment]
        if by_evidence and self.gating.gate_bias is not None:
            # The judge has set the border; only a budget moves it.
            self.gating.gate_bias.requires_grad_(False)
        self.classifier: nn.Linear | Readout | None = None
        sizes = width, out_channels
        if readout == "linear":
            self.classifier = nn.Linear(*sizes)
        elif readout == "beliefs":
            self.classifier = BeliefReadout(*sizes, hops, init_gain=init_gain)
        elif readout == "diffusion":
            options = {"restart": restart, "attention_dropout": attention_dropout}
            self.classifier = DiffusionReadout(
                width, out_channels, steps, init_gain=init_gain, **options
            )
        elif readout == "deep":
            self.classifier = DeepReadout(
                *sizes,
                hops,
                activation=ACTIVATIONS[activation],
                normalisation=normalisation,
                **shared,
            )
        self.dropout = dropout
        # The reference backend finds the open edges, which waits for the device.
        has_kernels = isinstance(gates, HardConcrete | None)
        self.can_replay = has_kernels and backend != "reference"
        self.reset_parameters()

    @property
    def gating(self) -> SGATConv:
        """The first layer, whose scores open and close the edges for all layers."""
        return self.convs[0]

    @property
    def noise_share(self) -> float | None:
        """Estimated share of wrong edges; None without gates by evidence."""
        return None if self.judge is None else self.judge.noise_share

    @property
    def reach(self) -> int:
        """Number of steps that messages travel."""
        if isinstance(self.classifier, Readout):
            return self.classifier.reach
        return len(self.convs)

    @property
    def uses_attention(self) -> bool:
        """Whether messages are weighed by attention (eq. 8); beliefs are summed up."""
        return self.reach > 0 and self.readout != "beliefs"

    @property
    def odds_line(self) -> tuple[float, float]:
        """Numbers (a, b) with which a · log α + b are the log-odds of an edge.

        With "evidence" they are those of the judge, that the edge is real: without the
        gate bias and without what `EvidenceScorer.spread` did. Otherwise they are those
        that its gate is open.
        """
        scorer, bias = self.gating.scorer, self.gating.gate_bias
        if not isinstance(scorer, EvidenceScorer):
            return 1.0, -self.gating.gates.threshold
        return scorer.odds_line(0.0 if bias is None else float(bias.detach()))

    def probability_of(self, log_alpha: Tensor) -> Tensor:
        """Probability of each edge by its log-odds, see `odds_line`, [E]."""
        scale, shift = self.odds_line
        return torch.sigmoid(log_alpha * scale + shift)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw new weights, with torch's global generator if none is given."""
        self.scaling.reset_parameters()
        if self.judge is not None:
            self.judge.reset_parameters()
        for conv in self.convs:
            conv.reset_parameters(generator)
        if isinstance(self.classifier, Readout):
            self.classifier.reset_parameters(generator)
        elif self.classifier is not None:
            gain = self.gating.init_gain
            nn.init.xavier_normal_(self.classifier.weight, gain, generator)
            nn.init.zeros_(self.classifier.bias)

    def judged(self, x: Features, graph: Graph) -> Graph:
        """The graph with the log-odds that the gates of this model go by.

        The graph itself if it has them already, or if gates go by something else. A
        model that is called with a graph without log-odds judges it in every call:

            graph = model.judged(x, graph)  # once
            for ...:
                model(x, graph)

        Judge again when features or edges change, or the model is trained anew.
        """
        if self.judge is None or graph.log_odds is not None:
            return graph
        # Shapes depend on the data, so a compiler must step around it.
        judged: Graph = torch.compiler.disable(self.judge.judged)(x, graph)
        return judged

    def compute(
        self,
        x: Features,
        edge_index: Tensor | Graph | OpenEdges,
        edge_weight: Tensor | None = None,
        *,
        seed: Seed | None = None,
        is_scaled: bool = False,
    ) -> Output:
        """Class scores, penultimate features and open edges of one pass.

        Args:
            x: Node features, dense or sparse, [N, K].
            edge_index: Rows `src` and `dst`, [2, E], PyG's `EdgeIndex`, or a `Graph`;
                or open edges, such as `prune` returns, which are not gated again.
            edge_weight: Weights A_ij ≥ 0 of the edges, [E].
            seed: Key of all noise in training mode; None draws one from torch.
            is_scaled: Whether `x` went through `scaling` already; a graph must then be
                judged already too, where gates go by evidence.
        """
        opened: OpenEdges | None = None
        if not isinstance(edge_index, Tensor | Graph):
            opened, edge_index = edge_index, edge_index.graph
        graph = as_graph(edge_index, x.shape[0], edge_weight)
        if opened is None:
            graph = self.judged(x, graph)
        x = x if is_scaled else self.scaling(x)
        seed = noise_seed(seed, self.training)
        gating, price = self.gating, None
        h = gating.project(x, gating.weight, graph.node_id, seed)
        if opened is None:
            opened, price = gating.gate(h, graph, seed)
        if isinstance(self.classifier, Readout):
            found = self._from_nodes(self.classifier, h, opened, seed)
        else:
            found = self._from_layers(x, h, opened, seed)
        return Output(*found, opened, price)

    def _from_layers(
        self, x: Features, h: Tensor, opened: OpenEdges, seed: Seed | None
    ) -> tuple[Tensor, Features]:
        """Class scores and penultimate features of a pass through layers."""
        hidden, graph = x, opened.graph
        num_hidden = len(self.convs) - (self.classifier is None)
        for number, conv in enumerate(self.convs):
            if number:
                h = conv.project(hidden, conv.weight, graph.node_id, seed)
            logits = conv.combine(h, hidden, opened, seed)
            if number < num_hidden:
                hidden = ACTIVATIONS[self.activation](logits)
        if isinstance(self.classifier, nn.Linear):
            weight, layer = self.classifier.weight.T, len(self.convs)
            logits = self.gating.project(hidden, weight, graph.node_id, seed, layer)
            logits = self.classifier.bias + logits
        return logits, hidden

    def _from_nodes(
        self, readout: Readout, h: Tensor, opened: OpenEdges, seed: Seed | None
    ) -> tuple[Tensor, Features]:
        """The same of a pass that begins with each node by itself."""
        gating = self.gating
        if gating.bias is not None:
            h = h + gating.bias
        hidden = ACTIVATIONS[self.activation](h)
        if isinstance(readout, DeepReadout):
            logits, hidden = readout(hidden, opened, seed=seed)
            return logits, hidden
        own = gating.project(hidden, readout.weight, opened.graph.node_id, seed, 1)
        own = own + readout.bias
        # Scores travel in full precision, also under autocast.
        wide = own.to(torch.promote_types(own.dtype, readout.weight.dtype))
        return readout(wide, opened, seed=seed), hidden

    @torch.no_grad()
    def prune(
        self, x: Features, edge_index: Tensor | Graph, edge_weight: Tensor | None = None
    ) -> OpenEdges:
        """Gate every edge once, as evaluation does, and keep those that are open.

            pruned = model.prune(x, graph)
            logits = model(x, pruned)  # as model(x, graph), to rounding
            pruned.graph  # the kept edges, with weights A_ij z_ij

        The gates stay as they were: prune again when weights change, or features, if
        gates depend on them. Pruning takes as long as it saves in some tens of passes;
        for a single one, give the graph. Arguments are as of `compute`; the open edges
        have a graph of their own, and are given in place of one.
        """
        graph = self.judged(x, as_graph(edge_index, x.shape[0], edge_weight))
        gating = self.gating
        h = gating.project(self.scaling(x), gating.weight, graph.node_id, None)
        return ops.prune(gating.gate(h, graph, None)[0])

    def log_alpha(
        self, x: Features, edge_index: Tensor | Graph, edge_weight: Tensor | None = None
    ) -> Tensor:
        """Gate location log α of every edge, in the order of the graph, [E]."""
        graph = self.judged(x, as_graph(edge_index, x.shape[0], edge_weight))
        return ops.log_alphas(graph, *self.gating.score(self.scaling(x), graph))

    def score_edges(self, x: Features, graph: Graph) -> Tensor:
        """Gate location log α of every edge, [E]."""
        return self.log_alpha(x, graph)
