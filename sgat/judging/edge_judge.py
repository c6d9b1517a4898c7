"""EdgeJudge: the log-odds that each edge of a graph is real."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from sgat.features import Features, concatenate
from sgat.graph import Graph
from sgat.judging.agreement import Agreement
from sgat.judging.beliefs import class_beliefs, compatibility, fit_classes
from sgat.judging.embedding import Embedding, fit_embedding
from sgat.judging.example import Example
from sgat.judging.known_nodes import KnownNodes
from sgat.judging.mixture import Mixture, fit_mixture
from sgat.judging.neighbourhood import (
    NUM_FEATURES,
    Neighbourhood,
    random_pairs,
)

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
        open_ = Mixture(
            mean=torch.zeros(NUM_FEATURES + 1),
            std=torch.ones(NUM_FEATURES + 1),
            coefficient=torch.zeros(NUM_FEATURES + 1),
            constant=torch.tensor(8.0),
            noise_share=torch.tensor(0.0),
        )
        for number in range(ROUNDS + 1):
            self._store(number, open_)

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
        """How likely edges are real by all but classes, in a round after the first.

        [E], the same in both directions.

        Args:
            odds: Log-odds of the first round, which knows no classes, [E].
            number: The round; the share of noise is that of the round before.
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
    def fit(self, examples: Sequence[Example], *, seed: int = 0) -> EdgeJudge:
        """Learn from graphs, and from the classes of their labelled nodes.

        Args:
            examples: Where to learn; all edges are looked at, or a sample of very many.
            seed: Of the sample, of the random pairs and of the search for axes.

        Returns:
            Itself.
        """
        views = [_View(part, number + seed) for number, part in enumerate(examples)]
        features = _joined([part.x for part in examples])
        embedding = fit_embedding(features, self.rank, seed=seed)
        for name, part in zip(embedding._fields, embedding, strict=True):
            getattr(self, name).copy_(part)
        for view in views:
            view.look(self._vectors(view.x))
        self._fit_classes(views, seed)
        for number in range(ROUNDS + 1):
            for view in views:
                view.start_round(self, number)
            seen = torch.cat([view.seen for view in views])
            drawn = torch.cat([view.drawn for view in views])
            known = NUM_FEATURES if number else None
            self._store(number, fit_mixture(seen, drawn, known=known))
            if not number:
                for view in views:
                    view.odds = self._mixture(0).log_odds(view.edge_features)
        return self

    def _fit_classes(self, views: Sequence[_View], seed: int) -> None:
        """Learn the classes of vectors and which classes edges join."""
        self.compatible.fill_(1)
        self._resize_known(0)
        label = torch.cat([view.label for view in views])
        known = label >= 0
        if not bool(known.any()):
            return
        vector = torch.cat([view.vector for view in views])
        num_classes = self.compatible.shape[0]
        self.class_weight.copy_(fit_classes(vector, label, known, num_classes))
        features = _joined([view.x for view in views])
        found = KnownNodes.of(features, label, known)
        for name, part in zip(KNOWN, found, strict=True):
            setattr(self, name, part.to(getattr(self, name)))
        for view in views:
            view.belief, view.is_known = self._beliefs(view.x, view.vector)
        # Judged in one graph: several are joined by no edges, nor by random pairs.
        first = views[0]
        self.compatible.copy_(
            compatibility(first.belief, first.graph, *first.pairs, seed=seed)
        )

    def _vectors(self, x: Features) -> Tensor:
        return Embedding(self.scale, self.offset, self.centre, self.axes).vectors(x)

    def _beliefs(self, x: Features, vector: Tensor) -> tuple[Tensor, Tensor]:
        """Beliefs in classes, [N, C], and which nodes are known, [N]."""
        known = KnownNodes(self.known_fingerprint, self.known_label).labels(x)
        return class_beliefs(vector, self.class_weight, known), known >= 0

    @torch.no_grad()
    def log_odds(self, x: Features, graph: Graph) -> Tensor:
        """Log-odds that each edge is real, the same in both directions, [E].

        They depend on all edges around an edge: those of a part of a graph, or of
        several graphs put side by side, are others.
        """
        view = graph.undirected()
        vector = self._vectors(x)
        features = Neighbourhood.of(vector, view).features(
            view.dst, view.src, are_edges=True
        )
        blank = features.new_zeros(len(features), 1)
        first = self._mixture(0).log_odds(torch.cat([features, blank], dim=1))
        odds = first
        if self.knows_classes:
            belief, is_known = self._beliefs(x, vector)
            for number in range(1, ROUNDS + 1):
                weight = self.weights(first, number)
                agreement = Agreement(belief, self.compatible, view, weight, is_known)
                column = agreement.of_edges()[:, None]
                full = torch.cat([features, column], dim=1)
                odds = self._mixture(number).log_odds(full)
        # Both directions are the same to rounding, and now to the bit.
        odds = (odds + odds[view.reverse_edge]) / 2
        if view.num_edges == graph.num_edges:
            return odds
        return odds[view.find(graph.src, graph.dst)]

    def extra_repr(self) -> str:
        """The sizes."""
        in_channels, rank = self.axes.shape
        return f"{in_channels}, {self.compatible.shape[0]}, rank={rank}"


class _View:
    """A graph while a judge is fitted to it."""

    belief: Tensor
    is_known: Tensor

    def __init__(self, example: Example, seed: int) -> None:
        self.graph = example.graph.undirected()
        self.x, self.label = example.x, example.label
        self.pairs = random_pairs(self.graph, MOST_PAIRS, seed=seed)
        self.odds: Tensor | None = None
        generator = torch.Generator().manual_seed(seed)
        number = self.graph.num_edges
        sample = torch.randperm(number, generator=generator)[:MOST_PAIRS]
        self.sample = sample.to(self.graph.device)

    def look(self, vector: Tensor) -> None:
        """Work out what does not change from round to round."""
        self.vector = vector
        around = Neighbourhood.of(vector, self.graph)
        ends = self.graph.dst, self.graph.src
        self.of_edges = around.features(*ends, are_edges=True)
        self.of_pairs = around.features(*self.pairs, are_edges=False)

    def start_round(self, judge: EdgeJudge, number: int) -> None:
        """The features of one round, of all edges and of the random pairs."""
        edge, pair = self.of_edges[:, :1] * 0, self.of_pairs[:, :1] * 0
        if number and judge.knows_classes:
            assert self.odds is not None
            weight = judge.weights(self.odds, number)
            found = Agreement(
                self.belief, judge.compatible, self.graph, weight, self.is_known
            )
            edge, pair = found.of_edges()[:, None], found.of_pairs(*self.pairs)[:, None]
        self.edge_features = torch.cat([self.of_edges, edge], dim=1)
        self.seen = self.edge_features[self.sample]
        self.drawn = torch.cat([self.of_pairs, pair], dim=1)


def _joined(parts: Sequence[Features]) -> Features:
    return parts[0] if len(parts) == 1 else concatenate(list(parts))
