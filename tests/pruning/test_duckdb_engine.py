import os
import signal
import threading
import time

import pytest

from sgat.pruning.engine import megabytes, start_engine
from sgat.pruning.stored_table import Destination, open_table


@pytest.fixture
def engine(tmp_path):
    (tmp_path / "scratch").mkdir()
    started = start_engine(
        "duckdb", scratch=tmp_path / "scratch", memory="200MB", master=""
    )
    yield started
    started.close()


def test_ctrl_c_stops_a_query_at_once(engine):
    interrupt = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    interrupt.start()
    start = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        engine.query(
            "SELECT COUNT(*) FROM range(10000000000000) AS r WHERE range % 7 = 3"
        )
    assert time.perf_counter() - start < 60
    assert engine.query("SELECT 1") == [(1,)]


def test_progress_is_told_while_a_query_runs(engine):
    assert engine.progress <= 100


def test_too_little_memory_is_one_sentence(engine):
    with pytest.raises(ValueError, match="ran out of memory or of room on the disk"):
        engine.query("SELECT LENGTH(STRING_AGG(CAST(range AS STRING), ',')) FROM"
                     " range(200000000) AS r")  # fmt: skip


def test_a_file_that_changed_its_columns_is_named(engine, tmp_path):
    path = tmp_path / "edges.csv"
    path.write_text("src,dst\n1,2\n")
    table = open_table(path)
    path.write_text("src,dst\n1\n")
    engine.read("given", table)
    with pytest.raises(ValueError, match=r"edges\.csv: CSV Error on Line: 2"):
        engine.query("SELECT * FROM given")


def test_a_place_that_cannot_be_written_to_is_named(engine, tmp_path):
    out = Destination(tmp_path / "o.csv", "csv", False, False)
    with pytest.raises(OSError, match=r"o\.csv"):
        engine.write("SELECT 1, 2", ["a"], out, tmp_path / "gone" / "o.csv")


@pytest.mark.parametrize(
    ("text", "expected"),
    [("2GB", 2000), ("1.5 gb", 1500), ("1GiB", 1073), ("300MB", 300), ("1TB", 10**6)],
)
def test_sizes_of_memory(text, expected):
    assert megabytes(text) == expected


@pytest.mark.parametrize("text", ["2", "GB", "lots", "-1GB", "99MB", ""])
def test_what_is_no_size_is_refused(text):
    with pytest.raises(ValueError, match="`memory` must be at least 100MB, such as"):
        megabytes(text)
