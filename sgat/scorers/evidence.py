"""EvidenceScorer: gates from the log-odds that an edge is real."""

import torch
from torch import Tensor, nn

from sgat.config.sections import JudgedUse
from sgat.graph import Graph
from sgat.ops import SURELY_OPEN
from sgat.scorers.scores import Scores

LEAST_MARGIN = 2.0
"""Mean distance of log α of the edges to keep from their least one, at least."""
MOST_SCALE = 100.0
"""Odds that hardly differ are not spread any further."""


class EvidenceScorer(nn.Module):
    """Gates that close where an edge looks like a pair that no edge joins.

        log α_ij = scale · log_odds_ij + shift + τ

    with the log-odds of a judged graph (`Graph.log_odds`, see `sgat.judging`) and τ the
    threshold of evaluation, so that it keeps the edges more likely real than wrong:
    scale is 1 and shift 0, unless a share of the edges is to be kept (`spread`).
    Training leaves both as they are.

    This is "remove" of `judged_edges`. Else no edge is removed and no gate is drawn.
    With "weigh" the shift is -τ, so that the gates `sgat.gates.WEIGHING` are P(real);
    with "all" it is so large that all gates are 1.
    """

    scale: Tensor
    shift: Tensor
    goes_by_odds = True

    def __init__(self, *, threshold: float, judged_edges: JudgedUse = "remove") -> None:
        super().__init__()
        self.threshold = threshold
        starts = {"remove": 0.0, "weigh": -threshold, "all": 2 * SURELY_OPEN}
        self.start = starts[judged_edges]
        self.draws_gates = judged_edges == "remove"
        self.register_buffer("scale", torch.ones(()))
        self.register_buffer("shift", torch.tensor(self.start))

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Take the odds as they are; nothing is drawn."""
        self.scale.fill_(1)
        self.shift.fill_(self.start)

    def odds_line(self, bias: float) -> tuple[float, float]:
        """Numbers (a, b) with a · log α + b the log-odds; `bias` is in every log α."""
        scale = float(self.scale)
        return 1 / scale, -(float(self.shift) + self.threshold + bias) / scale

    def spread(self, log_odds: Tensor, keep: float | None) -> None:
        """Spread the odds, as far as a share to keep needs it.

        A share to keep puts the border where the odds may be close together, and the
        kept edges would be all but closed. So the odds are then spread around their
        mean, by as much as the best edges need:

            scale = max(1, LEAST_MARGIN / (mean odds of the best share - their least))
            shift = (1 - scale) · mean odds of all
        """
        EvidenceScorer.reset_parameters(self)
        if keep is None or not len(log_odds):
            return
        found = log_odds.double()
        best = found.topk(max(1, round(keep * len(found)))).values
        scale = (LEAST_MARGIN / (best.mean() - best.min())).clamp(1, MOST_SCALE)
        self.scale.copy_(scale)
        self.shift.copy_((1 - scale) * found.mean())

    def forward(self, h: Tensor, graph: Graph) -> Scores:
        """Score every edge of a judged graph."""
        if graph.log_odds is None:
            raise ValueError(
                "`graph` must have `log_odds`, for gates go by them; judge it first,"
                " with `SGAT.judged`."
            )
        zero = h.new_zeros(graph.num_nodes)
        found = graph.log_odds * self.scale + self.shift
        return Scores(zero, zero, found.to(h) + self.threshold)
