"""Files written for drawing programs are read by networkx as they were meant."""

from pathlib import Path

import networkx as nx
import pyarrow as pa
import pytest

from sgat.data.files.xml_writers import DrawnGraph, write_gexf, write_graphml

EDGES = pa.table(
    {
        "src": ["c", "a", "b", "c"],
        "dst": ["a", "b", "b", "b"],
        "weight": [0.5, 2.0, 3.0, 1.5],
        "note": ["<first> & 'only'", None, 'a "quoted"\nline', ""],
    }
)
NODES = pa.table({"id": ["a", "b", "c"], "size": [1.5, float("nan"), -2.0]})
WRITERS = {
    "graphml": (write_graphml, nx.read_graphml),
    "gexf": (write_gexf, nx.read_gexf),
}


@pytest.mark.parametrize("is_undirected", [False, True])
@pytest.mark.parametrize("format", WRITERS)
def test_networkx_reads_ids_directions_weights_and_columns(
    tmp_path: Path, format: str, is_undirected: bool
) -> None:
    write, read = WRITERS[format]
    names = ("src", "dst", "id", "weight", is_undirected)
    write(DrawnGraph(EDGES, NODES, *names), tmp_path / "g")
    found = read(tmp_path / "g")
    assert list(found.nodes) == ["a", "b", "c"]
    assert found.is_directed() is not is_undirected
    edges = {(u, v): data for u, v, data in found.edges(data=True)}
    if not is_undirected:
        assert {pair: data["weight"] for pair, data in edges.items()} == {
            ("c", "a"): 0.5,
            ("a", "b"): 2.0,
            ("b", "b"): 3.0,
            ("c", "b"): 1.5,
        }
        assert edges["c", "a"]["note"] == "<first> & 'only'"
        assert edges["b", "b"]["note"] == 'a "quoted"\nline'
        assert "note" not in edges["a", "b"]
    assert found.nodes["a"]["size"] == 1.5
    assert "size" not in found.nodes["b"]
    if format == "gexf":
        assert nx.get_node_attributes(found, "label")["a"] == "a"


@pytest.mark.parametrize("format", WRITERS)
def test_types_that_xml_cannot_hold_are_named(tmp_path: Path, format: str) -> None:
    table = EDGES.append_column("v", pa.array([[1.0]] * 4))
    names = ("src", "dst", "id", None, False)
    with pytest.raises(ValueError, match=r"Column 'v': XML cannot hold list<.*parquet"):
        WRITERS[format][0](DrawnGraph(table, NODES, *names), tmp_path / "g")
