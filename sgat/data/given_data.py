"""GivenData: data as a user gave it, of any kind; read, and given back smaller."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from torch import Tensor

from sgat.data.inputs import to_node_data, to_pruned
from sgat.data.node_data import NodeData


@dataclasses.dataclass(frozen=True, eq=False)
class GivenData:
    """The data of a call of `SGATClassifier`, whose docstring lists the kinds.

    Attributes:
        data: The data; for plain arrays the features X, [N, K].
        edges: With plain arrays, the edges, [2, E].
        edge_weight: With plain arrays, their weights, [E].
        options: How to read data of this kind, besides.
    """

    data: Any
    edges: Any = None
    edge_weight: Any = None
    options: dict[str, Any] = dataclasses.field(default_factory=dict)

    @property
    def is_list(self) -> bool:
        """Whether it is a list of graphs."""
        return isinstance(self.data, list | tuple)

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

    def pruned(
        self,
        graphs: Sequence[NodeData],
        kept: Sequence[Tensor],
        factors: Sequence[Tensor],
    ) -> Any:
        """The data, of the same type, with the kept edges only; see `to_pruned`."""
        weight, options = self.edge_weight, self.options
        return to_pruned(self.data, self.edges, graphs, kept, factors, weight, options)

    def one_or_all(self, results: list[Any]) -> Any:
        """The result for a graph; for a list of graphs, the list of results."""
        return results if self.is_list or len(results) > 1 else results[0]
