"""Removing edges by score and by rules: in memory, and from tables of any size."""

from sgat.config.pruning import Rules

__all__ = ["Rules"]
