from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.tables import read_text, text_nodes

from sgat.data.files import FileOptions, from_tables, open_graph, read_graph
from sgat.features import SparseFeatures
from sgat.pruning.stored_table import open_table


def test_without_node_file_nodes_have_identity_features(tmp_path: Path) -> None:
    data = read_text(tmp_path, "src,dst\nb,a\na,c\n").data
    assert isinstance(data.x, SparseFeatures) and data.x.shape == (3, 3)
    assert data.y.tolist() == [-1, -1, -1] and data.classes == ()
    assert not (data.train | data.val | data.test).any()


def test_data_frames_are_read_too() -> None:
    edges = pd.DataFrame({"src": [5, -3], "dst": [-3, 2**60]})
    frame = pd.DataFrame({"id": [2**60, -3, 5], "f": [1.0, 2.0, 3.0]})
    data = from_tables(edges, frame).data
    assert np.array_equal(data.node_ids, [2**60, -3, 5])
    assert data.graph.edge_index.tolist() == [[1, 2], [0, 1]]


def test_readme_example_trains_on_string_ids(tmp_path: Path) -> None:
    graph = text_nodes(
        tmp_path, "id,age,y,split\nb,3,no,val\na,1,yes,train\nc,2,,\n", label="y"
    )
    assert list(graph.data.node_ids) == ["b", "a", "c"]
    assert graph.data.classes == ("no", "yes")
    assert graph.data.y.tolist() == [0, 1, -1]
    assert graph.data.train.tolist() == [False, True, False]
    assert graph.data.val.tolist() == [True, False, False]
    assert not graph.data.test.any()
    assert graph.data.x.tolist() == [[3], [1], [2]]


def test_a_folder_of_empty_parquet_files_is_refused_as_an_empty_file_is(
    tmp_path: Path,
) -> None:
    none = pa.array([], pa.int64())
    empty = pa.table({"src": none, "dst": none})
    (tmp_path / "edges").mkdir()
    for place in (tmp_path / "edges.parquet", tmp_path / "edges" / "part.parquet"):
        pq.write_table(empty, place)
    for path in (tmp_path / "edges.parquet", tmp_path / "edges"):
        with pytest.raises(ValueError, match="the edge table has no rows"):
            read_graph(path)


def test_a_folder_of_parquet_files_is_one_table(tmp_path: Path) -> None:
    edges = pd.DataFrame(
        {"src": list("abcd"), "dst": list("bcda"), "year": [1, 1, 2, 2]}
    )
    nodes = pd.DataFrame({"id": list("abcd"), "f": [1.0, 2.0, 3.0, 4.0]})
    edges.to_parquet(tmp_path / "edges", partition_cols=["year"])
    (tmp_path / "nodes").mkdir()
    for part, rows in enumerate((nodes[:3], nodes[3:])):
        rows.to_parquet(tmp_path / "nodes" / f"{part}.parquet")
    found = read_graph(tmp_path / "edges", tmp_path / "nodes")
    assert found.data.graph.edge_index.tolist() == [[3, 0, 1, 2], [0, 1, 2, 3]]
    assert found.edges.column("year").to_pylist() == ["1", "1", "2", "2"]
    assert found.data.x.tolist() == [[1], [2], [3], [4]]
    with pytest.raises(
        ValueError, match=r"no Parquet file; give one file, or a folder"
    ):
        (tmp_path / "none").mkdir()
        read_graph(tmp_path / "none")


def test_a_folder_named_as_a_parquet_file_is_no_file_of_the_table(
    tmp_path: Path,
) -> None:
    (tmp_path / "edges" / "part.parquet").mkdir(parents=True)
    pq.write_table(
        pa.table({"src": [1], "dst": [2]}), tmp_path / "edges/part.parquet/0.pq"
    )
    assert len(read_graph(tmp_path / "edges").edges) == 1
    assert len(open_table(tmp_path / "edges").files) == 1


def test_a_pipe_in_a_folder_of_parquet_files_is_refused(tmp_path: Path) -> None:
    pq.write_table(pa.table({"src": [1], "dst": [2]}), tmp_path / "0.parquet")
    os.mkfifo(tmp_path / "1.parquet")
    for read in (read_graph, open_table):
        with pytest.raises(ValueError, match=r"1\.parquet: must be a file, not a pipe"):
            read(tmp_path)


@pytest.mark.parametrize("read", [read_graph, open_graph])
def test_lists_are_no_ids(read, tmp_path: Path) -> None:
    pq.write_table(pa.table({"src": [["a"]], "dst": ["b"]}), tmp_path / "e.parquet")
    with pytest.raises(ValueError, match="'src': ids must be integers or strings, got"):
        read(tmp_path / "e.parquet")


def test_given_types_stay_in_the_edge_table() -> None:
    table = pa.table(
        {
            "src": pa.array(["a", "b"]).dictionary_encode(),
            "dst": pa.array(["b", "a"], pa.large_string()),
            "weight": pa.array([1, 2], pa.int16()),
        }
    )
    graph = from_tables(table)
    assert graph.edges.schema == table.schema
    assert graph.data.graph.weight is not None
    assert graph.data.graph.weight.tolist() == [2, 1]


def test_weights_are_taken_from_the_column_asked_for() -> None:
    table = pa.table({"src": [1, 2], "dst": [2, 1], "weight": [1, 2], "w": [3, 4]})
    for options, expected in (
        ({}, [2, 1]),
        ({"weight": "w"}, [4, 3]),
        ({"drop": ("weight",)}, None),
    ):
        weight = from_tables(table, options=FileOptions(**options)).data.graph.weight
        assert (weight if weight is None else weight.tolist()) == expected


def test_empty_edge_table_of_any_type_fits_any_nodes() -> None:
    edges = pa.table({"src": pa.nulls(0), "dst": pa.array([], pa.string())})
    graph = from_tables(edges, pa.table({"id": [7, 8]}))
    assert graph.data.graph.num_edges == 0
    assert np.array_equal(graph.data.node_ids, [7, 8])
