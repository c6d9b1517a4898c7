"""The search for a peer's setting: by validation alone, at the cost of six trainings.

candidates   18, dealt so that every value of an axis comes equally often
halving      all for 50 epochs, the best 6 up to 150, the best 2 up to 300
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from sgat_lab.unseen.peers import Kind, PeerSetting
from sgat_lab.unseen.scaling import SCALINGS
from sgat_lab.unseen.training import EPOCHS, PeerTraining

SEARCH_SEED = 100
"""Seed of the split, the noise, the candidates and their weights in a search."""
RUNGS = ((18, 50), (6, 150), (2, EPOCHS))
"""How many candidates are trained, and up to which epoch."""
MOST_NUMBERS = 300_000_000
"""Numbers on edges in a pass, E times width times layers, of a candidate at most."""

_COMMON: dict[str, tuple[Any, ...]] = {
    "dropout": (0.2, 0.5),
    "lr": (0.01, 0.003),
    "scaling": SCALINGS,
}
PLAIN = {**_COMMON, "weight_decay": (0.0, 5e-4, 5e-3), "hidden": (64, 128)}
STRONG = {
    **_COMMON,
    "weight_decay": (0.0, 5e-4),
    "hidden": (64, 128),
    "layers": (2, 4, 8),
    "norm": ("layer", "batch"),
    "drop_input": (False, True),
}
SUPERGAT = {"attention_weight": (0.5, 2.0)}
"""A further axis of SuperGAT."""


class Found(NamedTuple):
    """The setting that a search took, and its validation score."""

    setting: PeerSetting
    val: float


def axes(kind: Kind, *, is_strong: bool) -> dict[str, tuple[Any, ...]]:
    """The values of each entry of a setting that is searched for."""
    found = dict(STRONG if is_strong else PLAIN)
    return found | SUPERGAT if kind == "supergat" else found


def _too_large(setting: PeerSetting, num_edges: int) -> bool:
    has_messages = setting.kind != "mlp"
    return has_messages and num_edges * setting.hidden * setting.layers > MOST_NUMBERS


def candidates(
    kind: Kind, *, is_strong: bool, num_edges: int, number: int, seed: int = SEARCH_SEED
) -> list[PeerSetting]:
    """Settings to try, each value of an axis as often as the others.

    A candidate with too many numbers on edges for a GPU takes the next smaller width
    and depth.
    """
    rng = np.random.default_rng(seed)
    dealt = {
        name: [values[place % len(values)] for place in rng.permutation(number)]
        for name, values in axes(kind, is_strong=is_strong).items()
    }
    found = []
    for entries in zip(*dealt.values(), strict=True):
        given: dict[str, Any] = dict(zip(dealt, entries, strict=True))
        setting = PeerSetting(kind, is_strong, **given)
        while _too_large(setting, num_edges) and setting.hidden > 64:
            setting = dataclasses.replace(setting, hidden=setting.hidden // 2)
        while _too_large(setting, num_edges) and setting.layers > 2:
            setting = dataclasses.replace(setting, layers=setting.layers // 2)
        found.append(setting)
    return list(dict.fromkeys(found))


def search(
    settings: Sequence[PeerSetting],
    start: Callable[[PeerSetting], PeerTraining],
    rungs: Sequence[tuple[int, int]] = RUNGS,
) -> Found:
    """The setting of the best validation score by successive halving.

    Args:
        settings: Candidates.
        start: Begins the training of one.
        rungs: Numbers of candidates and of epochs, in order.
    """
    running = [start(setting) for setting in settings]
    for number, until in rungs:
        running = running[:number]
        for training in running:
            training.run(until)
        running.sort(key=lambda training: training.quality, reverse=True)
    return Found(running[0].setting, running[0].quality[0])
