"""A file damaged anywhere is read or refused in a sentence, never anything else."""

from __future__ import annotations

import contextlib
import io
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sgat.data.files import from_tables, read_graph, write_graph

FORMATS = ["csv", "tsv", "parquet", "npz", "mtx", "graphml"]


def valid(format: str) -> bytes:
    edges = pa.table({"src": [1, 2, 3], "dst": [2, 3, 1], "weight": [0.5, 1.0, 2.0]})
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"e.{format}"
        write_graph(from_tables(edges), path)
        return path.read_bytes()


CONTENT = {format: valid(format) for format in FORMATS}


def damaged(content: bytes, changes: list[tuple[float, bytes]], cut: float) -> bytes:
    for place, new in changes:
        start = int(place * len(content))
        content = content[:start] + new + content[start + len(new) :]
    return content[: int(cut * len(content)) + 1]


PLACE = st.floats(0, 1)
CHANGES = st.lists(st.tuples(PLACE, st.binary(min_size=1, max_size=4)), max_size=3)


def check(format: str, changes: Any, cut: float) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"e.{format}"
        path.write_bytes(damaged(CONTENT[format], changes, cut))
        with contextlib.suppress(ValueError):
            read_graph(path)


@pytest.mark.parametrize("format", FORMATS)
@settings(max_examples=100, deadline=None)
@given(changes=CHANGES, cut=st.one_of(st.just(1.0), PLACE))
def test_damage_is_refused_or_harmless(format: str, changes: Any, cut: float) -> None:
    check(format, changes, cut)


@pytest.mark.slow
@pytest.mark.parametrize("format", FORMATS)
@settings(max_examples=5000, deadline=None)
@given(changes=CHANGES, cut=st.one_of(st.just(1.0), PLACE))
def test_much_damage_is_refused_or_harmless(
    format: str, changes: Any, cut: float
) -> None:
    check(format, changes, cut)


@settings(max_examples=200, deadline=None)
@given(header=st.text(st.sampled_from("{}(),'descr<i8: fortran_order10"), max_size=60))
def test_damaged_array_header_is_refused(header: str) -> None:
    import zipfile

    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        text = header.encode()
        size = len(text).to_bytes(2, "little")
        archive.writestr("src.npy", b"\x93NUMPY\x01\x00" + size + text + bytes(8))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "e.npz"
        path.write_bytes(buffer.getvalue())
        with pytest.raises(ValueError, match="not a NumPy array"):
            read_graph(path)


def test_readable_content_is_what_gets_damaged(tmp_path: Path) -> None:
    for format, content in CONTENT.items():
        path = tmp_path / f"e.{format}"
        path.write_bytes(content)
        assert np.array_equal(read_graph(path).data.node_ids, [1, 2, 3])
