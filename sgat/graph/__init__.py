"""The graph: its edges in order, and how it is built from the edges somebody gives.

`graph.py` is the class that everything else works on, `edge_list.py` checks and merges
given edges, `bipartite.py` joins two kinds of nodes, and `compressed_rows.py` lists the
entries of sparse rows by column.
"""

from sgat.graph.graph import Graph, SourceOrder

__all__ = ["Graph", "SourceOrder"]
