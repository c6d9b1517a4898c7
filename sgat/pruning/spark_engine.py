"""Spark: local, or a cluster whose machines see the same folders."""

import contextlib
import os
import re
import shutil
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet

from sgat.pruning.stored_table import Destination, StoredTable

BATCH = 1 << 20
"""Rows that are fetched at a time."""
CSV = {"quote": '"', "escape": '"', "nullValue": "", "emptyValue": '""'}
GLOB = re.compile(r"[*?\[\]{}\\]")
Array = np.ndarray[Any, Any]


class Spark:
    """See `sgat.pruning.duckdb_engine.DuckDB`; rows come in any order.

    `memory` is that of the driver. An error if Java is missing or the `master`, such as
    local[2] or spark://host:7077, does not answer.
    """

    place: str | None = None

    def __init__(self, scratch: Path, memory: int, master: str) -> None:
        self.scratch = scratch
        settings = {
            "spark.driver.memory": f"{memory}m",
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            # A folder named 01 keeps its zero, as with the other engine.
            "spark.sql.sources.partitionColumnTypeInference.enabled": "false",
            "spark.sql.session.timeZone": "UTC",
            "spark.local.dir": str(scratch.absolute()),
        }
        if master.startswith("local"):
            settings["spark.driver.host"] = "127.0.0.1"
            settings["spark.driver.bindAddress"] = "127.0.0.1"
            settings["spark.sql.shuffle.partitions"] = "8"
        self.session = _start(master, settings)
        self.reads: Path | None = None
        self.stored: dict[str, Any] = {}
        self.files: dict[str, Path] = {}

    def read(self, name: str, table: StoredTable) -> None:
        """Name a stored table; its columns are c0, c1 and so on."""
        reader = self.session.read
        self.reads = self.reads or table.path
        if table.files[0].name.startswith(("_", ".")):
            raise ValueError(
                f"{table.path}: Spark skips files whose names begin with a dot or an"
                " underscore; rename it, or use `engine` duckdb."
            )
        files = [_plain(file) for file in table.files]
        with _sentences(table.path):
            if table.format == "parquet":
                if table.path.is_dir():
                    reader = reader.option("basePath", str(table.path.absolute()))
                frame = reader.parquet(*files).select(
                    *(f"`{column.replace('`', '``')}`" for column in table.columns)
                )
            else:
                options = {**CSV, "header": True, "sep": table.delimiter}
                options |= {"multiLine": True, "enforceSchema": True}
                options["mode"] = "FAILFAST"
                kinds = ", ".join(f"c{k} STRING" for k in range(len(table.columns)))
                frame = reader.schema(kinds).options(**options).csv(files)
            names = (f"c{place}" for place in range(len(table.columns)))
            frame.toDF(*names).createOrReplaceTempView(name)

    def add(self, name: str, table: Any) -> None:
        """Name a `pyarrow.Table` in memory."""
        path = self.scratch / f"{name}.parquet"
        pyarrow.parquet.write_table(table, path)
        frame = self.session.read.parquet(_plain(path))
        frame.createOrReplaceTempView(name)

    def define(self, name: str, query: str) -> None:
        """Name a query; it runs whenever it is used."""
        with _sentences(self.reads):
            self.session.sql(query).createOrReplaceTempView(name)

    def store(self, name: str, query: str) -> None:
        """Name the rows of a query; it runs once."""
        with _sentences(self.reads):
            frame = self.session.sql(query).persist()
            frame.createOrReplaceTempView(name)
        self.stored[name] = frame

    def drop(self, name: str) -> None:
        """Let go of stored rows."""
        self.stored.pop(name).unpersist()

    def query(self, query: str) -> list[tuple[Any, ...]]:
        """The rows of a query that has few."""
        with _sentences(self.reads):
            return [tuple(row) for row in self.session.sql(query).collect()]

    def batches(self, query: str) -> Iterator[tuple[Array, ...]]:
        """The columns of a query that has many rows, some rows at a time."""
        import pyarrow.dataset

        if query not in self.files:
            path = self.scratch / f"batches-{len(self.files)}"
            with _sentences(self.reads):
                self.session.sql(query).write.parquet(str(path.absolute()))
            self.files[query] = path
        stored = pyarrow.dataset.dataset(self.files[query], format="parquet")
        for batch in stored.to_batches(batch_size=BATCH):
            yield tuple(
                column.to_numpy(zero_copy_only=False) for column in batch.columns
            )

    def write(self, query: str, names: list[str], to: Destination, at: Path) -> None:
        """Write the rows of a query to the path `at` as `to` says, columns renamed."""
        folder = at if to.is_folder else self.scratch / "written"
        with _sentences(to.path):
            frame = self.session.sql(query).toDF(*names)
            writer = (frame if to.is_folder else frame.coalesce(1)).write
            place = str(folder.absolute())
            if to.format == "parquet":
                writer.option("compression", "zstd").parquet(place)
            else:
                options = {**CSV, "header": True, "sep": to.delimiter}
                if to.compression is not None:
                    options["compression"] = to.compression
                writer.options(**options).csv(place)
        parts = [file for file in folder.iterdir() if file.name.startswith("part-")]
        if to.is_folder:
            for file in folder.iterdir():
                if file not in parts:
                    file.unlink()
        else:
            # Rows fit one partition, so there is one file.
            [part] = parts
            shutil.move(part, at)

    def close(self) -> None:
        """End it."""
        for frame in self.stored.values():
            frame.unpersist()
        self.session.stop()


def _plain(path: Path) -> str:
    """The path, so that letters that stand for others mean themselves."""
    return GLOB.sub(r"\\\g<0>", str(path.absolute()))


def _start(master: str, settings: dict[str, str]) -> Any:
    """A session whose Java machine keeps its messages to itself."""
    with warnings.catch_warnings():
        # PySpark warns of pandas 3, of which nothing is used here.
        warnings.simplefilter("ignore")
        from pyspark.errors import PySparkException
        from pyspark.sql import SparkSession

        builder = SparkSession.builder.master(master).appName("sgat prune")
        for name, value in settings.items():
            builder = builder.config(name, value)
        with tempfile.TemporaryFile() as log:
            try:
                with _errors_to(log.fileno()):
                    session = builder.getOrCreate()
            except (PySparkException, RuntimeError, OSError) as error:
                log.seek(0)
                said = log.read().decode(errors="replace").strip().splitlines()
                reason = said[-1] if said else str(error).splitlines()[0]
                raise ValueError(
                    f"Spark does not start on `master` {master}; it needs Java 17 and"
                    f" a master that answers ({reason.rstrip('.')})."
                ) from error
    session.sparkContext.setLogLevel("OFF")
    return session


@contextlib.contextmanager
def _errors_to(number: int) -> Iterator[None]:
    """Standard error of this process, and of those it starts, to another file."""
    sys.stderr.flush()
    before = os.dup(2)
    os.dup2(number, 2)
    try:
        yield
    finally:
        os.dup2(before, 2)
        os.close(before)


@contextlib.contextmanager
def _sentences(path: Path | None = None) -> Iterator[None]:
    """Turn an error of Spark into one sentence about the file."""
    from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
    from pyspark.errors import PySparkException

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except (PySparkException, Py4JJavaError) as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        where = "" if path is None else f"{path}: "
        raise ValueError(f"{where}Spark failed ({lines[0].rstrip('.')}).") from error
