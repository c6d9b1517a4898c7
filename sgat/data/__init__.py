"""Data by name, from files, or made to measure."""

from __future__ import annotations

from collections.abc import Callable

from sgat.data.node_data import NodeData, check

__all__ = ["NodeData", "check", "load"]


def _karate() -> list[NodeData]:
    from sgat.data.karate import load_karate

    return [load_karate()]


LOADERS: dict[str, Callable[[], list[NodeData]]] = {"karate": _karate}


def load(name: str) -> list[NodeData]:
    """Load a named data set: one graph, or several in the inductive setting.

    Raises:
        ValueError: If the name is unknown; the message lists the names.
    """
    if name not in LOADERS:
        raise ValueError(
            f"Unknown data set {name!r}; choose one of {', '.join(sorted(LOADERS))}."
        )
    return LOADERS[name]()
