"""Find the wrong edges of a graph, and learn without them.

The names below are the public ones. Each loads when it is first used, so `import sgat`
costs next to nothing by itself.
"""

import importlib as _importlib
import typing as _typing

if _typing.TYPE_CHECKING:
    from sgat.config import Config, DataConfig, ModelConfig, TrainConfig
    from sgat.conv import SGATConv
    from sgat.data.node_data import NodeData
    from sgat.estimator import SGATClassifier, load
    from sgat.features import SparseFeatures
    from sgat.gates import HardConcrete
    from sgat.graph import Graph
    from sgat.judging.judged_edges import judge
    from sgat.judging.pyg_transform import JudgeEdges as JudgeEdges
    from sgat.models import SGAT
    from sgat.training.loop import fit

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
    "judge",
    "load",
]

_HOME = {
    "SGAT": "sgat.models",
    "Config": "sgat.config",
    "DataConfig": "sgat.config",
    "Graph": "sgat.graph",
    "HardConcrete": "sgat.gates",
    "JudgeEdges": "sgat.judging.pyg_transform",
    "ModelConfig": "sgat.config",
    "NodeData": "sgat.data.node_data",
    "SGATClassifier": "sgat.estimator",
    "SGATConv": "sgat.conv",
    "SparseFeatures": "sgat.features",
    "TrainConfig": "sgat.config",
    "fit": "sgat.training.loop",
    "judge": "sgat.judging.judged_edges",
    "load": "sgat.estimator",
}
"""Where each public name is defined; `JudgeEdges`, which needs PyG, is no part of *."""


def __getattr__(name: str) -> _typing.Any:
    if name in _HOME:
        return getattr(_importlib.import_module(_HOME[name]), name)
    raise AttributeError(f"module 'sgat' has no attribute {name!r}")


def __dir__() -> list[str]:
    """The public names, those of Python, and the parts that have been imported."""
    names = {name for name in globals() if name[0] != "_" or name[:2] == "__"}
    return sorted(names | set(_HOME))
