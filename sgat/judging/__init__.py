"""Evidence: is an edge real, or does it look like any random pair of nodes?

No label is needed: pairs that no edge joins show what noise looks like. Labels, where
there are any, add which classes edges join.
"""

from sgat.judging.assortativity import assortativity, is_assortative, says_nothing
from sgat.judging.evidence import EdgeEvidence

__all__ = ["EdgeEvidence", "assortativity", "is_assortative", "says_nothing"]
