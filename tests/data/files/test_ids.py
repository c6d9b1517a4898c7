from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.tables import ids_of, read_text

from sgat.data.files import from_tables, read_graph


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("1,2\n10,-3\n", [-3, 1, 2, 10]),
        ("1,2\n007,3\n", ["007", "1", "2", "3"]),
        ("1,+2\n", ["+2", "1"]),
        ("1,-0\n", ["-0", "1"]),
        ("1,2.5\n", ["1", "2.5"]),
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


def test_order_of_the_edges_does_not_change_the_nodes(tmp_path: Path) -> None:
    one = read_text(tmp_path, "src,dst\nb,a\na,c\n")
    other = read_text(tmp_path, "src,dst\na,c\nb,a\n")
    assert ids_of(one) == ids_of(other) == ["a", "b", "c"]
    assert one.data.graph.edge_index.equal(other.data.graph.edge_index)


def test_whole_numbers_with_a_point_are_integers_beside_others(tmp_path: Path) -> None:
    floats = pa.table({"src": [1.0, 2.0], "dst": [2, 3]})
    assert ids_of(from_tables(floats, pa.table({"id": [3, 2, 1]}))) == [3, 2, 1]
    text = read_text(tmp_path, "src,dst\n1.0,2.0\n2.0,3.0\n", "id\n1\n2\n3\n")
    assert ids_of(text) == [1, 2, 3]
    assert text.edges.column("src").to_pylist() == [1, 2]
    same = read_text(tmp_path, "src,dst\n1.0,2.0\n", "id\n1.0\n2.0\n")
    assert ids_of(same) == ["1.0", "2.0"]
