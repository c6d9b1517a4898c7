from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sgat.data.files import FileGraph, FileOptions, from_tables, read_graph
from sgat.features import SparseFeatures


def read_text(folder: Path, text: str, nodes: str | None = None) -> FileGraph:
    (folder / "e.csv").write_text(text)
    if nodes is None:
        return read_graph(folder / "e.csv")
    (folder / "n.csv").write_text(nodes)
    return read_graph(folder / "e.csv", folder / "n.csv")


def ids_of(graph: FileGraph) -> list[Any]:
    assert graph.data.node_ids is not None
    return list(graph.data.node_ids.tolist())


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("1,2\n10,-3\n", [-3, 1, 2, 10]),
        ("1,2\n007,3\n", ["007", "1", "2", "3"]),
        ("1,+2\n", ["+2", "1"]),
        ("1,-0\n", ["-0", "1"]),
        ("1,2.0\n", ["1", "2.0"]),
        (f"{2**63 - 1},{-(2**63)}\n", [-(2**63), 2**63 - 1]),
        (f"{2**63},1\n", ["1", str(2**63)]),
        ('" a",b \n', [" a", "b "]),
        ("NA,null\n", ["NA", "null"]),
    ],
)
def test_text_ids_are_integers_only_if_every_one_is_written_so(
    tmp_path: Path, text: str, ids: list[Any]
) -> None:
    assert ids_of(read_text(tmp_path, f"src,dst\n{text}")) == ids


def test_one_id_in_the_node_file_makes_all_of_them_strings(tmp_path: Path) -> None:
    graph = read_text(tmp_path, "src,dst\n1,2\n", "id\n1\n2\n03\n")
    assert ids_of(graph) == ["1", "2", "03"]
    assert graph.edges.column("src").to_pylist() == ["1"]


def test_large_unsigned_integers_keep_their_value() -> None:
    ids = pa.array([2**64 - 1, 3], pa.uint64())
    graph = from_tables(pa.table({"src": ids, "dst": ids[::-1]}))
    assert ids_of(graph) == [str(2**64 - 1), "3"]
    assert graph.edges.schema.field("src").type == pa.uint64()


def test_text_ids_match_the_integers_of_a_typed_file(tmp_path: Path) -> None:
    pq.write_table(pa.table({"src": [1], "dst": [2]}), tmp_path / "e.parquet")
    (tmp_path / "n.csv").write_text("id,f\n2,0.5\n1,1.5\n")
    graph = read_graph(tmp_path / "e.parquet", tmp_path / "n.csv")
    assert ids_of(graph) == [2, 1]


def test_without_node_file_nodes_have_identity_features(tmp_path: Path) -> None:
    data = read_text(tmp_path, "src,dst\nb,a\na,c\n").data
    assert isinstance(data.x, SparseFeatures) and data.x.shape == (3, 3)
    assert data.y.tolist() == [-1, -1, -1] and data.classes == ()
    assert not (data.train | data.val | data.test).any()


def test_order_of_the_edges_does_not_change_the_nodes(tmp_path: Path) -> None:
    one = read_text(tmp_path, "src,dst\nb,a\na,c\n")
    other = read_text(tmp_path, "src,dst\na,c\nb,a\n")
    assert ids_of(one) == ids_of(other) == ["a", "b", "c"]
    assert one.data.graph.edge_index.equal(other.data.graph.edge_index)


def test_text_columns_become_numbers_only_where_nothing_is_lost(
    tmp_path: Path,
) -> None:
    graph = read_text(
        tmp_path,
        "src,dst,weight,count,code,version,share,gap\n"
        "a,b,0.10,1,007,1.10,0.5,\nb,c,2,-2,008,1.9,1e-07,3\n",
    )
    types = {field.name: str(field.type) for field in graph.edges.schema}
    assert types == {
        "src": "string",
        "dst": "string",
        "weight": "double",
        "count": "int64",
        "code": "string",
        "version": "string",
        "share": "double",
        "gap": "int64",
    }
    assert graph.edges.column("gap").to_pylist() == [None, 3]


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


def test_edge_features_stand_in_the_order_of_the_graph() -> None:
    table = pa.table(
        {
            "src": ["c", "a", "a", "b", "a"],
            "dst": ["a", "b", "b", "b", "c"],
            "f": [1.0, 2.0, 4.0, 9.0, 5.0],
            "k": ["u", "v", "u", "u", "v"],
        }
    )
    options = FileOptions(edge_features=("f", "k"))
    data = from_tables(table, options=options).data
    # c→a, a→b (twice), a→c; the loop b→b has no features.
    assert data.graph.feature is not None
    assert data.graph.feature.tolist() == [[1, 1, 0], [3, 0.5, 0.5], [5, 0, 1]]


def test_reverse_edge_has_the_features_of_the_row_that_named_it() -> None:
    table = pa.table({"src": ["a", "b", "b"], "dst": ["b", "a", "c"], "f": [1, 2, 3]})
    options = FileOptions(edge_features=("f",), undirected=True)
    data = from_tables(table, options=options).data
    # b→a, a→b, c→b, b→c: both directions of a-b are given, one of b-c.
    assert data.graph.feature is not None
    assert data.graph.feature.flatten().tolist() == [2, 1, 3, 3]


def test_empty_edge_table_of_any_type_fits_any_nodes() -> None:
    edges = pa.table({"src": pa.nulls(0), "dst": pa.array([], pa.string())})
    graph = from_tables(edges, pa.table({"id": [7, 8]}))
    assert graph.data.graph.num_edges == 0
    assert np.array_equal(graph.data.node_ids, [7, 8])
