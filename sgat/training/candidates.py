"""Candidates: the models that are tried where the read-out is "auto", one table."""

import dataclasses
from collections.abc import Sequence
from typing import Any, NamedTuple

from sgat.config import ModelConfig, TrainConfig
from sgat.config.checked import Settings
from sgat.data.node_data import NodeData
from sgat.training.fresh_model import resolved


@dataclasses.dataclass(frozen=True)
class Candidate:
    """Settings to train with, under a name."""

    name: str
    model: ModelConfig
    train: TrainConfig


class Variant(NamedTuple):
    """A candidate as changes to settings."""

    name: str
    model: dict[str, Any]
    train: dict[str, Any] = {}  # noqa: RUF012  # never changed
    needs: str = ""  # words that must hold of the task, see `candidates`


WIDE: dict[str, Any] = {"hidden": 128, "dropout": 0.2, "activation": "relu"}
FEATURES: dict[str, Any] = {"residual": True, **WIDE}
LOOSE = {"weight_decay": 0.0}
TABLE = (
    Variant("diffusion", {"readout": "diffusion"}),
    Variant("near diffusion", {"readout": "diffusion", "steps": 2}),
    Variant("attention", {"readout": "attention"}),
    Variant("wide attention", {"readout": "attention", **FEATURES}, LOOSE),
    Variant("wide layers", {"readout": "linear", "layers": 3, **FEATURES}, LOOSE),
    Variant("beliefs", {"readout": "beliefs"}, needs="classes"),
    Variant("wide beliefs", {"readout": "beliefs", **WIDE}, LOOSE, "classes"),
    Variant(
        "features alone", {"readout": "beliefs", "layers": 0}, {}, "classes evidence"
    ),
)
"""All that is tried; among equals the first is taken."""


def candidates(
    model: ModelConfig, train: TrainConfig, graphs: Sequence[NodeData]
) -> list[Candidate]:
    """The candidates for these graphs, the one that `fast` would take first.

    A setting other than the default was chosen, so no row changes it; rows that become
    equal count once. A row can need that nodes have one class each ("classes"), that
    edges are judged ("evidence"), and that no share of them is asked for ("free").
    """
    rule = resolved(model, graphs)
    holds = {
        "classes": not graphs[0].is_multilabel,
        "evidence": rule.scorer == "evidence",
        "free": train.keep is None,
    }
    base = dataclasses.replace(rule, readout="attention", layers=model.layers)
    found: dict[tuple[ModelConfig, TrainConfig], str] = {}
    for row in TABLE:
        if all(holds[word] for word in row.needs.split()):
            changes = _unchosen(row.model, model) | {"readout": row.model["readout"]}
            other = dataclasses.replace(train, **_unchosen(row.train, train))
            found.setdefault((dataclasses.replace(base, **changes), other), row.name)
    first = rule, train
    name = found.pop(first, str(rule.readout))
    return [
        Candidate(name, *first),
        *(Candidate(n, *pair) for pair, n in found.items()),
    ]


def _unchosen(changes: dict[str, Any], settings: Settings) -> dict[str, Any]:
    """The changes to settings that have their defaults."""
    default = vars(type(settings)())
    given = vars(settings)
    return {key: new for key, new in changes.items() if given[key] == default[key]}


def differing(candidate: Candidate, train: TrainConfig) -> dict[str, Any]:
    """The settings of a candidate that differ from the defaults, or from `train`."""
    pairs = (candidate.model, ModelConfig()), (candidate.train, train)
    return {
        name: value
        for settings, other in pairs
        for name, value in vars(settings).items()
        if value != getattr(other, name) and name not in ("scorer", "symmetric")
    }
