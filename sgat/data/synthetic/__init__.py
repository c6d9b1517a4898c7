"""Noise put into graphs, so that it is known which edges are wrong."""

from sgat.data.synthetic.injection import Injected, inject

__all__ = ["Injected", "inject"]
