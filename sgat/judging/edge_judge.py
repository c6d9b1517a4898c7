"""EdgeJudge and judge(): the log-odds that each edge of a graph is real.

Tested by tests/judging/test_edge_judge.py and tests/judging/test_judged_graph.py.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from sgat.features import Features, concatenate
from sgat.graph import Graph
from sgat.judging.agreement import Agreement
from sgat.judging.beliefs import class_beliefs, compatibility, fit_classes
from sgat.judging.embedding import Embedding, fit_embedding
from sgat.judging.known_nodes import Example, KnownNodes
from sgat.judging.mixture import Mixture, fit_mixture, open_mixture
from sgat.judging.neighbourhood import NUM_FEATURES, Neighbourhood, random_pairs

EDGE_LIMIT = 10_000_000
"""Edges up to which graphs are judged unless asked for: judging works in memory, and
holds a message for every edge and class."""
ROUNDS = 2
"""Rounds after the first, each with the share of noise that the last one found."""
KNOWN = ("known_fingerprint", "known_label")
"""Buffers of the labelled nodes, of any length."""
MOST_PAIRS = 100_000
"""Edges, and random pairs, of each graph that a fit looks at."""


class EdgeJudge(nn.Module):
    """Log-odds that an edge is real and not noise, from all that surrounds it.

        1. u = embedding of the features; φ = what u, degrees and common neighbours say
        2. log-odds = mixture(φ)
        3. twice: weigh edges by these odds, with the share of noise found last, let
           beliefs in classes travel along them, and
           log-odds = mixture(φ, how well the classes of both ends go together)

    `fit` learns a few numbers per step, from graphs with or without labels; with them
    `log_odds` judges any graph with the same features. Nothing is kept of a graph that
    was judged: whoever needs its log-odds again keeps them (`Graph.log_odds`). A node
    whose features are those of one labelled node, and of no other node, is taken to be
    of its class. Before `fit`, every edge counts as real.

    Args:
        in_channels: Number of features K.
        num_classes: Number of classes C.
        rank: Length R of the nodes' vectors.
    """

    scale: Tensor
    offset: Tensor
    centre: Tensor
    axes: Tensor
    class_weight: Tensor
    compatible: Tensor
    known_fingerprint: Tensor
    known_label: Tensor
    mixtures: Tensor

    def __init__(self, in_channels: int, num_classes: int, rank: int = 64) -> None:
        super().__init__()
        self.rank = rank
        for name in ("scale", "offset", "centre"):
            self.register_buffer(name, torch.zeros(in_channels))
        self.register_buffer("axes", torch.zeros(in_channels, rank))
        self.register_buffer("class_weight", torch.zeros(rank + 1, num_classes))
        self.register_buffer("compatible", torch.ones(num_classes, num_classes))
        for name in KNOWN:
            self.register_buffer(name, torch.zeros(0, dtype=torch.long))
        # Of each round: mean, std, coefficients of φ and agreement; constant; ρ.
        width = 3 * (NUM_FEATURES + 1) + 2
        self.register_buffer("mixtures", torch.zeros(ROUNDS + 1, width))
        self.reset_parameters()

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Forget what was learned; nothing is drawn."""
        for name in ("scale", "offset", "centre", "axes", "class_weight", "mixtures"):
            getattr(self, name).zero_()
        self.compatible.fill_(1)
        self._resize_known(0)
        for number in range(ROUNDS + 1):
            self._store(number, open_mixture(NUM_FEATURES + 1))

    @property
    def noise_share(self) -> float:
        """Share of the edges seen in fitting that is estimated to be noise."""
        return float(self._mixture(ROUNDS).noise_share)

    @property
    def knows_classes(self) -> bool:
        """Whether the classes of two nodes say anything about an edge between them."""
        return bool((self.compatible != 1).any())

    def _mixture(self, number: int) -> Mixture:
        row, width = self.mixtures[number], NUM_FEATURES + 1
        mean, std, coefficient = row[: 3 * width].view(3, width)
        return Mixture(mean, std, coefficient, row[-2], row[-1])

    def weights(self, odds: Tensor, number: int) -> Tensor:
        """How likely edges are real by all but classes, from the second round on, [E].

        `odds` are those of the first round; the share of noise is that of the round
        before. Both directions get the same.
        """
        shares = self.mixtures[[0, number - 1], -1].clamp(1e-4, 1 - 1e-4)
        first, last = shares.logit()
        return torch.sigmoid(odds + first - last)

    def _store(self, number: int, mixture: Mixture) -> None:
        parts = [part.reshape(-1).to(self.mixtures) for part in mixture]
        self.mixtures[number] = torch.cat(parts)

    def _resize_known(self, number: int) -> None:
        for name in KNOWN:
            setattr(self, name, getattr(self, name).new_zeros(number))

    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, *args: Any
    ) -> None:
        """Load what was learned from any number of labelled nodes."""
        given = state_dict.get(prefix + KNOWN[0])
        if given is not None:
            self._resize_known(len(given))
        super()._load_from_state_dict(state_dict, prefix, *args)

    @torch.no_grad()
    def fit(self, examples: Sequence[Example], *, seed: int = 0) -> list[Tensor]:
        """Learn from graphs, and from the classes of their labelled nodes.

        Args:
            examples: Where to learn; all edges are looked at, or a sample of very many.
            seed: Of the sample, of the random pairs and of the search for axes.

        Returns:
            Log-odds of the edges of each example, those of `log_odds`.
        """
        features = _joined([part.x for part in examples])
        embedding = fit_embedding(features, self.rank, seed=seed)
        for name, part in zip(embedding._fields, embedding, strict=True):
            getattr(self, name).copy_(part)
        views = [_View(self, part.x, part.graph) for part in examples]
        for number, view in enumerate(views):
            view.draw(number + seed)
        self._fit_classes(views, torch.cat([part.label for part in examples]), seed)
        for number in range(ROUNDS + 1):
            if number and self.knows_classes:
                for view in views:
                    view.start_round(self, number)
            seen = torch.cat([view.of_edges[view.sample] for view in views])
            drawn = torch.cat([view.of_pairs for view in views])
            known = NUM_FEATURES if number else None
            self._store(number, fit_mixture(seen, drawn, known=known))
            if not number:
                for view in views:
                    view.first_odds = self._mixture(0).log_odds(view.of_edges)
        pairs = zip(views, examples, strict=True)
        return [self._final_odds(view, part.graph) for view, part in pairs]

    def _fit_classes(self, views: Sequence[_View], label: Tensor, seed: int) -> None:
        """Learn the classes of vectors and which classes edges join."""
        self.compatible.fill_(1)
        self._resize_known(0)
        known = label >= 0
        if not bool(known.any()):
            return
        vector = torch.cat([view.vector for view in views])
        num_classes = self.compatible.shape[0]
        self.class_weight.copy_(fit_classes(vector, label, known, num_classes))
        found = KnownNodes.of(_joined([view.x for view in views]), label, known)
        for name, part in zip(KNOWN, found, strict=True):
            setattr(self, name, part.to(getattr(self, name)))
        for view in views:
            view.belief, view.is_known = self._beliefs(view)
        # Judged in one graph: several are joined by no edges, nor by random pairs.
        first = views[0]
        self.compatible.copy_(
            compatibility(first.belief, first.graph, *first.pairs, seed=seed)
        )

    def _beliefs(self, view: _View) -> tuple[Tensor, Tensor]:
        """Beliefs in classes, [N, C], and which nodes are known, [N]."""
        known = KnownNodes(self.known_fingerprint, self.known_label).labels(view.x)
        return class_beliefs(view.vector, self.class_weight, known), known >= 0

    @torch.no_grad()
    def log_odds(self, x: Features, graph: Graph) -> Tensor:
        """Log-odds that each edge is real, the same in both directions, [E].

        They depend on all edges around an edge: those of a part of a graph, or of
        several graphs put side by side, are others.
        """
        view = _View(self, x, graph)
        view.first_odds = self._mixture(0).log_odds(view.of_edges)
        if self.knows_classes:
            view.belief, view.is_known = self._beliefs(view)
            view.start_round(self, ROUNDS)
        return self._final_odds(view, graph)

    def _final_odds(self, view: _View, graph: Graph) -> Tensor:
        """Log-odds of the edges of a graph, if its view is in the last round, [E]."""
        odds = view.first_odds
        if self.knows_classes:
            odds = self._mixture(ROUNDS).log_odds(view.of_edges)
        # Both directions are the same to rounding, and now to the bit.
        odds = (odds + odds[view.graph.reverse_edge]) / 2
        if view.graph.num_edges == graph.num_edges:
            return odds
        return odds[view.graph.find(graph.src, graph.dst)]

    def extra_repr(self) -> str:
        """The sizes."""
        in_channels, rank = self.axes.shape
        return f"{in_channels}, {self.compatible.shape[0]}, rank={rank}"


class _View:
    """A graph in both directions, with the features of its edges in one round."""

    first_odds: Tensor  # log-odds of the first round, which knows no classes, [E]
    belief: Tensor  # [N, C]
    is_known: Tensor  # [N]

    def __init__(self, judge: EdgeJudge, x: Features, graph: Graph) -> None:
        self.x, self.graph = x, graph.undirected()
        axes = Embedding(judge.scale, judge.offset, judge.centre, judge.axes)
        self.vector = axes.vectors(x)
        self.around = Neighbourhood.of(self.vector, self.graph)
        ends = self.graph.dst, self.graph.src
        self.of_edges = _with_blank(self.around.features(*ends, are_edges=True))

    def draw(self, seed: int) -> None:
        """Draw the edges and the random pairs to learn from."""
        self.pairs = random_pairs(self.graph, MOST_PAIRS, seed=seed)
        self.of_pairs = _with_blank(self.around.features(*self.pairs, are_edges=False))
        generator = torch.Generator().manual_seed(seed)
        sample = torch.randperm(self.graph.num_edges, generator=generator)[:MOST_PAIRS]
        self.sample = sample.to(self.graph.device)

    def start_round(self, judge: EdgeJudge, number: int) -> None:
        """Fill in how well classes go together, in a round after the first."""
        weight = judge.weights(self.first_odds, number)
        found = Agreement(
            self.belief, judge.compatible, self.graph, weight, self.is_known
        )
        self.of_edges[:, -1] = found.of_edges()
        if hasattr(self, "pairs"):
            self.of_pairs[:, -1] = found.of_pairs(*self.pairs)


def _with_blank(features: Tensor) -> Tensor:
    """Features with a column of zeros, the place of the agreement of classes."""
    return torch.cat([features, features.new_zeros(len(features), 1)], dim=1)


def _joined(parts: Sequence[Features]) -> Features:
    return parts[0] if len(parts) == 1 else concatenate(list(parts))


@dataclasses.dataclass(frozen=True, eq=False)
class JudgedGraph:
    """A judged graph.

    Attributes:
        graph: The graph with `log_odds`, log P(real) / P(noise) of each edge.
        noise_share: Estimated share of noise among its edges; 0 without edges.
        judge: The fitted judge, for other graphs with the same features.
    """

    graph: Graph
    noise_share: float
    judge: EdgeJudge


def judge(
    graph: Graph,
    x: Features,
    y: Tensor | None = None,
    *,
    train: Tensor | None = None,
    num_classes: int | None = None,
    seed: int = 0,
) -> JudgedGraph:
    """Judge how likely each edge is real and not noise, without training a network.

    Pairs of nodes that no edge joins show how noise looks; see `EdgeJudge`. Classes add
    which classes edges join.

    Args:
        graph: The edges.
        x: Node features, dense or sparse, [N, K].
        y: Class of each node, -1 if unlabelled, [N] int64; None without classes.
        train: Nodes whose class may be looked at, [N] bool; None for all with a class.
        num_classes: Number of classes C; None takes the largest in `y` + 1.
        seed: Of all that is drawn.

    Returns:
        The judged graph, the share of noise and the fitted judge.

    Raises:
        ValueError: If a shape or a class is not as described.
    """
    for name, value in {"x": x, "y": y, "train": train}.items():
        if value is not None and value.shape[0] != graph.num_nodes:
            raise ValueError(
                f"`{name}` must have one row for each of the {graph.num_nodes} nodes of"
                f" the graph, got {value.shape[0]}."
            )
    if y is not None and y.dim() != 1:
        raise ValueError(f"`y` must have shape [N], got {list(y.shape)}.")
    largest = -1 if y is None or not len(y) else int(y.max())
    num_classes = max(largest + 1, 1) if num_classes is None else num_classes
    if largest >= num_classes:
        raise ValueError(
            f"`y` must be a class 0 to {num_classes - 1}, or -1 for no label, got"
            f" {largest}."
        )
    example = Example.of(graph, x, y, train)
    fitted = EdgeJudge(x.shape[1], num_classes).to(graph.device)
    (odds,) = fitted.fit([example], seed=seed)
    found = dataclasses.replace(graph, log_odds=odds)
    return JudgedGraph(found, fitted.noise_share, fitted)
