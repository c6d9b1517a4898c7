"""Files that other programs write are read as those programs mean them."""

from __future__ import annotations

import io
from pathlib import Path

import networkx as nx
import numpy as np
import pyarrow as pa
import pytest
import scipy.io
import scipy.sparse
import torch

from sgat.data.files import FileOptions, from_tables, read_graph, write_graph

EDGES = pa.table({"src": [3, 1, 2], "dst": [1, 2, 2], "weight": [0.5, 2.0, 1.0]})


def test_byte_order_mark_and_blank_lines_are_skipped(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_bytes(b"\xef\xbb\xbfsrc,dst\r\n\r\na,b\r\n\r\nb,c\r\n")
    assert len(read_graph(tmp_path / "e.csv").edges) == 2


def test_line_of_a_fault_counts_lines_inside_quotes(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text('src,dst,weight\na,"two\nlines",1\n\nb,c,-1\n')
    with pytest.raises(ValueError, match=r"e\.csv, line 5, column 'weight'"):
        read_graph(tmp_path / "e.csv")


def test_quoted_empty_cell_is_not_a_missing_one(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text('src,dst,k\na,b,""\nb,c,\n')
    assert read_graph(tmp_path / "e.csv").edges.column("k").to_pylist() == ["", None]


def test_long_row_fits(tmp_path: Path) -> None:
    width = 30_000
    names = ",".join(f"column{i}" for i in range(width))
    (tmp_path / "e.csv").write_text("src,dst\na,b\n")
    values = ",".join("1234567.125" for _ in range(width))
    (tmp_path / "n.csv").write_text(f"id,{names}\na,{values}\nb,{values}\n")
    paths = tmp_path / "e.csv", tmp_path / "n.csv"
    options = FileOptions(features=("column7",))
    assert read_graph(*paths, options=options).data.x.tolist() == [[1234567.125]] * 2
    with pytest.raises(ValueError, match=r"'column18' and 29981 more\.$"):
        read_graph(*paths, options=FileOptions(features=("missing",)))


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
    expected = from_tables(EDGES).data.graph
    assert torch.equal(graph.data.graph.edge_index, expected.edge_index)
    assert graph.data.x.tolist() == [[1, 2], [3, 4], [5, 6]]
    assert graph.data.classes == ("p", "q")


def test_missing_values_survive_npz(tmp_path: Path) -> None:
    table = EDGES.append_column("n", pa.array([1, None, 3]))
    table = table.append_column("s", pa.array([None, "", "x"]))
    table = table.append_column("b", pa.array([True, None, False]))
    write_graph(from_tables(table), tmp_path / "e.npz")
    assert read_graph(tmp_path / "e.npz").edges.equals(table)


@pytest.mark.parametrize("format", ["csv", "graphml", "npz"])
def test_nan_and_infinity_survive(tmp_path: Path, format: str) -> None:
    table = EDGES.append_column("f", pa.array([float("inf"), float("nan"), None]))
    write_graph(from_tables(table), tmp_path / f"e.{format}")
    found = read_graph(tmp_path / f"e.{format}").edges.column("f").to_pylist()
    assert [float(found[0]), *map(str, found[1:])] in (
        [float("inf"), "None", "None"],
        [float("inf"), "nan", "nan"],
    )


def test_scipy_reads_and_writes_the_same_matrix(tmp_path: Path) -> None:
    graph = from_tables(EDGES)
    write_graph(graph, tmp_path / "ours.mtx")
    matrix = scipy.io.mmread(tmp_path / "ours.mtx").toarray()
    assert matrix.tolist() == [[0, 2, 0], [0, 1, 0], [0.5, 0, 0]]
    scipy.io.mmwrite(tmp_path / "theirs.mtx", scipy.sparse.coo_array(matrix))
    theirs = read_graph(tmp_path / "theirs.mtx").data.graph
    assert torch.equal(theirs.edge_index, graph.data.graph.edge_index)
    assert torch.equal(theirs.edge_weight, graph.data.graph.edge_weight)


def test_symmetric_matrix_is_undirected(tmp_path: Path) -> None:
    matrix = scipy.sparse.coo_array([[0, 2, 0], [2, 0, 1], [0, 1, 4]])
    scipy.io.mmwrite(tmp_path / "s.mtx", matrix, symmetry="symmetric")
    graph = read_graph(tmp_path / "s.mtx")
    assert graph.undirected and len(graph.edges) == 3
    assert graph.data.graph.edge_index.tolist() == [[1, 0, 2, 1], [0, 1, 1, 2]]
    assert graph.data.graph.edge_weight.tolist() == [2, 2, 1, 1]
    assert graph.data.graph.loop_weights.tolist() == [1, 1, 4]
    write_graph(graph, tmp_path / "again.mtx")
    again = scipy.io.mmread(tmp_path / "again.mtx").toarray()
    assert again.tolist() == matrix.toarray().tolist()


def test_pattern_matrix_keeps_nodes_without_entries(tmp_path: Path) -> None:
    (tmp_path / "p.mtx").write_text(
        "%%MatrixMarket matrix coordinate pattern general\n% note\n\n5 5 1\n 4  2\n"
    )
    data = read_graph(tmp_path / "p.mtx").data
    assert data.graph.weight is None
    assert list(data.node_ids) == [1, 2, 3, 4, 5]
    assert data.graph.edge_index.tolist() == [[3], [1]]


@pytest.mark.parametrize("directed", [True, False])
def test_networkx_graphml_keeps_attributes_and_direction(
    tmp_path: Path, directed: bool
) -> None:
    given = nx.DiGraph() if directed else nx.Graph()
    given.add_node("lone", colour="red", size=1)
    given.add_node("a", size=2, y="p")
    given.add_node("b", size=3, y="q", colour="blue")
    given.add_edge("a", "b", weight=0.5, seen=True)
    nx.write_graphml(given, tmp_path / "g.graphml")
    options = FileOptions(label="y", drop=("colour",))
    graph = read_graph(tmp_path / "g.graphml", options=options)
    assert graph.undirected is not directed
    assert list(graph.data.node_ids) == ["lone", "a", "b"]
    assert graph.data.graph.num_edges == (1 if directed else 2)
    assert graph.data.x.tolist() == [[1], [2], [3]]
    assert graph.data.y.tolist() == [-1, 0, 1]
    assert graph.nodes is not None
    assert graph.nodes.column("colour").to_pylist() == ["red", None, "blue"]
    assert graph.edges.column("seen").to_pylist() == [True]


def test_graphml_defaults_fill_what_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "g.graphml").write_text(
        "<graphml><key id='w' for='edge' attr.name='weight' attr.type='double'>"
        "<default>2.5</default></key><key id='d' for='node' yfiles.type='x'/>"
        "<graph edgedefault='directed'><node id='a'><data key='d'><g>1</g></data>"
        "</node><node id='b'/><edge source='a' target='b'/></graph></graphml>"
    )
    graph = read_graph(tmp_path / "g.graphml")
    assert graph.data.graph.edge_weight.tolist() == [2.5]
    assert graph.nodes is not None and graph.nodes.column_names == ["id"]


def test_node_file_replaces_the_attributes_of_graphml(tmp_path: Path) -> None:
    nodes = pa.table({"id": [1, 2, 3], "f": [1.0, 2.0, 3.0]})
    write_graph(from_tables(EDGES, nodes), tmp_path / "g.graphml")
    (tmp_path / "n.csv").write_text("id,g\n3,9\n2,8\n1,7\n")
    data = read_graph(tmp_path / "g.graphml", tmp_path / "n.csv").data
    assert data.x.tolist() == [[9], [8], [7]]
    assert list(data.node_ids) == [3, 2, 1]


def test_vectors_are_spread_over_columns_of_text_formats(tmp_path: Path) -> None:
    vectors = pa.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], pa.list_(pa.float64(), 2))
    graph = from_tables(EDGES, pa.table({"id": [1, 2, 3], "x": vectors}))
    write_graph(graph, tmp_path / "e.csv", nodes=tmp_path / "n.csv")
    assert (tmp_path / "n.csv").read_text().splitlines()[0] == '"id","x_0","x_1"'
    found = read_graph(tmp_path / "e.csv", tmp_path / "n.csv").data.x
    assert torch.equal(found, graph.data.x)


def test_equal_tables_are_equal_npz_files(tmp_path: Path) -> None:
    for name in ("a.npz", "b.npz"):
        write_graph(from_tables(EDGES), tmp_path / name)
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
    with np.load(io.BytesIO((tmp_path / "a.npz").read_bytes())) as arrays:
        assert sorted(arrays) == ["dst", "src", "weight"]
