"""DuckDB, embedded: one machine, any size, original order."""

import concurrent.futures
import contextlib
import errno
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import duckdb
import numpy as np

from sgat.pruning.stored_table import Destination, StoredTable

BATCH = 1 << 20
"""Rows that are fetched at a time."""
ROW_GROUP = 122_880
MOST_ROWS = 2**40
"""Rows that one file has at most."""
GLOB = re.compile(r"[*?\[{}]")
FILE_SIZE = "512MB"
"""How large one file of a folder may get."""
PATIENCE = 0.1
"""Seconds between two looks for Ctrl-C."""
Array = np.ndarray[Any, Any]
Result = TypeVar("Result")


class DuckDB:
    """An embedded database of so many megabytes; `Spark` has the same methods.

    Rows are written in the order of the input: joins lose it, so the rows that stay are
    sorted by their place in the end, in the folder `scratch` where they do not fit into
    memory. `write` expects the column `place` as the last one of its query.
    """

    place: str | None = "place"  # None if rows come in any order

    def __init__(self, scratch: Path, memory: int) -> None:
        self.reads: Path | None = None
        self.connection = duckdb.connect()
        for setting in (
            f"memory_limit = '{memory}MB'",
            f"temp_directory = {_text(scratch / 'spill')}",
            "preserve_insertion_order = true",
            "enable_progress_bar = true",
            "enable_progress_bar_print = false",
            # The number of rows of a text table is not known, and taken for small.
            "disabled_optimizers = 'join_order,build_side_probe_side'",
        ):
            self.connection.execute(f"SET {setting}")

    @property
    def progress(self) -> float:
        """Share of the running query that is done, in percent; -1 if not known."""
        return float(self.connection.query_progress())

    def read(self, name: str, table: StoredTable) -> None:
        """Name a stored table; its columns are c0, c1 and so on."""
        # Letters that stand for others mean themselves in brackets.
        paths = (GLOB.sub(r"[\g<0>]", str(file.absolute())) for file in table.files)
        files = ", ".join(map(_text, paths))
        if table.format == "parquet":
            names = ", ".join(
                f"{_name(c)} AS c{k}" for k, c in enumerate(table.columns)
            )
            is_hive = "true" if table.partitions else "false"
            rows = (
                f"SELECT {names}, CAST(file_index AS BIGINT) * {MOST_ROWS} +"
                f" file_row_number AS place FROM read_parquet([{files}],"
                f" hive_partitioning = {is_hive}, hive_types_autocast = false)"
            )
        else:
            kinds = ", ".join(f"'c{k}': 'VARCHAR'" for k in range(len(table.columns)))
            rows = (
                f"SELECT *, ROW_NUMBER() OVER () AS place FROM read_csv({files},"
                " auto_detect = false, header = true,"
                f" delim = {_text(table.delimiter)}, quote = '\"', escape = '\"',"
                f" columns = {{{kinds}}}, nullstr = '', allow_quoted_nulls = false)"
            )
        self.reads = self.reads or table.path
        self._execute(f"CREATE VIEW {name} AS {rows}", table.path)

    def add(self, name: str, table: Any) -> None:
        """Name a `pyarrow.Table` in memory."""
        self.connection.register("added", table)
        self._execute(f"CREATE TEMP TABLE {name} AS SELECT * FROM added")
        self.connection.unregister("added")

    def define(self, name: str, query: str) -> None:
        """Name a query; it runs whenever it is used."""
        self._execute(f"CREATE OR REPLACE TEMP VIEW {name} AS {query}")

    def store(self, name: str, query: str) -> None:
        """Name the rows of a query; it runs once."""
        self._execute(f"CREATE TEMP TABLE {name} AS {query}")

    def drop(self, name: str) -> None:
        """Let go of stored rows."""
        self.connection.execute(f"DROP TABLE {name}")

    def query(self, query: str) -> list[tuple[Any, ...]]:
        """The rows of a query that has few."""
        with _sentences(self.reads):
            return self._wait(lambda: self.connection.execute(query).fetchall())

    def batches(self, query: str) -> Iterator[tuple[Array, ...]]:
        """The columns of a query that has many rows, some rows at a time."""
        with _sentences(self.reads):
            for batch in self.connection.sql(query).to_arrow_reader(BATCH):
                yield tuple(
                    column.to_numpy(zero_copy_only=False) for column in batch.columns
                )

    def write(self, query: str, names: list[str], to: Destination, at: Path) -> None:
        """Write the rows of a query to the path `at` as `to` says, columns renamed."""
        inner = ", ".join(f"o{place}" for place in range(len(names)))
        outer = ", ".join(f"o{k} AS {_name(name)}" for k, name in enumerate(names))
        if to.format == "parquet":
            how = f"FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE {ROW_GROUP}"
            if to.is_folder:
                how += f", FILE_SIZE_BYTES '{FILE_SIZE}'"
        else:
            how = (
                f"FORMAT csv, HEADER, DELIMITER {_text(to.delimiter)},"
                f" COMPRESSION {to.compression or 'none'}"
            )
        rows = f"SELECT {outer} FROM ({query}) AS rows({inner}, place) ORDER BY place"
        self._execute(f"COPY ({rows}) TO {_text(at)} ({how})", to.path)

    def close(self) -> None:
        """End it."""
        self.connection.close()

    def _execute(self, statement: str, path: Path | None = None) -> None:
        """Run a statement; an error is about this path, or the first that was read."""
        with _sentences(path or self.reads):
            self._wait(lambda: self.connection.execute(statement))

    def _wait(self, work: Callable[[], Result]) -> Result:
        """The result of work in a thread; Ctrl-C stops it at once, not at its end."""
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            done = pool.submit(work)
            try:
                while not done.done():
                    concurrent.futures.wait([done], PATIENCE)
            except KeyboardInterrupt:
                self.connection.interrupt()
                raise
            return done.result()


def _name(column: str) -> str:
    return '"' + column.replace('"', '""') + '"'


def _text(value: str | Path) -> str:
    return "'" + str(value).replace("'", "''") + "'"


@contextlib.contextmanager
def _sentences(path: Path | None) -> Iterator[None]:
    """Turn an error of the database into one sentence about the file."""
    try:
        yield
    except RuntimeError as error:
        # How DuckDB reports Ctrl-C while rows are fetched.
        if "interrupted" in str(error):
            raise KeyboardInterrupt from error
        raise
    except duckdb.OutOfMemoryException as error:
        raise ValueError(
            "The engine ran out of memory or of room on the disk; raise `memory`, or"
            f" write to a disk with more room ({_first_line(error)})."
        ) from error
    except duckdb.IOException as error:
        where = "" if path is None else str(path)
        raise OSError(errno.EIO, _first_line(error), where) from error
    except duckdb.Error as error:
        where = "" if path is None else f"{path}: "
        raise ValueError(f"{where}{_first_line(error)}.") from error


def _first_line(error: BaseException) -> str:
    """The message of the database in one line; of a text table with line and cells."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    wanted = 3 if "CSV Error" in lines[0] else 1
    return " ".join(lines[:wanted]).partition("Error: ")[2].rstrip(".")
