"""Sparse Graph Attention Networks: learn which edges to keep."""
