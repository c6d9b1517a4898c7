"""GivenData: data as a user gave it, of any kind; read, and given back smaller."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from sgat.config import ModelConfig
from sgat.data.inputs import to_node_data, to_pruned
from sgat.data.node_data import NodeData, check_features
from sgat.scored import EdgeScores


@dataclasses.dataclass(frozen=True, eq=False)
class GivenData:
    """What a method of `SGATClassifier` was given; it says which kinds there are.

    Attributes:
        data: The data; for plain arrays the features X, [N, K].
        edges: With plain arrays, the edges, [2, E].
        edge_weight: With plain arrays, their weights, [E].
        options: What else says how to read data of this kind.
    """

    data: Any
    edges: Any = None
    edge_weight: Any = None
    options: dict[str, Any] = dataclasses.field(default_factory=dict)

    def after(self, earlier: GivenData | None) -> GivenData:
        """The same, with the options of earlier data of its kind that are left out."""
        if earlier is None or type(self.data) is not type(earlier.data):
            return self
        options = {**earlier.options, **self.options}
        return dataclasses.replace(self, options=options)

    def read(self, y: Any = None, **how: Any) -> list[NodeData]:
        """The graphs; `y` and `how` are those of `sgat.data.inputs.to_node_data`."""
        weight = {"edge_weight": self.edge_weight}
        return to_node_data(self.data, self.edges, y, **weight, **how, **self.options)

    def pruned(self, graphs: Sequence[NodeData], scores: Sequence[EdgeScores]) -> Any:
        """What was given, of the same type, with the kept edges only."""
        weight, options = self.edge_weight, self.options
        kept, gates = [found.kept for found in scores], [found.gate for found in scores]
        return to_pruned(self.data, self.edges, graphs, kept, gates, weight, options)

    def one_or_all(self, results: list[Any]) -> Any:
        """The result for a graph; for a list of graphs, the list of results."""
        several = isinstance(self.data, list | tuple) or len(results) > 1
        return results if several else results[0]


def check_fits(data: NodeData, model: ModelConfig, header: dict[str, Any]) -> None:
    """Make sure that a trained model can read a graph.

    Args:
        data: The graph.
        model: Settings of the model.
        header: What `sgat.runs.saved_model.model_header` says of it.

    Raises:
        ValueError: If features are not finite or not as many as in training, or the
            gates know the edges of another graph only.
    """
    if data.num_features != header["num_features"]:
        raise ValueError(
            f"`data` must have the {header['num_features']} features the model"
            f" was trained on, got {data.num_features}."
        )
    check_features(data)
    is_free = model.gate_mode != "inductive"
    if is_free and data.graph.fingerprint != header["edges_sha256"]:
        raise ValueError(
            "Transductive gates know the edges of the graph they were trained on"
            " and no others, got another graph; train with gate_mode='inductive'."
        )
