"""Start DuckDB or Spark, which run the relational expression.

Tested in tests/pruning/test_duckdb_engine.py.
"""

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from sgat.config.pruning import EngineName

if TYPE_CHECKING:
    from sgat.pruning.duckdb_engine import DuckDB
    from sgat.pruning.spark_engine import Spark

Engine: TypeAlias = "DuckDB | Spark"
"""A database that reads, joins and writes tables larger than memory."""
Tell = Callable[[str], None]
"""Called with the name of each stage."""


def start_engine(
    name: EngineName, *, scratch: Path, memory: str, master: str
) -> Engine:
    """Start an engine; the folder `scratch` takes what does not fit into memory."""
    limit = megabytes(memory)
    if name == "duckdb":
        from sgat.pruning.duckdb_engine import DuckDB

        return DuckDB(scratch, limit)
    if importlib.util.find_spec("pyspark") is None:
        raise ImportError(
            "`engine` spark needs the package pyspark; install it with"
            " `pip install sgat[spark]`."
        )
    from sgat.pruning.spark_engine import Spark

    return Spark(scratch, limit, master)


def megabytes(memory: str) -> int:
    """The number of megabytes in a text such as 2GB, 1.5GiB or 900MB, at least 100."""
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
