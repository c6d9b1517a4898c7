"""The arguments of `SGATClassifier` as settings, and settings as its arguments."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from sgat.config import Config
from sgat.training.loop import chosen_device

MODEL_ARGUMENTS = (
    *("hidden", "heads", "layers", "scorer", "readout"),
    *("dropout", "attention_dropout"),
)
"""Arguments that are entries of `ModelConfig`; `model` holds the others."""
TRAIN_ARGUMENTS = (
    *("keep", "l0_weight", "epochs", "lr", "weight_decay"),
    *("patience", "seed", "device"),
)
"""Arguments that are entries of `TrainConfig`; `train` holds the others."""


def to_config(arguments: dict[str, Any]) -> Config:
    """The settings that arguments stand for; None is the default.

    Raises:
        ValueError: If one is unknown, or not of its type or range.
    """
    model = {name: arguments[name] for name in MODEL_ARGUMENTS}
    train = {name: arguments[name] for name in TRAIN_ARGUMENTS}
    train["device"] = str(arguments["device"])
    sections = {
        "model": {**model, **(arguments["model"] or {})},
        "train": {**train, **(arguments["train"] or {})},
    }
    given = {
        section: {key: value for key, value in entries.items() if value is not None}
        for section, entries in sections.items()
    }
    return Config.from_dict(given, where="SGATClassifier")


def to_arguments(config: Config) -> dict[str, Any]:
    """The arguments that stand for settings, on a device that is here."""
    arguments: dict[str, Any] = {
        **{name: getattr(config.model, name) for name in MODEL_ARGUMENTS},
        **{name: getattr(config.train, name) for name in TRAIN_ARGUMENTS},
        "model": _other_settings(config.model, MODEL_ARGUMENTS),
        "train": _other_settings(config.train, TRAIN_ARGUMENTS),
    }
    try:
        chosen_device(config.train.device)
    except ValueError:
        # Trained on a device that this machine does not have.
        arguments["device"] = "auto"
    return arguments


def _other_settings(section: Any, arguments: Sequence[str]) -> dict[str, Any] | None:
    """The settings that are no arguments of the classifier and not the default."""
    default = dataclasses.asdict(type(section)())
    found = {
        name: value
        for name, value in dataclasses.asdict(section).items()
        if name not in arguments and value != default[name]
    }
    return found or None
