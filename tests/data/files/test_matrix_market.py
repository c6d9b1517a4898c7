from __future__ import annotations

from pathlib import Path

import scipy.io
import scipy.sparse
import torch
from support.tables import WEIGHTED

from sgat.data.files import from_tables, read_graph, write_graph


def test_scipy_reads_and_writes_the_same_matrix(tmp_path: Path) -> None:
    graph = from_tables(WEIGHTED)
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
