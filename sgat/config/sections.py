"""The sections of a config: data, model, train.

Every setting has its type, its help text and its default here and nowhere else. The
help is that of `sgat fit --help`; a name in backticks is another setting.
"""

from __future__ import annotations

import dataclasses
import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from sgat.config.checked import (
    Count,
    CountOrZero,
    Price,
    Rank,
    Rate,
    Seed,
    Settings,
    Share,
    ShareDropped,
    ShareLeft,
)
from sgat.config.data import DataConfig
from sgat.config.toml import toml_table

FixedReadout = Literal["linear", "attention", "diffusion", "beliefs"]
Readout = Literal[FixedReadout, "auto"]
Scorer = Literal[
    "additive", "cosine", "bilinear", "gatv2", "structure", "evidence", "auto"
]
Activation = Literal["relu", "elu"]
GateMode = Literal["inductive", "transductive"]


@dataclasses.dataclass(frozen=True)
class ModelConfig(Settings):
    """Shape of the network; see also `sgat.SGAT`."""

    hidden: Annotated[Count, "Width of each attention head."] = 64
    heads: Annotated[Count, "Number of attention heads."] = 2
    layers: Annotated[
        CountOrZero,
        "Number of attention layers. With the read-out beliefs, beliefs travel so"
        " many steps, perhaps 0. The read-out diffusion uses `steps` instead.",
    ] = 2
    readout: Annotated[
        Readout,
        "How nodes get their class scores. linear (the paper): a classifier on top of"
        " the layers. attention: one more attention layer, often better with few"
        " labels. diffusion: scores averaged along the edges. beliefs: for graphs"
        " whose neighbours often differ in class. auto: diffusion where edges tend to"
        " join nodes of one class, else beliefs; attention in place of diffusion with"
        " several labels per node or another scorer than evidence.",
    ] = "auto"
    steps: Annotated[
        CountOrZero,
        "Number of steps that class scores travel with the read-out diffusion.",
    ] = 10
    restart: Annotated[
        Share,
        "Share of a node's own scores in every step of diffusion.",
    ] = 0.15
    output_heads: Annotated[Count, "Number of heads of the read-out attention."] = 1
    activation: Annotated[
        Activation,
        "Activation of the layers: relu (the paper) or elu (the authors' code).",
    ] = "elu"
    dropout: Annotated[ShareDropped, "Share of features dropped in training."] = 0.5
    attention_dropout: Annotated[
        ShareDropped,
        "Share of attention coefficients dropped in training.",
    ] = 0.5
    gate_mode: Annotated[
        GateMode,
        "inductive: gates follow from features and work on any graph. transductive:"
        " every edge of one graph has a gate of its own.",
    ] = "inductive"
    scorer: Annotated[
        Scorer,
        "What gates depend on. evidence: the odds that an edge is real, learned"
        " before training from features, neighbourhoods and classes; for graphs with"
        " wrong edges. additive (the paper): each end by itself, so that all nodes"
        " rank their neighbours alike. auto: evidence up to 10 million edges, additive"
        " beyond. Learned in training: cosine (similarity of both ends), bilinear and"
        " gatv2 (any relation of both ends), structure (degrees, common neighbours).",
    ] = "auto"
    rank: Annotated[
        Rank,
        "Length of the vectors of the scorers cosine and bilinear, width of gatv2.",
    ] = 16
    gate_bias: Annotated[bool, "Learn one scalar that is part of every gate."] = True
    gate_bias_start: Annotated[float, "Start value of that scalar."] = 0.0
    symmetric: Annotated[
        bool | None,
        "Keep or remove both directions of an edge together. By default only where"
        " the edges have no direction.",
    ] = None
    bias: Annotated[bool, "Add learned vectors to the outputs of the layers."] = True
    residual: Annotated[bool, "Add each layer's input to its output."] = False
    temperature: Annotated[float, "Temperature of the gates, β in the paper."] = 2 / 3
    gamma: Annotated[float, "Lower end of the stretched gates, γ in the paper."] = -0.1
    zeta: Annotated[float, "Upper end of the stretched gates, ζ in the paper."] = 1.1
    gate_gradient: Annotated[
        Literal["hard_concrete", "reinforce", "gumbel", "rebar", "relax"],
        "How training gets a gradient through the gates. hard_concrete is the"
        " paper's; with reinforce, gumbel, rebar and relax gates are binary.",
    ] = "hard_concrete"
    gate_samples: Annotated[Count, "Draws per step of the gradient reinforce."] = 2
    init_gain: Annotated[float, "Scale of the initial weights."] = 1.0
    backend: Annotated[
        Literal["auto", "reference", "cpu", "gpu"],
        "Implementation of the operations: auto, reference, cpu or gpu.",
    ] = "auto"

    def __post_init__(self) -> None:
        """Refuse values that no network can have."""
        super().__post_init__()
        if self.layers == 0 and self.readout != "beliefs":
            raise ValueError(
                "`layers` must be at least 1, or 0 with the read-out beliefs, got 0."
            )


@dataclasses.dataclass(frozen=True)
class TrainConfig(Settings):
    """How to train."""

    epochs: Annotated[Count, "Number of passes over the training graphs."] = 200
    lr: Annotated[Rate, "Learning rate of Adam."] = 0.01
    weight_decay: Annotated[Price, "L2 penalty on the weights."] = 5e-4
    l0_weight: Annotated[
        Price,
        "λ, the price of an open edge; not used with `keep`.",
    ] = 1e-6
    keep: Annotated[
        ShareLeft | None,
        "Share of the edges to keep. Without it `l0_weight` decides.",
    ] = None
    warmup: Annotated[
        CountOrZero | None,
        "Number of epochs over which λ rises from 0, or the kept share falls from 1"
        " to `keep`. By default 0 for λ, 30 % of the epochs for `keep`.",
    ] = None
    patience: Annotated[
        Count | None,
        "Stop after so many epochs without a better validation score.",
    ] = None
    select: Annotated[
        Literal["best", "last"],
        "best: take the model of the best validation score. last: that of the last"
        " epoch.",
    ] = "best"
    ties: Annotated[
        Literal["latest", "first"],
        "Epoch to take among equal validation scores: latest or first.",
    ] = "latest"
    batch_size: Annotated[
        Count | None,
        "Graphs per step when there are several; by default all.",
    ] = None
    seed: Annotated[Seed, "Seed of splits, weights, gates, dropout and batches."] = 0
    precision: Annotated[
        Literal["float32", "bfloat16"],
        "Precision of projections and messages: float32 or bfloat16.",
    ] = "float32"
    device: Annotated[str, "auto, cpu, cuda, cuda:1, …"] = "auto"
    snapshots: Annotated[
        CountOrZero,
        "Number of epochs whose edge scores are kept; draws small graphs, too.",
    ] = 0
    checkpoint_every: Annotated[Count, "Epochs between checkpoints."] = 25

    def __post_init__(self) -> None:
        """Refuse values that cannot be trained with."""
        super().__post_init__()
        if self.warmup is not None and self.warmup >= self.epochs:
            raise ValueError(
                f"`warmup` must be at least 0 and below `epochs`, got {self.warmup}."
            )

    @property
    def warmup_epochs(self) -> int:
        """Number of epochs of the warm-up, the default filled in."""
        if self.warmup is not None:
            return self.warmup
        return 0 if self.keep is None else int(0.3 * self.epochs)


@dataclasses.dataclass(frozen=True)
class Config(Settings):
    """Everything a run depends on besides the data itself."""

    data: DataConfig = dataclasses.field(default=DataConfig())
    model: ModelConfig = ModelConfig()
    train: TrainConfig = TrainConfig()

    @classmethod
    def from_toml(cls, path: Path) -> Self:
        """Read a file that holds only what differs from the defaults.

        Raises:
            ValueError: If it is no TOML, or names a key that does not exist.
        """
        try:
            content = tomllib.loads(Path(path).read_text(encoding="utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise ValueError(f"{path} is not a TOML file: {error}.") from None
        return cls.from_dict(content, where=str(path))

    def to_toml(self) -> str:
        """TOML that `from_toml` reads back to an equal config; None is left out."""
        return "\n".join(toml_table(name, part) for name, part in vars(self).items())

    def replace(self, **sections: dict[str, Any]) -> Self:
        """The config with some entries changed: `replace(train={"seed": 1})`."""
        changed: dict[str, Any] = {
            name: dataclasses.replace(getattr(self, name), **entries)
            for name, entries in sections.items()
        }
        return dataclasses.replace(self, **changed)
