from __future__ import annotations

from pathlib import Path
from typing import Any

import networkx as nx
import pyarrow as pa
import pytest
import torch

from sgat.data.files import (
    EdgeScores,
    FileGraph,
    FileOptions,
    from_tables,
    pruned_table,
    read_graph,
    score_table,
    write_pruned,
    write_table,
)

EDGES = {
    "src": ["c", "a", "b", "c", "a", "b"],
    "dst": ["a", "b", "b", "a", "c", "c"],
    "weight": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
    "note": ["first", "x,y", None, "again", '"', "é"],
}
# Edges of the graph by (dst, src): c→a, a→b, a→c, b→c.
GATE = [0.5, 0.0, 1.0, 0.25]


def scores(gate: list[float] = GATE, **fields: Any) -> EdgeScores:
    value = torch.tensor(gate)
    return EdgeScores(
        log_alpha=value * 10 - 3,
        probability=value.clamp(min=0.1),
        gate=value,
        kept=value > 0,
        **fields,
    )


def graph(**options: Any) -> FileGraph:
    return from_tables(pa.table(EDGES), options=FileOptions(**options))


def test_score_table_keeps_rows_order_and_columns() -> None:
    table = score_table(graph(), scores(attention=torch.tensor(GATE) / 2))
    assert table.select(list(EDGES)).equals(pa.table(EDGES))
    assert table.column_names[4:] == [
        "log_alpha",
        "probability",
        "gate",
        "kept",
        "attention",
    ]
    assert table.column("gate").to_pylist() == [0.5, 0.0, 1.0, 0.5, 1.0, 0.25]
    assert table.column("kept").to_pylist() == [True, False, True, True, True, True]
    assert table.column("log_alpha").to_pylist() == [2.0, -3.0, None, 2.0, 7.0, -0.5]
    assert table.column("attention").to_pylist()[2:4] == [None, 0.25]
    assert table.column("probability").to_pylist()[2] == 1.0


def test_self_loop_gets_its_own_attention() -> None:
    loops = torch.tensor([0.1, 0.25, 0.3])
    found = score_table(graph(), scores(attention=torch.zeros(4), loop_attention=loops))
    assert found.column("attention").to_pylist() == [0, 0, 0.25, 0, 0, 0]


def test_attention_that_was_not_computed_is_null() -> None:
    assert score_table(graph(), scores()).column("attention").null_count == 6


def test_undirected_row_is_as_open_as_its_more_open_direction() -> None:
    undirected = graph(undirected=True)
    # Edges by (dst, src): b→a, c→a, a→b, c→b, a→c, b→c.
    given = scores([0.5, 0.0, 0.0, 0.0, 0.25, 1.0])
    table = score_table(undirected, given)
    assert table.column("gate").to_pylist() == [0.25, 0.5, 1.0, 0.25, 0.25, 1.0]
    assert all(table.column("kept").to_pylist())


def test_earlier_scores_are_replaced(caplog: pytest.LogCaptureFixture) -> None:
    once = score_table(graph(), scores())
    twice = score_table(from_tables(once), scores([1.0] * 4))
    assert twice.column_names == once.column_names
    assert twice.column("gate").to_pylist() == [1.0] * 6
    assert "log_alpha, probability, gate, kept, attention are replaced" in caplog.text


def test_scores_of_another_graph_are_refused() -> None:
    with pytest.raises(ValueError, match=r"`log_alpha` must .* 4 edges, got shape \[3"):
        score_table(graph(), scores([1.0] * 3))


def test_pruned_rows_have_weight_times_gate() -> None:
    table = pruned_table(graph(), scores())
    assert table.column("src").to_pylist() == ["c", "b", "c", "a", "b"]
    assert table.column("weight").to_pylist() == [0.5, 3.0, 2.0, 5.0, 1.5]
    assert table.column("note").to_pylist() == ["first", None, "again", '"', "é"]


def test_graph_without_weights_gets_the_gate_as_weight() -> None:
    table = pa.table(EDGES).select(["src", "dst"])
    found = pruned_table(from_tables(table), scores())
    assert found.column_names == ["src", "dst", "weight"]
    assert found.column("weight").to_pylist() == [0.5, 1.0, 0.5, 1.0, 0.25]


def test_column_that_is_not_the_weight_is_not_overwritten() -> None:
    dropped = graph(drop=("weight",))
    with pytest.raises(ValueError, match="'weight' is not read as the weight"):
        pruned_table(dropped, scores())
    found = pruned_table(dropped, scores(), columns=["note"])
    assert found.column_names == ["src", "dst", "note", "weight"]
    with pytest.raises(ValueError, match="no column 'other' to keep; the columns are"):
        pruned_table(graph(), scores(), columns=["other"])


@pytest.mark.parametrize("undirected", [False, True])
@pytest.mark.parametrize("format", ["csv", "tsv", "parquet", "npz", "mtx", "graphml"])
def test_pruned_graph_reads_back_as_the_selected_graph(
    tmp_path: Path, format: str, undirected: bool
) -> None:
    given = graph(undirected=undirected)
    whole = given.data.graph
    gate = torch.tensor([0.5, 0.25, 0.5, 0.0, 0.25, 0.0] if undirected else GATE)
    path, nodes = tmp_path / f"small.{format}", tmp_path / "nodes.parquet"
    write_pruned(given, scores(gate.tolist()), path, nodes=nodes, columns=())
    found = read_graph(path, nodes, options=given.options).data
    expected = whole.select(gate > 0, whole.edge_weight * gate)
    assert torch.equal(found.graph.src, expected.src)
    assert torch.equal(found.graph.dst, expected.dst)
    torch.testing.assert_close(found.graph.edge_weight, expected.edge_weight)
    torch.testing.assert_close(found.graph.loop_weights, expected.loop_weights)
    assert list(found.node_ids) == ["a", "b", "c"]


def test_path_without_suffix_gets_the_format_of_the_input(tmp_path: Path) -> None:
    write_table(pa.table(EDGES), tmp_path / "e.tsv")
    given = read_graph(tmp_path / "e.tsv")
    write_pruned(given, scores(), tmp_path / "small")
    assert (tmp_path / "small").read_text().startswith('"src"\t"dst"\t"weight"')


def test_isolated_nodes_are_mentioned_when_no_file_keeps_them(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    closed = scores([0.0, 0.0, 0.0, 0.0])
    write_pruned(graph(), closed, tmp_path / "small.csv")
    assert "2 nodes without edges are not in the edge file" in caplog.text


def test_networkx_reads_graphml_and_gexf(tmp_path: Path) -> None:
    for format, read in (("graphml", nx.read_graphml), ("gexf", nx.read_gexf)):
        write_pruned(graph(), scores(), tmp_path / f"s.{format}")
        found = read(tmp_path / f"s.{format}")
        assert list(found.nodes) == ["a", "b", "c"]
        assert found.is_directed() and found.number_of_edges() == 5
        if format == "gexf":
            assert {data["weight"] for *_, data in found.edges(data=True)} == {
                0.5,
                3.0,
                2.0,
                5.0,
                1.5,
            }
            assert nx.get_node_attributes(found, "label")["a"] == "a"


@pytest.mark.parametrize("format", ["xlsx", "pt", "graphml"])
def test_table_in_a_format_that_is_not_one_is_refused(
    tmp_path: Path, format: str
) -> None:
    with pytest.raises(ValueError, match="choose one of csv, npz, parquet, tsv"):
        write_table(pa.table(EDGES), tmp_path / f"t.{format}")
    assert not list(tmp_path.iterdir())


def test_failed_write_leaves_the_earlier_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "t.npz"
    write_table(pa.table(EDGES), path)
    before = path.read_bytes()
    bad = pa.table({"a": pa.array([[1], [1, 2]])})
    with pytest.raises(ValueError, match="NPZ cannot hold list"):
        write_table(bad, path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_path_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    for path in (tmp_path / "no" / "t.csv", tmp_path / "folder.csv"):
        (tmp_path / "folder.csv").mkdir(exist_ok=True)
        with pytest.raises(OSError) as found:
            write_table(pa.table(EDGES), path)
        assert found.value.filename == str(path)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["folder.csv"]


def test_link_is_followed_when_written(tmp_path: Path) -> None:
    (tmp_path / "link.csv").symlink_to(tmp_path / "real.csv")
    write_table(pa.table({"a": [1]}), tmp_path / "link.csv")
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "real.csv").read_text() == '"a"\n1\n'


@pytest.mark.parametrize(
    ("format", "message"),
    [
        ("csv", "cannot be written as csv: Column 'src', row 0: a text table cannot"),
        ("npz", "cannot be written as npz: Column 'src': NPZ cannot hold strings that"),
        ("graphml", "cannot be written as graphml: XML cannot hold the character"),
        ("gexf", "cannot be written as gexf: XML cannot hold the character"),
    ],
)
def test_character_a_format_cannot_hold_is_refused(
    tmp_path: Path, format: str, message: str
) -> None:
    table = pa.table({"src": ["a\0"], "dst": ["b"]})
    with pytest.raises(ValueError, match=message):
        write_pruned(from_tables(table), scores([1.0]), tmp_path / f"g.{format}")
    assert not list(tmp_path.iterdir())
