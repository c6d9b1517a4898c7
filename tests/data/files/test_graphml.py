from __future__ import annotations

from pathlib import Path

import networkx as nx
import pyarrow as pa
import pytest
from support.tables import WEIGHTED

from sgat.data.files import FileOptions, from_tables, read_graph, write_graph


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
    write_graph(from_tables(WEIGHTED, nodes), tmp_path / "g.graphml")
    (tmp_path / "n.csv").write_text("id,g\n3,9\n2,8\n1,7\n")
    data = read_graph(tmp_path / "g.graphml", tmp_path / "n.csv").data
    assert data.x.tolist() == [[9], [8], [7]]
    assert list(data.node_ids) == [3, 2, 1]
