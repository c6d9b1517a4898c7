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
    """A candidate as changes to settings; `needs` are words of `facts`."""

    name: str
    model: dict[str, Any]
    train: dict[str, Any] = {}  # noqa: RUF012  # never changed
    needs: frozenset[str] = frozenset()


CLASSES, EVIDENCE = frozenset({"classes"}), frozenset({"evidence"})
WIDE: dict[str, Any] = {"hidden": 128, "dropout": 0.2, "activation": "relu"}
TABLE = (
    Variant("diffusion", {"readout": "diffusion"}),
    Variant("near diffusion", {"readout": "diffusion", "steps": 2}),
    Variant("attention", {"readout": "attention"}),
    Variant(
        "wide attention",
        {"readout": "attention", "residual": True, **WIDE},
        {"weight_decay": 0.0},
    ),
    Variant(
        "wide layers",
        {"readout": "linear", "residual": True, "layers": 3, **WIDE},
        {"weight_decay": 0.0},
    ),
    Variant("beliefs", {"readout": "beliefs"}, needs=CLASSES),
    Variant(
        "wide beliefs",
        {"readout": "beliefs", **WIDE},
        {"weight_decay": 5e-5},
        needs=CLASSES,
    ),
    Variant(
        "features alone",
        {"readout": "beliefs", "layers": 0},
        needs=CLASSES | EVIDENCE,
    ),
)
"""All that is tried; among equals the first is taken."""


def facts(model: ModelConfig, train: TrainConfig, data: NodeData) -> frozenset[str]:
    """What holds of a task, in words that a row can need.

    classes: a node has one class, not several labels. evidence: edges are judged.
    free: no share of the edges to keep is given.
    """
    found = {
        "classes": not data.is_multilabel,
        "evidence": model.scorer == "evidence",
        "free": train.keep is None,
    }
    return frozenset(word for word, holds in found.items() if holds)


def candidates(
    model: ModelConfig, train: TrainConfig, graphs: Sequence[NodeData]
) -> list[Candidate]:
    """The candidates for these graphs, the one that `fast` would take first.

    A setting other than the default was chosen, so no row changes it; rows that become
    equal count once.
    """
    rule = resolved(model, graphs)
    base = dataclasses.replace(rule, readout="attention", layers=model.layers)
    known = facts(rule, train, graphs[0])
    found = [Candidate(str(rule.readout), rule, train)]
    for row in TABLE:
        if row.needs <= known:
            free = _unchosen(row.model, model) | {"readout": row.model["readout"]}
            changed = dataclasses.replace(base, **free)
            other = dataclasses.replace(train, **_unchosen(row.train, train))
            found.append(Candidate(row.name, changed, other))
    # The name is that of the table, the place that of the first.
    names = {(each.model, each.train): each.name for each in reversed(found[1:])}
    kept = dict.fromkeys((each.model, each.train) for each in found)
    return [Candidate(names.get(pair, found[0].name), *pair) for pair in kept]


def _unchosen(changes: dict[str, Any], settings: Settings) -> dict[str, Any]:
    """The changes to settings that have their defaults."""
    default = type(settings)()
    return {
        name: value
        for name, value in changes.items()
        if getattr(settings, name) == getattr(default, name)
    }


def differing(candidate: Candidate, train: TrainConfig) -> dict[str, Any]:
    """The settings of a candidate that differ from the defaults, or from `train`."""
    pairs = ((candidate.model, ModelConfig()), (candidate.train, train))
    return {
        name: value
        for settings, other in pairs
        for name, value in vars(settings).items()
        if value != getattr(other, name) and name not in ("scorer", "symmetric")
    }
