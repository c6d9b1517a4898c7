from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
import torch
from support.tables import WEIGHTED

from sgat.data.files import FileOptions, from_tables, read_graph, write_graph


def test_numpy_and_pyg_arrays_are_read(tmp_path: Path) -> None:
    index = np.array([[3, 1, 2], [1, 2, 2]])
    np.savez_compressed(tmp_path / "e.npz", edge_index=index, weight=[0.5, 2.0, 1.0])
    np.savez(
        tmp_path / "n.npz",
        id=np.array([1, 2, 3], ">i4"),
        x=np.asfortranarray([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]),
        y=np.array([b"p", b"q", b"p"]),
    )
    graph = read_graph(
        tmp_path / "e.npz", tmp_path / "n.npz", options=FileOptions(label="y")
    )
    expected = from_tables(WEIGHTED).data.graph
    assert torch.equal(graph.data.graph.edge_index, expected.edge_index)
    assert graph.data.x.tolist() == [[1, 2], [3, 4], [5, 6]]
    assert graph.data.classes == ("p", "q")


def test_missing_values_survive_npz(tmp_path: Path) -> None:
    table = WEIGHTED.append_column("n", pa.array([1, None, 3]))
    table = table.append_column("s", pa.array([None, "", "x"]))
    table = table.append_column("b", pa.array([True, None, False]))
    write_graph(from_tables(table), tmp_path / "e.npz")
    assert read_graph(tmp_path / "e.npz").edges.equals(table)


def test_equal_tables_are_equal_npz_files(tmp_path: Path) -> None:
    for name in ("a.npz", "b.npz"):
        write_graph(from_tables(WEIGHTED), tmp_path / name)
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
    with np.load(io.BytesIO((tmp_path / "a.npz").read_bytes())) as arrays:
        assert sorted(arrays) == ["dst", "src", "weight"]


def test_text_of_parquet_that_is_no_utf_8_is_refused(tmp_path: Path) -> None:
    ends = [None, pa.py_buffer(np.array([0, 1, 3], np.int32)), pa.py_buffer(b"an\xff")]
    ids = pa.Array.from_buffers(pa.string(), 2, ends)
    table = pa.table({"src": ids, "dst": ids})
    pyarrow.parquet.write_table(table, tmp_path / "e.parquet")
    with pytest.raises(ValueError, match=r"e\.parquet: the Parquet file .* UTF8"):
        read_graph(tmp_path / "e.parquet")
