"""Settings as keyword arguments of one call, and such arguments as settings.

Some settings are arguments by name; a table per section, `model` and `train`, holds the
others: `{"hidden": 32, "keep": 0.5, "train": {"ties": "first"}}`.
"""

from collections.abc import Collection, Mapping
from typing import Any

from sgat.config.checked import Settings
from sgat.config.sections import Config, ModelConfig, TrainConfig

SECTIONS: dict[str, type[Settings]] = {"model": ModelConfig, "train": TrainConfig}


def from_arguments(given: Mapping[str, Any]) -> Config:
    """The settings that arguments stand for; None is the default.

    Arguments that are no settings are left alone.
    """
    found: dict[str, Any] = {}
    for name, kind in SECTIONS.items():
        own = {key: given[key] for key in kind.declared() if key in given}
        entries = {**own, **(given[name] or {})}
        chosen = {key: value for key, value in entries.items() if value is not None}
        found[name] = kind.from_dict(chosen, where="SGATClassifier")
    return Config(**found)


def to_arguments(config: Config, names: Collection[str]) -> dict[str, Any]:
    """The arguments of these names that stand for settings.

    What has no name among them stands in the table of its section, unless it is the
    default; an empty table is None.
    """
    found: dict[str, Any] = {}
    for name, kind in SECTIONS.items():
        values, default = vars(getattr(config, name)), vars(kind())
        found |= {key: value for key, value in values.items() if key in names}
        others = {k: v for k, v in values.items() if k not in names and v != default[k]}
        found[name] = others or None
    return found
