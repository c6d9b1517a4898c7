"""Candidates: the models that are tried where the read-out is "auto", one table."""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import torch

from sgat.config import ModelConfig, TrainConfig
from sgat.config.checked import Settings
from sgat.data.node_data import NodeData
from sgat.features import Features, SparseFeatures, normalise_rows
from sgat.training.fresh_model import resolved
from sgat.training.result import Trial, ranked


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


DEEP_FROM = 4
"""Layers from which a score must be ahead by a standard error: networks so deep often
do less well on nodes that did not choose them."""
FAR_BEHIND = 2.0
"""Standard errors that are far: there is no hope for deep networks and runners-up."""
DIFFUSION = {"readout": "diffusion"}
BELIEFS = {"readout": "beliefs"}
DEEP = {"readout": "deep", "activation": "relu", "attention_dropout": 0.0}
LIGHT: dict[str, Any] = {"normalisation": "batch", "dropout": 0.2}
ALONE: dict[str, Any] = {**BELIEFS, "layers": 0}
ALL_EDGES = {**DEEP, "judged_edges": "all"}
MANY: dict[str, Any] = {**ALL_EDGES, **LIGHT, "layers": 8}
ROWS, STANDARD = {"scaling": "rows"}, {"scaling": "standard"}
LOOSE, FIRM = {"weight_decay": 0.0}, {"weight_decay": 5e-3}
PLAIN: dict[str, Any] = {**ALL_EDGES, "normalisation": "none", "dropout": 0.2}
TABLE = (
    Variant("diffusion", DIFFUSION),
    Variant("near diffusion", {**DIFFUSION, "steps": 2}),
    Variant("diffusion, rows", {**DIFFUSION, **ROWS}, {}, "rows"),
    Variant("diffusion, revised", {**DIFFUSION, "scorer": "revised"}, {}, "gated"),
    Variant("attention", {"readout": "attention"}),
    Variant("beliefs", BELIEFS, {}, "classes"),
    Variant("features alone", ALONE, {}, "classes judged"),
    Variant("layers", DEEP),
    Variant("layers, rows", {**DEEP, **ROWS}, {}, "rows"),
    Variant("layers, standard", {**DEEP, **STANDARD}),
    Variant("loose layers", {**DEEP, **LIGHT}, LOOSE),
    Variant("slow layers", {**DEEP, "dropout": 0.2}, {"lr": 0.003}),
    Variant("layers, all edges", ALL_EDGES, {}, "judged free"),
    Variant("plain layers, all edges", PLAIN, FIRM, "judged free"),
    Variant("plain layer, all edges", {**PLAIN, "layers": 1}, FIRM, "judged free"),
    Variant("some layers, all edges", {**MANY, "layers": 4}, LOOSE, "judged free"),
    Variant("many layers, all edges", MANY, LOOSE, "judged free"),
    Variant(
        "many layers, all edges, standard", {**MANY, **STANDARD}, LOOSE, "judged free"
    ),
)
"""All that is tried; among equals the first is taken."""


def candidates(
    model: ModelConfig, train: TrainConfig, graphs: Sequence[NodeData]
) -> list[Candidate]:
    """The candidates for these graphs, the one that `fast` would take first.

    A setting other than the default was chosen, so no row changes it; rows that become
    equal count once. A row can need that nodes have one class each ("classes"), that
    edges are judged ("judged") and do not all stay ("gated"), that no share of them is
    asked for ("free"), and that rows of features do not sum to 1 as they are ("rows").
    """
    rule = resolved(model, graphs)
    holds = {
        "classes": not graphs[0].is_multilabel,
        "judged": rule.scorer == "evidence",
        "gated": rule.scorer == "evidence" and rule.judged_edges != "all",
        "free": train.keep is None,
        "rows": not all(_sum_to_1(data.x) for data in graphs),
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
    others = (Candidate(other, *pair) for pair, other in found.items())
    return [Candidate(name, *first), *others]


def shortened(train: TrainConfig, share: float) -> TrainConfig:
    """The settings of a training for a share of the epochs, without snapshots."""
    epochs = max(1, round(share * train.epochs))
    warmup = train.warmup and min(round(share * train.warmup), epochs - 1)
    return dataclasses.replace(train, epochs=epochs, warmup=warmup, snapshots=0)


def standard_error(score: float, num_val: int) -> float:
    """The standard error of a score of so many validation nodes."""
    return math.sqrt(score * (1 - score) / num_val)


def is_hopeless(
    deep: Candidate, scores: Mapping[Candidate, float], num_val: int
) -> bool:
    """Whether all networks of fewer layers are far behind already, of two and of four.

    Networks of many layers take the longest. Where neighbours far away decide, two may
    be at chance and eight ahead; and where networks learn slowly, four may not show yet
    what eight are worth. What others of many layers score does not count.
    """
    seen = {c: score for c, score in scores.items() if c.model.layers <= DEEP_FROM}
    fewer = [
        score for c, score in seen.items() if c.model.readout == deep.model.readout
    ]
    best = max(seen.values(), default=0.0)
    far = FAR_BEHIND * standard_error(best, num_val)
    return deep.model.layers > DEEP_FROM and bool(fewer) and best - max(fewer) > far


def proven(trials: Sequence[Trial], num_val: int) -> list[int]:
    """Places of trials, the best first; deep networks need proof (`DEEP_FROM`)."""
    charged = [
        dataclasses.replace(t, score=t.score - standard_error(t.score, num_val))
        if t.score and t.settings.get("layers", 0) >= DEEP_FROM
        else t
        for t in trials
    ]
    return ranked(charged)


def with_kin(
    left: list[Candidate],
    scored: Sequence[Trial],
    tried: Sequence[Trial],
    table: Sequence[Candidate],
    num_val: int,
) -> list[Candidate]:
    """The finalists; a runner-up far behind gives its place to the leader's kin.

    Kin have the leader's read-out and edges, and its layers (more, if it is deep). Some
    learn slowly and go in the first round: the best of them there comes back.
    """
    last = {trial.name: trial for trial in tried}
    first = {name: trial for name, trial in last.items() if trial.rung == 1}
    scores, is_kin = [trial.score for trial in scored], _is_kin(left[1], left[0])
    kin = [each for each in table if _is_kin(each, left[0]) and each.name in first]
    ahead, behind = (float(score or 0) for score in scores)
    is_far = ahead - behind > FAR_BEHIND * standard_error(ahead, num_val)
    if not kin or is_kin or not is_far or None in scores:
        return left
    return [left[0], kin[ranked([first[each.name] for each in kin])[0]]]


def _is_kin(candidate: Candidate, leader: Candidate) -> bool:
    """Whether a model is the leader before its details; deeper ones learn later."""
    mine, own = candidate.model, leader.model
    depth = mine.layers == own.layers or mine.layers > own.layers >= DEEP_FROM
    alike = mine.readout == own.readout and gates_of(candidate) == gates_of(leader)
    return depth and alike


def gates_of(candidate: Candidate) -> tuple[str, str]:
    """The settings that say which edges a model uses."""
    return candidate.model.scorer, candidate.model.judged_edges


def _sum_to_1(x: Features) -> bool:
    """Whether dividing the rows by their sums changes nothing."""
    before, after = (
        part.value if isinstance(part, SparseFeatures) else part
        for part in (x, normalise_rows(x))
    )
    return torch.allclose(before, after, atol=1e-4)


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
