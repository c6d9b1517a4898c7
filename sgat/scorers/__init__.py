"""Scorers: where the location log α of each edge's gate comes from.

A scorer is any module that maps the projected features of the first head and the graph
to `Scores`. Scalars per node are cheap, and so are short vectors per node, whose
products the kernels compute; the score per edge is for what neither can say.
"""

from sgat.scorers.additive import AdditiveScorer
from sgat.scorers.edge_feature import EdgeFeatureScorer
from sgat.scorers.evidence import EvidenceScorer
from sgat.scorers.free import FreeScorer
from sgat.scorers.gatv2 import GATv2Scorer
from sgat.scorers.named import SCORERS, choose_scorer, make_scorer
from sgat.scorers.products import BilinearScorer, CosineScorer
from sgat.scorers.scores import Scores, symmetrised
from sgat.scorers.structure import StructureScorer

__all__ = [
    "SCORERS",
    "AdditiveScorer",
    "BilinearScorer",
    "CosineScorer",
    "EdgeFeatureScorer",
    "EvidenceScorer",
    "FreeScorer",
    "GATv2Scorer",
    "Scores",
    "StructureScorer",
    "choose_scorer",
    "make_scorer",
    "symmetrised",
]
