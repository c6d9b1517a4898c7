"""Engine: DuckDB or Spark, which run the relational expression."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np

from sgat.pruning.stored_table import Destination, StoredTable

EngineName = Literal["duckdb", "spark"]
Array = np.ndarray[Any, Any]


class Engine(Protocol):
    """A database that reads, joins and writes tables larger than memory.

    Attributes:
        place: Column of a table that was read with the place of each row, by which rows
            are written; `write` expects it as the last column of the query. None if
            rows come in any order.
    """

    place: str | None

    def read(self, name: str, table: StoredTable) -> None:
        """Name a stored table; its columns are c0, c1 and so on."""

    def add(self, name: str, table: Any) -> None:
        """Name a `pyarrow.Table` in memory."""

    def define(self, name: str, query: str) -> None:
        """Name a query; it runs whenever it is used."""

    def store(self, name: str, query: str) -> None:
        """Name the rows of a query; it runs once."""

    def drop(self, name: str) -> None:
        """Let go of stored rows."""

    def query(self, query: str) -> list[tuple[Any, ...]]:
        """The rows of a query that has few."""

    def batches(self, query: str) -> Iterator[tuple[Array, ...]]:
        """The columns of a query that has many rows, some rows at a time."""

    def write(self, query: str, names: list[str], to: Destination, at: Path) -> None:
        """Write the rows of a query to the path `at` as `to` says, columns renamed."""

    def close(self) -> None:
        """End it."""


def start_engine(
    name: EngineName, *, scratch: Path, memory: str, master: str
) -> Engine:
    """Start an engine.

    Args:
        name: "duckdb", embedded, or "spark", local or a cluster.
        scratch: A folder for what does not fit into memory.
        memory: The most memory to use, such as 2GB.
        master: The Spark master.

    Raises:
        ValueError: If the name is none of these, or the engine cannot start.
        ImportError: If the package of Spark is not installed; one sentence.
    """
    limit = megabytes(memory)
    if name == "duckdb":
        from sgat.pruning.duckdb_engine import DuckDB

        return DuckDB(scratch, limit)
    if name != "spark":
        raise ValueError(f"`engine` must be duckdb or spark, got {name!r}.")
    if importlib.util.find_spec("pyspark") is None:
        raise ImportError(
            "`engine` spark needs the package pyspark; install it with"
            " `pip install sgat[spark]`."
        )
    from sgat.pruning.spark_engine import Spark

    return Spark(scratch, limit, master)


def megabytes(memory: str) -> int:
    """The number of megabytes in a text such as 2GB, 1.5GiB or 900MB.

    Raises:
        ValueError: If it is no such text, or less than 100 MB.
    """
    units = {"MB": 1.0, "MIB": 1.048576, "GB": 1e3, "GIB": 1073.741824, "TB": 1e6}
    text = memory.strip().upper()
    number = text.rstrip("BGIMT")
    try:
        found = int(float(number) * units[text[len(number) :]])
    except (KeyError, ValueError):
        found = 0
    if found < 100:
        raise ValueError(
            f"`memory` must be at least 100MB, such as 2GB, got {memory!r}."
        )
    return found
