"""Method: how a competing model is made, and what is done around its training."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sgat.config import TrainConfig
from sgat.config.checked import Setting
from sgat.data.node_data import NodeData
from sgat.node_classifier import NodeClassifier
from sgat.training.result import Result
from sgat_lab.config import MethodConfig


@dataclasses.dataclass(frozen=True)
class Method:
    """A competing method.

    Attributes:
        build: Makes the model for data of these sizes; its weights are drawn later.
        prepare: Changes the data before training, from the seed and from the labels of
            the training nodes at most; None leaves it as it is.
        fit: Trains on prepared data where that takes more than one training; None for
            `sgat.training.loop.fit`.
        defaults: Entries of `MethodConfig.options` and their defaults.
        is_transductive: Whether a model only knows the graph it was trained on.
    """

    build: Callable[[MethodConfig, NodeData], NodeClassifier]
    prepare: (
        Callable[[Sequence[NodeData], MethodConfig, int], list[NodeData]] | None
    ) = None
    fit: Callable[[Sequence[NodeData], MethodConfig, TrainConfig], Result] | None = None
    defaults: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    is_transductive: bool = False

    def options(self, config: MethodConfig) -> dict[str, Any]:
        """The method's own options, the defaults filled in.

        Raises:
            ValueError: If one is unknown, or of another type than its default.
        """
        found = {**self.defaults}
        for name, value in config.options.items():
            if name not in self.defaults:
                known = ", ".join(self.defaults) or "none"
                raise ValueError(
                    f"The method {config.method!r} has no option {name!r}; it has"
                    f" {known}."
                )
            setting = Setting.from_hint(type(self.defaults[name]))
            found[name] = setting.checked(name, value)
        return found
