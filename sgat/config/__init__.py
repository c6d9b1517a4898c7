"""Settings: the one place of every type, default and help text; TOML in and out."""

from sgat.config.data import DataConfig, FileOptions
from sgat.config.sections import Config, ModelConfig, TrainConfig
from sgat.config.shipped import default_config, find_config, shipped_configs

__all__ = [
    "Config",
    "DataConfig",
    "FileOptions",
    "ModelConfig",
    "TrainConfig",
    "default_config",
    "find_config",
    "shipped_configs",
]
