"""Settings: the one place of every type, default and help text; TOML in and out."""

from sgat.config.sections import Config, DataConfig, ModelConfig, TrainConfig
from sgat.config.shipped import default_config, find_config, shipped_configs

__all__ = [
    "Config",
    "DataConfig",
    "ModelConfig",
    "TrainConfig",
    "default_config",
    "find_config",
    "shipped_configs",
]
