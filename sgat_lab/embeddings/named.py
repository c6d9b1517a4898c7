"""The embeddings by name.

Tested by `tests/lab/baselines/test_geom_gcn.py`.
"""

from __future__ import annotations

from collections.abc import Callable

from sgat.graph import Graph
from sgat_lab.embeddings.disc import Disc
from sgat_lab.embeddings.isomap import isomap
from sgat_lab.embeddings.plane import Plane
from sgat_lab.embeddings.poincare import poincare
from sgat_lab.embeddings.struc2vec import struc2vec

EMBEDDINGS: dict[str, Callable[[Graph], Plane | Disc]] = {
    "isomap": isomap,
    "poincare": poincare,
    "struc2vec": struc2vec,
}
"""Ways to place nodes; each takes a graph."""
