"""Settings: frozen dataclasses with the defaults, TOML in and out."""

from __future__ import annotations

import dataclasses
import difflib
import functools
import json
import math
import numbers
import tomllib
import types
import typing
from importlib import resources
from pathlib import Path
from typing import Any, Literal, TypeVar

T = TypeVar("T")


def _require(config: object, name: str, holds: bool, what: str) -> None:
    if not holds:
        raise ValueError(f"`{name}` must be {what}, got {getattr(config, name)}.")


@functools.cache
def _hints(kind: Any) -> dict[str, Any]:
    """Types of a section's entries; reading them takes longer than all the rest."""
    return typing.get_type_hints(kind)


def _require_choices(config: Any) -> None:
    for name, kind in _hints(config.__class__).items():
        if typing.get_origin(kind) is Literal:
            choices, value = typing.get_args(kind), getattr(config, name)
            _require(config, name, value in choices, f"one of {', '.join(choices)}")


@dataclasses.dataclass(frozen=True)
class DataConfig:
    """What to train on: a data set by name, or files.

    Attributes:
        name: Name of a data set (see `sgat data list`).
        split: Name of a split (see docs/datasets.md); None for the data set's own, or
            for files the split column, or 60/20/20 per class without one.
        edges: Path of an edge file.
        nodes: Path of a node file.
        options: Further arguments of `sgat.data.load` or of `FileOptions`.
    """

    name: str | None = None
    split: str | None = None
    edges: str | None = None
    nodes: str | None = None
    options: dict[str, Any] = dataclasses.field(default_factory=dict)

    @property
    def files(self) -> dict[str, str]:
        """The files that are read, by what they hold: edges, nodes, split."""
        is_file = self.split is not None and self.split.endswith(".npz")
        found = {"edges": self.edges, "nodes": self.nodes}
        found["split"] = self.split if is_file else None
        return {what: path for what, path in found.items() if path is not None}


@dataclasses.dataclass(frozen=True)
class ModelConfig:
    """Shape of the network; see `sgat.SGAT` for the meaning of each entry.

    `method` names another model of `sgat_lab.baselines`; it takes from the entries
    those it has a use for, and `options` holds what is its own.

    `gate_bias` says whether there is a learned scalar in every log α, and
    `gate_bias_start` where it starts. `symmetric` keeps or removes both directions of
    an edge together; None does so where the user's edges have no direction.

    `readout` "auto" takes "diffusion" where edges tend to join nodes of one class, or
    nothing is known of it, and else "beliefs"; in place of "diffusion" "attention",
    where nodes have several labels or the scorer is not "evidence"
    (`sgat.training.recommended`).

    `scorer` says what inductive gates look at, see `sgat.scorers`; "auto" takes
    "evidence", or "additive" where edges are too many (`sgat.training.recommended`).
    `rank` is the length of the vectors of "cosine" and "bilinear" and the hidden width
    of "gatv2".

    `gate_gradient` says how training gets a gradient by the gates. "hard_concrete" is
    the paper's; for the others gates are binary, see `sgat.gates.BinaryGates`, and
    `gate_samples` is the number of draws per step of "reinforce".
    """

    hidden: int = 64
    heads: int = 2
    layers: int = 2
    readout: Literal["linear", "attention", "diffusion", "beliefs", "auto"] = "linear"
    steps: int = 10
    restart: float = 0.15
    output_heads: int = 1
    activation: Literal["relu", "elu"] = "elu"
    dropout: float = 0.5
    attention_dropout: float = 0.5
    gate_mode: Literal["inductive", "transductive"] = "inductive"
    scorer: Literal[
        "additive", "cosine", "bilinear", "gatv2", "structure", "evidence", "auto"
    ] = "additive"
    rank: int = 16
    gate_bias: bool = True
    gate_bias_start: float = 0.0
    symmetric: bool | None = None
    bias: bool = True
    residual: bool = False
    temperature: float = 2 / 3
    gamma: float = -0.1
    zeta: float = 1.1
    gate_gradient: Literal["hard_concrete", "reinforce", "gumbel", "rebar"] = (
        "hard_concrete"
    )
    gate_samples: int = 2
    init_gain: float = 1.0
    backend: Literal["auto", "reference", "cpu", "gpu"] = "auto"
    method: str = "sgat"
    options: dict[str, Any] = dataclasses.field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse values no network can have."""
        for name in ("hidden", "heads", "output_heads", "gate_samples"):
            _require(self, name, getattr(self, name) >= 1, "at least 1")
        # Beliefs may stay where they are.
        is_enough = self.layers >= 1 or (self.readout == "beliefs" and self.layers == 0)
        wanted = "at least 1; 0 goes with the read-out beliefs only"
        _require(self, "layers", is_enough, wanted)
        for name in ("dropout", "attention_dropout"):
            _require(self, name, 0 <= getattr(self, name) < 1, "in [0, 1)")
        _require(self, "steps", self.steps >= 0, "at least 0")
        _require(self, "restart", 0 <= self.restart <= 1, "in [0, 1]")
        _require(self, "rank", 1 <= self.rank <= 64, "from 1 to 64")
        _require_choices(self)


@dataclasses.dataclass(frozen=True)
class TrainConfig:
    """How to train.

    Attributes:
        epochs: Passes over the training graphs.
        lr: Learning rate of Adam.
        weight_decay: L2 penalty on the parameters.
        l0_weight: λ, the price of an expected open edge; not used with `keep`.
        keep: Share of the edges to keep, in (0, 1]; None leaves it to `l0_weight`.
        warmup: Epochs over which λ rises from 0, or the kept share falls from 1 to
            `keep`; None takes 0 for λ and 30 % of the epochs for `keep`.
        patience: Stop after so many epochs without a better validation score; None
            never stops early.
        select: "best" keeps the model of the best validation score, "last" the last.
            Without validation nodes it is the last.
        ties: Of epochs with equal validation scores take the "latest" or the "first".
        batch_size: Graphs per step when training on several graphs; None takes all.
        seed: Of weights, gates, dropout and batches.
        precision: "float32", or "bfloat16" for projections and messages (autocast);
            gates, sums and weights stay in float32.
        device: "auto", "cpu", "cuda" or any other name torch knows.
        snapshots: Number of epochs at which to keep the score of every edge.
        checkpoint_every: Epochs between checkpoints of a run with a folder.
    """

    epochs: int = 200
    lr: float = 0.01
    weight_decay: float = 5e-4
    l0_weight: float = 1e-6
    keep: float | None = None
    warmup: int | None = None
    patience: int | None = None
    select: Literal["best", "last"] = "best"
    ties: Literal["latest", "first"] = "latest"
    batch_size: int | None = None
    seed: int = 0
    precision: Literal["float32", "bfloat16"] = "float32"
    device: str = "auto"
    snapshots: int = 0
    checkpoint_every: int = 25

    def __post_init__(self) -> None:
        """Refuse values that cannot be trained with."""
        _require(self, "epochs", self.epochs >= 1, "at least 1")
        _require(self, "lr", 0 < self.lr < math.inf, "positive and finite")
        for name in ("weight_decay", "l0_weight"):
            _require(self, name, 0 <= getattr(self, name) < math.inf, "at least 0")
        _require(self, "keep", self.keep is None or 0 < self.keep <= 1, "in (0, 1]")
        for name in ("patience", "batch_size"):
            value = getattr(self, name)
            _require(self, name, value is None or value >= 1, "at least 1")
        warmup_fits = self.warmup is None or 0 <= self.warmup < self.epochs
        _require(self, "warmup", warmup_fits, "at least 0 and below `epochs`")
        _require(self, "seed", 0 <= self.seed < 2**63, "in [0, 2**63)")
        _require(self, "snapshots", self.snapshots >= 0, "at least 0")
        _require(self, "checkpoint_every", self.checkpoint_every >= 1, "at least 1")
        _require_choices(self)

    @property
    def warmup_epochs(self) -> int:
        """Number of epochs of the warm-up, the default filled in."""
        if self.warmup is not None:
            return self.warmup
        return 0 if self.keep is None else int(0.3 * self.epochs)


@dataclasses.dataclass(frozen=True)
class Config:
    """Everything a run depends on besides the data itself."""

    data: DataConfig = DataConfig()
    model: ModelConfig = ModelConfig()
    train: TrainConfig = TrainConfig()

    @classmethod
    def from_toml(cls, path: Path) -> Config:
        """Read a file that holds only what differs from the defaults.

        Raises:
            ValueError: If it is no TOML, or names a key that does not exist.
        """
        try:
            content = tomllib.loads(Path(path).read_text(encoding="utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise ValueError(f"{path} is not a TOML file: {error}.") from None
        return cls.from_dict(content, where=str(path))

    @classmethod
    def from_dict(cls, content: dict[str, Any], *, where: str = "config") -> Config:
        """Build from nested dictionaries; unknown keys and wrong types are refused."""
        return _build(cls, content, where)

    def to_toml(self) -> str:
        """TOML that `from_toml` reads back to an equal config; None is left out."""
        lines = []
        for section in dataclasses.fields(self):
            lines += ["", f"[{section.name}]"]
            for key, value in _entries(getattr(self, section.name)):
                lines.append(f"{key} = {_toml_value(value)}")
        return "\n".join(lines[1:]) + "\n"

    def replace(self, **sections: dict[str, Any]) -> Config:
        """The config with some entries changed: `replace(train={"seed": 1})`."""
        changed: dict[str, Any] = {
            name: dataclasses.replace(getattr(self, name), **entries)
            for name, entries in sections.items()
        }
        return dataclasses.replace(self, **changed)


def find_config(name: str) -> Config:
    """A config file by path, or a shipped one by name, such as "paper/cora"."""
    path = Path(name)
    if path.suffix == ".toml":
        return Config.from_toml(path)
    shipped = resources.files("sgat") / "configs" / f"{name}.toml"
    with resources.as_file(shipped) as file:
        if not file.is_file():
            raise ValueError(
                f"Unknown config {name!r}; give a .toml file or one of"
                f" {', '.join(shipped_configs())}."
            )
        return Config.from_toml(file)


def shipped_configs() -> list[str]:
    """Names of the config files in the package that `find_config` takes."""
    root = resources.files("sgat") / "configs"
    return sorted(
        f"{folder}/{file.name.removesuffix('.toml')}"
        for folder in ("paper", "tuned")
        for file in (root / folder).iterdir()
        if file.name.endswith(".toml")
    )


def default_config(data_name: str) -> Config:
    """The tuned config shipped for a data set, or the defaults."""
    if f"tuned/{data_name}" in shipped_configs():
        return find_config(f"tuned/{data_name}")
    return Config(data=DataConfig(name=data_name))


def _build(kind: type[T], content: dict[str, Any], where: str) -> T:
    hints = _hints(typing.cast(Any, kind))
    values = {}
    for key, value in content.items():
        if key not in hints:
            close = difflib.get_close_matches(key, hints, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"known: {list(hints)}."
            raise ValueError(f"{where}: unknown key {key!r}; {hint}")
        hint_type = hints[key]
        if isinstance(hint_type, type) and dataclasses.is_dataclass(hint_type):
            if not isinstance(value, dict):
                raise ValueError(f"{where}: `{key}` must be a table, got {value!r}.")
            values[key] = _build(hint_type, value, f"{where} [{key}]")
        else:
            values[key] = _typed(value, hint_type, f"{where}: `{key}`")
    return kind(**values)


def _typed(value: Any, hint: Any, what: str) -> Any:
    if typing.get_origin(hint) is types.UnionType:
        kinds = [kind for kind in typing.get_args(hint) if kind is not types.NoneType]
        return _typed(value, kinds[0], what)
    if typing.get_origin(hint) is Literal:
        hint = str
    if typing.get_origin(hint) is dict:
        hint = dict
    if hint is float and isinstance(value, numbers.Real) and not _is_bool(value):
        return float(value)
    if hint is int and isinstance(value, numbers.Integral) and not _is_bool(value):
        return int(value)
    if not isinstance(value, hint) or (hint is int and isinstance(value, bool)):
        raise ValueError(f"{what} must be {hint.__name__}, got {value!r}.")
    return value


def _is_bool(value: Any) -> bool:
    return isinstance(value, bool) or type(value).__name__ == "bool_"


def _entries(section: Any) -> list[tuple[str, Any]]:
    fields = dataclasses.fields(section)
    pairs = [(field.name, getattr(section, field.name)) for field in fields]
    return [(key, value) for key, value in pairs if value not in (None, {})]


def _toml_value(value: Any) -> str:
    if isinstance(value, dict):
        pairs = (f"{json.dumps(k)} = {_toml_value(v)}" for k, v in value.items())
        return "{ " + ", ".join(pairs) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_toml_value(item) for item in value) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return repr(value) if isinstance(value, int | float) else _toml_string(str(value))


def _toml_string(text: str) -> str:
    # JSON and TOML basic strings agree except that TOML has no surrogate escapes
    # and wants DEL escaped.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
