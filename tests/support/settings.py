"""Settings that tests share."""

from typing import Any

from sgat.config import ModelConfig


def paper_model(**entries: Any) -> ModelConfig:
    """The paper's gates and read-out, where tests must not depend on the data."""
    return ModelConfig(**{"scorer": "additive", "readout": "linear", **entries})
