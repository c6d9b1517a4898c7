"""Explanations: why a node, why an edge, what was removed; and pictures of them."""

from sgat.explaining.graph_explanation import GraphExplanation, explain_graph
from sgat.explaining.node_explanation import NodeExplanation, explain_node

__all__ = ["GraphExplanation", "NodeExplanation", "explain_graph", "explain_node"]
