"""Explanations: why a node, why an edge, what was removed; and pictures of them."""
