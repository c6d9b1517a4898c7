"""The graph: its edges in order, and how it is built from the edges somebody gives."""

from sgat.graph.graph import Graph, SourceOrder

__all__ = ["Graph", "SourceOrder"]
