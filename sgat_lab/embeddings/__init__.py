"""Embeddings: places for the nodes of a graph, in the plane or in Poincaré's disc.

A place comes with which other nodes are comparable, who is near (`near_pairs`), and in
which of four directions another node lies (`direction`).
"""
