from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import torch

from sgat.data.files import (
    FileGraph,
    FileOptions,
    from_tables,
    pruned_table,
    read_graph,
    with_columns,
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


def choice(factor: list[float] = GATE) -> tuple[torch.Tensor, torch.Tensor]:
    """Which edges are kept, and what their weights are multiplied by."""
    value = torch.tensor(factor)
    return value > 0, value


def graph(**options: Any) -> FileGraph:
    return from_tables(pa.table(EDGES), options=FileOptions(**options))


def test_new_columns_follow_the_rows_and_their_order() -> None:
    kept, factor = choice()
    values = {"shift": factor * 10 - 3, "factor": factor, "kept": kept}
    table = with_columns(graph(), values, {"factor": 1.0, "kept": True})
    assert table.select(list(EDGES)).equals(pa.table(EDGES))
    assert table.column_names[4:] == ["shift", "factor", "kept"]
    assert table.column("factor").to_pylist() == [0.5, 0.0, 1.0, 0.5, 1.0, 0.25]
    assert table.column("kept").to_pylist() == [True, False, True, True, True, True]
    assert table.column("shift").to_pylist() == [2.0, -3.0, None, 2.0, 7.0, -0.5]


def test_self_loop_gets_the_value_of_its_node() -> None:
    loops = {"share": torch.tensor([0.1, 0.25, 0.3])}
    found = with_columns(graph(), {"share": torch.zeros(4)}, loops)
    assert found.column("share").to_pylist() == [0, 0, 0.25, 0, 0, 0]


def test_values_that_were_not_computed_are_null() -> None:
    table = with_columns(graph(), {"share": None}, {"share": 1.0})
    assert table.column("share").null_count == 6


def test_undirected_row_has_the_larger_value_of_its_directions() -> None:
    undirected = graph(undirected=True)
    # Edges by (dst, src): b→a, c→a, a→b, c→b, a→c, b→c.
    kept, factor = choice([0.5, 0.0, 0.0, 0.0, 0.25, 1.0])
    table = with_columns(undirected, {"f": factor, "k": kept}, {"f": 1.0, "k": True})
    assert table.column("f").to_pylist() == [0.25, 0.5, 1.0, 0.25, 0.25, 1.0]
    assert all(table.column("k").to_pylist())


def test_earlier_columns_of_the_name_are_replaced(
    caplog: pytest.LogCaptureFixture,
) -> None:
    once = with_columns(graph(), {"a": torch.zeros(4), "b": torch.zeros(4)}, {})
    again = {"a": torch.ones(4), "b": torch.ones(4)}
    twice = with_columns(from_tables(once), again, {"a": 1.0})
    assert twice.column_names == once.column_names
    assert twice.column("a").to_pylist() == [1.0] * 6
    assert "the columns a, b are replaced" in caplog.text


def test_values_of_another_graph_are_refused() -> None:
    with pytest.raises(ValueError, match=r"`share` must .* 4 edges, got shape \[3"):
        with_columns(graph(), {"share": torch.ones(3)}, {})


def test_pruned_rows_have_weight_times_gate() -> None:
    table = pruned_table(graph(), *choice())
    assert table.column("src").to_pylist() == ["c", "b", "c", "a", "b"]
    assert table.column("weight").to_pylist() == [0.5, 3.0, 2.0, 5.0, 1.5]
    assert table.column("note").to_pylist() == ["first", None, "again", '"', "é"]


def test_graph_without_weights_gets_the_gate_as_weight() -> None:
    table = pa.table(EDGES).select(["src", "dst"])
    found = pruned_table(from_tables(table), *choice())
    assert found.column_names == ["src", "dst", "weight"]
    assert found.column("weight").to_pylist() == [0.5, 1.0, 0.5, 1.0, 0.25]


def test_column_that_is_not_the_weight_is_not_overwritten() -> None:
    dropped = graph(drop=("weight",))
    with pytest.raises(ValueError, match="'weight' is not read as the weight"):
        pruned_table(dropped, *choice())
    found = pruned_table(dropped, *choice(), columns=["note"])
    assert found.column_names == ["src", "dst", "note", "weight"]
    with pytest.raises(ValueError, match="no column 'other' to keep; the columns are"):
        pruned_table(graph(), *choice(), columns=["other"])


@pytest.mark.parametrize("undirected", [False, True])
@pytest.mark.parametrize("format", ["csv", "tsv", "parquet", "npz", "mtx", "graphml"])
def test_pruned_graph_reads_back_as_the_selected_graph(
    tmp_path: Path, format: str, undirected: bool
) -> None:
    given = graph(undirected=undirected)
    whole = given.data.graph
    gate = torch.tensor([0.5, 0.25, 0.5, 0.0, 0.25, 0.0] if undirected else GATE)
    path, nodes = tmp_path / f"small.{format}", tmp_path / "nodes.parquet"
    write_pruned(given, gate > 0, gate, path, nodes=nodes, columns=())
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
    write_pruned(given, *choice(), tmp_path / "small")
    assert (tmp_path / "small").read_text().startswith('"src"\t"dst"\t"weight"')


def test_isolated_nodes_are_mentioned_when_no_file_keeps_them(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    closed = choice([0.0, 0.0, 0.0, 0.0])
    write_pruned(graph(), *closed, tmp_path / "small.csv")
    assert "2 nodes without edges are not in the edge file" in caplog.text


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
        write_pruned(from_tables(table), *choice([1.0]), tmp_path / f"g.{format}")
    assert not list(tmp_path.iterdir())
