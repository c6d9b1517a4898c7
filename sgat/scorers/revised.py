"""RevisedScorer: judged odds that training corrects where labels say so."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sgat.config import ModelConfig
from sgat.config.sections import JudgedUse
from sgat.graph import Graph
from sgat.ops import log_alphas
from sgat.scorers.evidence import EvidenceScorer
from sgat.scorers.pairs import BilinearScorer
from sgat.scorers.scores import Scores

STRENGTH = 1.0
"""Loss of one label that a mean square correction of 1 costs."""


class RevisedScorer(EvidenceScorer):
    """Gates by evidence, with a correction that starts at 0.

        log α_ij = scale · log_odds_ij + shift + τ + c_ij
        c_ij = (Q u_i) · (K u_j) + b₁ · u_i + b₂ · u_j        u = h / |h|
        price = STRENGTH / (number of labels) · mean of c_ij²

    K, b₁ and b₂ start at 0, so training starts at the judge's odds. The price is part
    of the loss, which is a mean over labels: with few of them the odds stay as they
    are. What columns of edges add to a score is part of c_ij, and starts at 0 too.
    `rank` is the length of Q u. On a GPU gradients add in any order.
    """

    price: Tensor
    goes_by_odds = False

    def __init__(
        self,
        channels: int,
        rank: int = ModelConfig.rank,
        *,
        threshold: float,
        judged_edges: JudgedUse = "remove",
        init_gain: float = 1.0,
    ) -> None:
        if judged_edges == "all":
            raise ValueError(
                "`judged_edges` must be remove or weigh with the scorer revised, which"
                " moves gates, got 'all'."
            )
        super().__init__(threshold=threshold, judged_edges=judged_edges)
        self.pairs = BilinearScorer(channels, rank, init_gain=init_gain)
        self.register_buffer("price", torch.tensor(STRENGTH))
        self.reset_parameters()

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw Q; the odds are taken as they are."""
        super().reset_parameters(generator)
        self.pairs.reset_parameters(generator)
        nn.init.zeros_(self.pairs.key_weight)
        nn.init.zeros_(self.pairs.additive.weight)

    def learn_from(self, num_labels: int) -> None:
        """Set the price for so many labels."""
        self.price.fill_(STRENGTH / max(num_labels, 1))

    def forward(self, h: Tensor, graph: Graph) -> Scores:
        """Score every edge of a judged graph."""
        scores = super().forward(h, graph)
        assert scores.edge is not None
        pairs: Scores = self.pairs(F.normalize(h, dim=1), graph)
        return scores._replace(edge=scores.edge + log_alphas(graph, *pairs))

    def price_of(self, scores: Scores, graph: Graph) -> Tensor:
        """The price of the corrections in scores of this scorer, a scalar."""
        judged = super().forward(scores.dst, graph)
        assert scores.edge is not None and judged.edge is not None
        square = (scores.edge - judged.edge).square().sum()
        if graph.halo is not None:
            square = graph.halo.ranks.total(square)
        return self.price * square / max(graph.total_edges, 1)
