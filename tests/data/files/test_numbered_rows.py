"""A Parquet file is read in batches, and gives the graph of its table in memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from sgat.config import FileOptions
from sgat.data.files import from_tables, read_graph, stored_edges, with_columns
from sgat.data.files.numbered_rows import MANY_ROWS

M, N = 97, 23


def tables(kind: str) -> tuple[Any, Any]:
    """Edges with duplicates, loops, weights, one more column; nodes in any order."""
    rng = np.random.default_rng(3)
    ids: Any = rng.permutation(5 * N)[:N]
    if kind == "text":
        ids = np.array([f"node {k}" for k in ids])
    src, dst = rng.integers(0, N, (2, M))
    src[:5] = dst[:5]
    src[5:9], dst[5:9] = src[9:13], dst[9:13]
    columns = {"src": ids[src], "dst": ids[dst], "weight": rng.random(M) + 0.5}
    columns["note"] = [f"row {k % 7}" for k in range(M)]
    return pa.table(columns), pa.table({"id": ids, "f": rng.random(N)})


@pytest.mark.parametrize("undirected", [False, True])
@pytest.mark.parametrize("has_nodes", [False, True])
@pytest.mark.parametrize("kind", ["integers", "text"])
def test_a_file_gives_the_graph_of_its_table(
    kind: str,
    has_nodes: bool,
    undirected: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    edges, nodes = tables(kind)
    pq.write_table(edges, tmp_path / "e.parquet", row_group_size=11)
    pq.write_table(nodes, tmp_path / "n.parquet")
    options = FileOptions(undirected=undirected)
    monkeypatch.setattr(stored_edges, "ROWS", 13)
    listed = tmp_path / "n.parquet" if has_nodes else None
    found = read_graph(tmp_path / "e.parquet", listed, options=options)
    due = from_tables(edges, nodes if has_nodes else None, options=options)
    for name in ("src", "dst", "weight", "loop_weight", "input_edge"):
        pair = getattr(found.data.graph, name), getattr(due.data.graph, name)
        assert torch.equal(*pair), name
    assert found.data.ids.tolist() == due.data.ids.tolist()
    assert found.edges.equals(edges)
    value = torch.rand(found.data.graph.num_edges)
    given = {"value": value}, {"value": 2.0}
    assert with_columns(found, *given).equals(with_columns(due, *given))


@pytest.mark.parametrize(
    ("row", "column", "value", "told"),
    [
        (40, "dst", None, "e.parquet, row 40, column 'dst': the id is missing"),
        (41, "src", -7, "e.parquet, row 41, column 'src': -7 is not an id of"),
        (96, "weight", -1.0, "e.parquet, row 96, column 'weight': must be a number"),
    ],
)
def test_a_bad_row_is_named(
    row: int,
    column: str,
    value: Any,
    told: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    edges, nodes = tables("integers")
    values = edges.column(column).to_pylist()
    values[row] = value
    place = edges.column_names.index(column)
    edges = edges.set_column(place, column, pa.array(values))
    pq.write_table(edges, tmp_path / "e.parquet")
    pq.write_table(nodes, tmp_path / "n.parquet")
    monkeypatch.setattr(stored_edges, "ROWS", 13)
    with pytest.raises(ValueError) as error:
        read_graph(tmp_path / "e.parquet", tmp_path / "n.parquet")
    assert told in str(error.value)


def test_rows_of_a_file_that_changed_are_refused(tmp_path: Path) -> None:
    edges, nodes = tables("integers")
    path = tmp_path / "e.parquet"
    pq.write_table(edges, path)
    pq.write_table(nodes, tmp_path / "n.parquet")
    graph = read_graph(path, tmp_path / "n.parquet")
    pq.write_table(edges.slice(1), path)
    with pytest.raises(ValueError, match=r"e\.parquet: the file was changed"):
        with_columns(graph, {"value": torch.rand(graph.data.graph.num_edges)}, {})


@pytest.mark.gpu
def test_a_large_graph_is_put_together_on_the_gpu(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert MANY_ROWS > M
    edges, nodes = tables("integers")
    pq.write_table(edges, tmp_path / "e.parquet")
    pq.write_table(nodes, tmp_path / "n.parquet")
    files = tmp_path / "e.parquet", tmp_path / "n.parquet"
    here = read_graph(*files, device=torch.device("cuda")).data.graph
    monkeypatch.setattr("sgat.data.files.numbered_rows.MANY_ROWS", 1)
    there = read_graph(*files, device=torch.device("cuda")).data.graph
    assert here.device.type == "cpu" and there.device.type == "cuda"
    for name in ("src", "dst", "weight", "loop_weight", "input_edge"):
        assert torch.equal(getattr(here, name), getattr(there, name).cpu()), name
