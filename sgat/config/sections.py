"""The sections of a config: data, model, train.

Every setting has its type, its help text and its default here and nowhere else. The
help is that of `sgat fit --help`; a name in backticks is another setting.
"""

import dataclasses
import json
import re
import tomllib
from pathlib import Path
from typing import Any, Literal, Self

from sgat.config.checked import (
    Count,
    CountOrZero,
    Depth,
    Finite,
    Gain,
    Price,
    Rank,
    Rate,
    Seed,
    Settings,
    Share,
    ShareDropped,
    ShareLeft,
    Width,
)
from sgat.config.data import DataConfig

FixedReadout = Literal["linear", "attention", "diffusion", "beliefs", "deep"]
Readout = Literal[FixedReadout, "auto"]
LearnedScorer = Literal["additive", "cosine", "bilinear", "gatv2", "structure"]
Scorer = Literal[LearnedScorer, "evidence", "revised", "auto"]
Activation = Literal["relu", "elu"]
Normalisation = Literal["none", "layer", "batch"]
Scaling = Literal["none", "rows", "standard"]
JudgedUse = Literal["remove", "weigh", "all"]
GateMode = Literal["inductive", "transductive"]
RealMetric = Literal[
    "accuracy", "balanced_accuracy", "macro_f1", "roc_auc", "average_precision"
]
Metric = Literal["auto", RealMetric]

MOST_BYTES = 1 << 22  # of settings, which are read in seconds then
DEEP_KEY = re.compile(r"""(?<![\w'"-])(?:[\w'"-]++\s*+\.\s*+){100}""")
"""A key of so many parts: `tomllib` takes the square of their number of steps."""


@dataclasses.dataclass(frozen=True)
class ModelConfig(Settings):
    """Shape of the network; see also `sgat.SGAT`.

    Attributes:
        hidden: Width of each attention head.
        heads: Number of attention heads.
        layers: Number of attention layers; 2 to 10 suit the read-out deep. With the
            read-out beliefs it is the number of steps that beliefs travel, and 0 is
            allowed. The read-out diffusion uses `steps` instead.
        readout: How nodes get their class scores. linear (the paper): a classifier on
            top of the layers. attention: one more attention layer, often better with
            few labels. diffusion: scores averaged along the edges. beliefs: for graphs
            whose neighbours often differ in class. deep: layers of messages with a path
            of its own for the node itself, and `normalisation`. auto: a few candidates
            are trained and the validation nodes decide, see `fast`.
        steps: Number of steps that class scores travel with the read-out diffusion.
        restart: Share of a node's own scores in every step of diffusion.
        normalisation: Normalisation after each layer of the read-out deep. layer: over
            the numbers of a node. batch: over the nodes. none: leave it out.
        output_heads: Number of heads of the read-out attention.
        activation: Activation of the layers: relu (the paper) or elu (the authors'
            code).
        scaling: How the model scales features. none: as they are. rows: rows are
            divided by their sum of absolute values. standard: columns get the mean 0
            and the spread 1; of sparse features, which stay sparse, the mean square 1.
            The numbers are those of the training graphs; edges are judged before.
        dropout: Share of features dropped in training.
        attention_dropout: Share of attention coefficients dropped in training.
        gate_mode: How gates are made. inductive: from features, for any graph.
            transductive: one of its own for every edge of one graph.
        scorer: What gates depend on. evidence: the odds that an edge is real, found
            before training from features, neighbourhoods and classes of each graph; for
            graphs with wrong edges. additive (the paper): each end by itself, so that
            all nodes rank their neighbours alike. auto: evidence. Learned in training:
            cosine (similarity of both ends), bilinear and gatv2 (any relation of both
            ends), structure (degrees, common neighbours). revised: evidence that
            training corrects.
        judged_edges: Use of the odds of the scorer evidence. remove: edges more likely
            wrong than real go. weigh: all stay, and messages count by the probability
            that their edge is real. all: all stay as they are, judged all the same.
        rank: Length of the vectors of the scorers cosine and bilinear, width of gatv2.
        gate_bias: Learn one scalar that is part of every gate. With the scorer evidence
            it stays at its start, unless `keep` moves it.
        gate_bias_start: Start value of that scalar.
        symmetric: Keep or remove both directions of an edge together. By default only
            where the edges have no direction.
        bias: Add learned vectors to the outputs of the layers.
        residual: Add each layer's input to its output.
        temperature: Temperature of the gates, β in the paper.
        gamma: Lower end of the stretched gates, γ in the paper.
        zeta: Upper end of the stretched gates, ζ in the paper.
        init_gain: Scale of the initial weights.
        backend: Implementation of the operations: auto, reference, cpu or gpu.
    """

    hidden: Width = 64
    heads: Width = 2
    layers: Depth = 2
    readout: Readout = "auto"
    steps: Depth = 10
    restart: Share = 0.15
    normalisation: Normalisation = "layer"
    output_heads: Width = 1
    activation: Activation = "elu"
    scaling: Scaling = "none"
    dropout: ShareDropped = 0.5
    attention_dropout: ShareDropped = 0.5
    gate_mode: GateMode = "inductive"
    scorer: Scorer = "auto"
    judged_edges: JudgedUse = "remove"
    rank: Rank = 16
    gate_bias: bool = True
    gate_bias_start: Finite = 0.0
    symmetric: bool | None = None
    bias: bool = True
    residual: bool = False
    temperature: Finite = 2 / 3
    gamma: Finite = -0.1
    zeta: Finite = 1.1
    init_gain: Gain = 1.0
    backend: Literal["auto", "reference", "cpu", "gpu"] = "auto"

    def __post_init__(self) -> None:
        """Refuse values that no network can have."""
        super().__post_init__()
        if self.layers == 0 and self.readout != "beliefs":
            raise ValueError(
                "`layers` must be at least 1, or 0 with the read-out beliefs, got 0."
            )


@dataclasses.dataclass(frozen=True)
class TrainConfig(Settings):
    """How to train.

    Attributes:
        epochs: Number of passes over the training graphs.
        lr: Learning rate of Adam.
        weight_decay: L2 penalty on the weights.
        l0_weight: λ, the price of an open edge; not used with `keep`. The scorer
            evidence takes no other than the default, and does not use it.
        keep: Share of the edges to keep, in (0, 1]. Without it the scorer evidence
            decides, and with other scorers `l0_weight`.
        warmup: Number of epochs over which λ rises from 0, or the kept share falls from
            1 to `keep`. By default 0 for λ, 30 % of the epochs for `keep`.
        metric: Score that chooses the model and is reported. auto: accuracy, micro-F1
            with several labels per node. roc_auc and average_precision go by the
            probabilities, of the rarer class if there are two, else mean over classes.
            macro_f1 and balanced_accuracy count all classes alike.
        class_weights: Weigh classes in the loss by the inverse of their number of
            training nodes.
        patience: Stop after this many epochs in which validation got no better; a tenth
            is enough where 100 or more validation nodes are all right, and surely so. 0
            runs all epochs, and so does the choice of the last.
        select: Epoch whose model is kept: best, by the validation score, or last.
        ties: Epoch that is best among equal validation scores: latest or first.
        batch_size: Graphs per step when there are several; by default all.
        seed: Seed of splits, weights, gates, dropout and batches.
        fast: With the read-out auto, train one candidate and no others: diffusion where
            edges tend to join nodes of one class, else beliefs; attention in place of
            diffusion with several labels per node or another scorer than evidence.
        precision: Precision of projections and messages: float32 or bfloat16.
        device: Device to train on: auto, cpu, cuda, cuda:1, …
        snapshots: Number of epochs whose edge scores are stored for the report.
        checkpoint_every: Number of epochs between checkpoints.
    """

    epochs: Count = 200
    lr: Rate = 0.01
    weight_decay: Price = 5e-4
    l0_weight: Price = 1e-6
    keep: ShareLeft | None = None
    warmup: CountOrZero | None = None
    metric: Metric = "auto"
    class_weights: bool = False
    patience: CountOrZero = 50
    select: Literal["best", "last"] = "best"
    ties: Literal["latest", "first"] = "latest"
    batch_size: Count | None = None
    seed: Seed = 0
    fast: bool = False
    precision: Literal["float32", "bfloat16"] = "float32"
    device: str = "auto"
    snapshots: CountOrZero = 0
    checkpoint_every: Count = 25

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
        if Path(path).exists() and not Path(path).is_file():
            raise ValueError(f"{path}: must be a file, not a pipe, device or folder.")
        if Path(path).stat().st_size > MOST_BYTES:
            raise ValueError(f"{path}: must be a file of {MOST_BYTES:,} bytes at most.")
        try:
            text = Path(path).read_text(encoding="utf-8")
            if DEEP_KEY.search(text):
                raise RecursionError
            content = tomllib.loads(text)
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise ValueError(f"{path} is not a TOML file: {error}.") from None
        except ValueError:
            raise ValueError(f"{path}: a number has too many digits.") from None
        except RecursionError:
            raise ValueError(
                f"{path}: lists or tables are nested too deeply."
            ) from None
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


def toml_table(name: str, section: Settings) -> str:
    """A section as a table, with the tables in it.

    None is left out, and so are empty tables and those that hold only defaults.
    """
    lines, tables = [f"[{name}]\n"], []
    for key, value in vars(section).items():
        if isinstance(value, Settings):
            if value != type(value)():
                tables.append("\n" + toml_table(f"{name}.{key}", value))
        elif value is not None and value != {}:
            lines.append(f"{key} = {toml_value(value)}\n")
    return "".join([*lines, *tables])


def toml_value(value: Any) -> str:
    """A string, number, truth value, list or table in one line of TOML."""
    if isinstance(value, dict):
        pairs = (f"{json.dumps(k)} = {toml_value(v)}" for k, v in value.items())
        return "{ " + ", ".join(pairs) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(toml_value(item) for item in value) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return repr(value)
    # JSON and TOML basic strings agree except that TOML has no surrogate escapes
    # and wants DEL escaped.
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")
