"""The embeddings by name."""

from __future__ import annotations

from collections.abc import Callable

from sgat.embeddings.disc import Disc
from sgat.embeddings.isomap import isomap
from sgat.embeddings.plane import Plane
from sgat.embeddings.poincare import poincare
from sgat.embeddings.struc2vec import struc2vec
from sgat.graph import Graph

EMBEDDINGS: dict[str, Callable[[Graph], Plane | Disc]] = {
    "isomap": isomap,
    "poincare": poincare,
    "struc2vec": struc2vec,
}
"""How nodes can be placed; each takes a graph."""
