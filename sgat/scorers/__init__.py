"""Scorers: where the location log α of each edge's gate comes from.

A scorer is any module that maps the projected features of the first head and the graph
to `Scores`. Scalars per node are cheap, and so are short vectors per node, whose
products the kernels compute; the score per edge is for what neither can say.
"""

from sgat.scorers.additive import AdditiveScorer
from sgat.scorers.free import FreeScorer
from sgat.scorers.scores import Scores, symmetrised

__all__ = ["AdditiveScorer", "FreeScorer", "Scores", "symmetrised"]
