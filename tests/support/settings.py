"""Settings that tests share."""

from pathlib import Path
from typing import Any

from sgat.config import DataConfig, FileOptions, ModelConfig, TrainConfig
from sgat.runs.request import Request

SECTIONS = {
    **{"data": DataConfig, "files": FileOptions},
    **{"model": ModelConfig, "train": TrainConfig},
}


def paper_model(**entries: Any) -> ModelConfig:
    """The paper's gates and read-out, where tests must not depend on the data."""
    return ModelConfig(**{"scorer": "additive", "readout": "linear", **entries})


def request_for(given: dict[str, Any]) -> Request:
    """A request from settings by their names, which say their sections.

    One candidate is trained and nothing is searched, unless `fast` is given.
    """
    given = {"fast": True, **given}
    sections = {
        section: {name: given[name] for name in kind.declared() if name in given}
        for section, kind in SECTIONS.items()
    }
    places = {name: Path(given[name]) for name in ("out", "pruned") if name in given}
    return Request(**sections, **places)
