"""Softmax attention over the edges of a graph, without a message on any edge.

`operation.py` is what layers call, `edges.py` its edges; `cpu.py` and `gpu.py` are its
loops.
"""

from sgat_lab.unseen.attention.edges import AttentionEdges
from sgat_lab.unseen.attention.operation import attend

__all__ = ["AttentionEdges", "attend"]
