"""Method: how a competing model is made, and what is done around its training."""

from __future__ import annotations

import dataclasses
import inspect
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
        network: The class of the model.
        prepare: Changes the data before training, from the seed and from the labels of
            the training nodes at most; None leaves it as it is.
        fit: Trains on prepared data where that takes more than one training; None for
            `sgat.training.loop.fit`.
        defaults: Entries of `MethodConfig.options` and their defaults.
        is_transductive: Whether a model only knows the graph it was trained on.
    """

    network: type[Any]
    prepare: (
        Callable[[Sequence[NodeData], MethodConfig, int], list[NodeData]] | None
    ) = None
    fit: Callable[[Sequence[NodeData], MethodConfig, TrainConfig], Result] | None = None
    defaults: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    is_transductive: bool = False

    def build(self, config: MethodConfig, data: NodeData) -> NodeClassifier:
        """The model for data of these sizes; its weights are drawn later.

        Its class gets those options and settings that it has arguments for.
        """
        settings = {**vars(config), **self.options(config)}
        signatures = map(inspect.signature, self.network.__mro__)
        arguments = [each for one in signatures for each in one.parameters.values()]
        names = {each.name for each in arguments if each.kind is each.KEYWORD_ONLY}
        known = {name: settings[name] for name in settings.keys() & names}
        sizes = data.num_features, config.hidden, data.num_classes
        made: NodeClassifier = self.network(*sizes, **known)
        return made

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
