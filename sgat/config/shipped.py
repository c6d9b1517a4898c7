"""Configs by name: the files in `paper/` and `tuned/` beside this one."""

from pathlib import Path

from sgat.config.data import DataConfig
from sgat.config.sections import Config

FOLDER = Path(__file__).parent


def find_config(name: str) -> Config:
    """A config file by path, or a shipped one by name, such as "paper/cora"."""
    if Path(name).suffix == ".toml":
        return Config.from_toml(Path(name))
    if name not in shipped_configs():
        raise ValueError(
            f"Unknown config {name!r}; give a .toml file or one of"
            f" {', '.join(shipped_configs())}."
        )
    return Config.from_toml(FOLDER / f"{name}.toml")


def shipped_configs() -> list[str]:
    """Names of the config files in the package that `find_config` takes."""
    return sorted(f"{file.parent.name}/{file.stem}" for file in FOLDER.glob("*/*.toml"))


def default_config(data_name: str) -> Config:
    """The tuned config shipped for a data set, or the defaults."""
    if f"tuned/{data_name}" in shipped_configs():
        return find_config(f"tuned/{data_name}")
    return Config(data=DataConfig(name=data_name))
