"""Scorers: where the location log α of each edge's gate comes from.

A scorer is any module that maps the projected features of the first head and the graph
to `Scores`. Scalars per node are cheap, and so are short vectors per node, whose
products the kernels compute; the score per edge is for what neither can say.
"""

from collections.abc import Callable
from typing import get_args

from torch import nn

from sgat.config.sections import GateMode, JudgedUse
from sgat.scorers.evidence import EvidenceScorer
from sgat.scorers.gatv2 import GATv2Scorer
from sgat.scorers.pairs import BilinearScorer, CosineScorer
from sgat.scorers.paper import AdditiveScorer, FreeScorer
from sgat.scorers.revised import RevisedScorer
from sgat.scorers.scores import Scores, plus_attr, symmetrised
from sgat.scorers.structure import StructureScorer

__all__ = [
    "SCORERS",
    "AdditiveScorer",
    "BilinearScorer",
    "CosineScorer",
    "EvidenceScorer",
    "FreeScorer",
    "GATv2Scorer",
    "RevisedScorer",
    "Scores",
    "StructureScorer",
    "choose_scorer",
    "plus_attr",
    "symmetrised",
]

SCORERS: dict[str, Callable[[int, int, float], nn.Module]] = {
    "additive": lambda width, rank, gain: AdditiveScorer(width, init_gain=gain),
    "cosine": lambda width, rank, gain: CosineScorer(width, rank, init_gain=gain),
    "bilinear": lambda width, rank, gain: BilinearScorer(width, rank, init_gain=gain),
    "gatv2": lambda width, rank, gain: GATv2Scorer(width, rank, init_gain=gain),
    "structure": lambda width, rank, gain: StructureScorer(width, init_gain=gain),
}
"""Makers of scorers without a judge; those with one are "evidence" and "revised"."""


def choose_scorer(
    scorer: nn.Module | str | None,
    gate_mode: GateMode,
    num_edges: int | None,
    *,
    channels: int,
    rank: int,
    threshold: float,
    judged_edges: JudgedUse = "remove",
    init_gain: float = 1.0,
) -> nn.Module | None:
    """The scorer of a model; None for the additive one, which a layer makes itself.

    `scorer` is a module, "evidence", "revised", a key of `SCORERS` or None. The
    transductive mode takes a free score for each of `num_edges` edges, and no scorer.
    `rank` is that of "cosine", "bilinear" and "revised", and the width of "gatv2".
    """
    if gate_mode not in get_args(GateMode):
        raise ValueError(
            f"`gate_mode` must be inductive or transductive, got {gate_mode!r}."
        )
    if scorer == "evidence":
        scorer = EvidenceScorer(threshold=threshold, judged_edges=judged_edges)
    elif scorer == "revised":
        given = {"threshold": threshold, "init_gain": init_gain}
        scorer = RevisedScorer(channels, rank, judged_edges=judged_edges, **given)
    elif judged_edges != "remove":
        raise ValueError(
            "`judged_edges` must be remove unless gates go by evidence, got"
            f" {judged_edges!r} with the scorer {scorer or 'additive'}."
        )
    elif scorer == "additive":
        scorer = None
    elif isinstance(scorer, str):
        if scorer not in SCORERS:
            names = ", ".join((*SCORERS, "evidence", "revised"))
            raise ValueError(f"Unknown scorer {scorer!r}; choose one of {names}.")
        scorer = SCORERS[scorer](channels, rank, init_gain)
    if gate_mode == "inductive":
        return scorer
    if scorer is not None:
        raise ValueError("`scorer` must be additive in the transductive gate mode.")
    if num_edges is None:
        raise ValueError("`num_edges` must be given in the transductive gate mode.")
    return FreeScorer(num_edges)
