"""Settings of a training of the lab: those of the library, and which method."""

from __future__ import annotations

import dataclasses
from typing import Any, Literal

from sgat.config import Config, DataConfig, ModelConfig, TrainConfig
from sgat.config.checked import Count, CountOrZero
from sgat.config.sections import Readout, Scorer

BinaryGradient = Literal["reinforce", "gumbel", "rebar", "relax"]


@dataclasses.dataclass(frozen=True)
class MethodConfig(ModelConfig):
    """Shape of a network of the lab, SGAT or another.

    A method takes those entries of `ModelConfig` that it has a use for. The defaults
    are fixed here where the library may recommend others some day: a stored record is
    found by what differs from them (`sgat_lab.trials.task`).

    Attributes:
        gate_gradient: How SGAT gets a gradient through the gates. hard_concrete is the
            paper's; with the others gates are binary, see `sgat_lab.binary_gates`.
        gate_samples: Draws per step of the gradient reinforce.
        method: "sgat", or a name in `sgat_lab.baselines.METHODS`.
        options: Entries that only this method has.
    """

    readout: Readout = "linear"
    scorer: Scorer = "additive"
    gate_gradient: Literal["hard_concrete", BinaryGradient] = "hard_concrete"
    gate_samples: Count = 2
    method: str = "sgat"
    options: dict[str, Any] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class FullTrainConfig(TrainConfig):
    """How to train in the lab: for all epochs, as the paper did."""

    patience: CountOrZero = 0


@dataclasses.dataclass(frozen=True)
class MadeDataConfig(DataConfig):
    """The data to train on: a data set by name, files, or a graph that the lab makes.

    Attributes:
        options: Arguments of a block model, see `sgat_lab.synthetic.block_models`.
    """

    options: dict[str, Any] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class LabConfig(Config):
    """Everything a training of the lab depends on besides the data itself."""

    data: MadeDataConfig = MadeDataConfig()
    model: MethodConfig = MethodConfig()
    train: FullTrainConfig = FullTrainConfig()

    @classmethod
    def from_config(cls, config: Config) -> LabConfig:
        """A config of the library: SGAT on a data set or on files."""
        return cls(
            data=MadeDataConfig(**vars(config.data)),
            model=MethodConfig(**vars(config.model)),
            train=FullTrainConfig(**vars(config.train)),
        )
