"""Sparse Graph Attention Networks: learn which edges to listen to, and keep only those.

The names below are the public ones. Those of the classifier load when first used, so
that `import sgat` costs little more than `import torch`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from sgat.config import Config, DataConfig, ModelConfig, TrainConfig
from sgat.conv import SGATConv
from sgat.features import SparseFeatures
from sgat.gates import HardConcrete
from sgat.graph import Graph
from sgat.models import SGAT

if TYPE_CHECKING:
    from sgat.data.node_data import NodeData
    from sgat.estimator import SGATClassifier
    from sgat.run_folder import load
    from sgat.train import fit

__version__ = "0.1.0"

__all__ = [
    "SGAT",
    "Config",
    "DataConfig",
    "Graph",
    "HardConcrete",
    "ModelConfig",
    "NodeData",
    "SGATClassifier",
    "SGATConv",
    "SparseFeatures",
    "TrainConfig",
    "fit",
    "load",
]

_LAZY = {
    "NodeData": "sgat.data.node_data",
    "SGATClassifier": "sgat.estimator",
    "fit": "sgat.train",
    "load": "sgat.run_folder",
}


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'sgat' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY})
