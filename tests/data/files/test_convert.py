from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from sgat.cli.data import data_app
from sgat.data.files import read_graph, write_graph

EDGES = 'src,dst,weight,kind\n007,"b,c",0.5,x\n"b,c",d,2,\n'
NODES = "id,f,split\n007,,odd\nb;c,1,\nd,2,train\n".replace("b;c", '"b,c"')


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "e.csv").write_text(EDGES)
    (tmp_path / "n.csv").write_text(NODES)
    return tmp_path


def run(*arguments: object) -> str:
    words = ["convert", *map(str, arguments)]
    result = CliRunner().invoke(data_app, words, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_csv_becomes_graphml_and_parquet_with_all_columns(files: Path) -> None:
    run(files / "e.csv", files / "g.graphml", "--nodes", files / "n.csv")
    told = run(
        files / "g.graphml", files / "e.parquet", "--nodes-out", files / "n.parquet"
    )
    assert told == (
        f"3 nodes and 2 edge rows written to {files / 'e.parquet'} and"
        f" {files / 'n.parquet'}\n"
    )
    assert pq.read_table(files / "e.parquet").to_pydict() == {
        "src": ["007", "b,c"],
        "dst": ["b,c", "d"],
        "weight": [0.5, 2.0],
        "kind": ["x", None],
    }
    assert pq.read_table(files / "n.parquet").to_pydict() == {
        "id": ["007", "b,c", "d"],
        "f": [None, 1, 2],
        "split": ["odd", None, "train"],
    }


def test_matrix_market_takes_ids_and_weights_alone(files: Path) -> None:
    with pytest.raises(ValueError, match="column 'kind' would be lost"):
        run(files / "e.csv", files / "e.mtx")
    assert not (files / "e.mtx").exists()
    run(files / "e.csv", files / "e.mtx", "--columns", "", "--undirected", "--quiet")
    graph = read_graph(files / "e.mtx")
    assert graph.undirected
    assert list(graph.data.node_ids) == ["007", "b,c", "d"]
    assert sorted(graph.edges.column("weight").to_pylist()) == [0.5, 2.0]


def test_attributes_inside_the_edge_file_are_not_lost_silently(files: Path) -> None:
    run(files / "e.csv", files / "g.graphml", "--nodes", files / "n.csv")
    with pytest.raises(ValueError, match="node column 'f' has no place in a csv edge"):
        run(files / "g.graphml", files / "x.csv")
    assert not (files / "x.csv").exists()


def test_json_counts_and_names_what_was_written(files: Path) -> None:
    told = run(files / "e.csv", files / "x", "--to", "tsv", "--json")
    assert json.loads(told) == {"nodes": 3, "rows": 2, "written": [str(files / "x")]}
    assert (files / "x").read_text().startswith('"src"\t"dst"')


def test_other_columns_and_delimiter_are_read(files: Path) -> None:
    (files / "s.csv").write_text("from;to;w\n1;2;0.5\n")
    names = ["--src", "from", "--dst", "to", "--weight", "w", "--delimiter", ";"]
    run(files / "s.csv", files / "s.npz", *names)
    run(files / "s.npz", files / "s.parquet", *names[:6])
    assert pq.read_table(files / "s.parquet").to_pydict() == {
        "from": [1],
        "to": [2],
        "w": [0.5],
    }


def test_same_file_for_edges_and_nodes_is_refused(files: Path) -> None:
    with pytest.raises(ValueError, match="`nodes_out` must not be the file of `out`"):
        run(files / "e.csv", files / "x.csv", "--nodes-out", files / "x.csv")
    graph, out = read_graph(files / "e.csv"), files / "x.csv"
    with pytest.raises(ValueError, match="cannot be written to the same file"):
        write_graph(graph, out, nodes=out)


def test_a_file_is_replaced_where_that_is_asked_for(files: Path) -> None:
    (files / "x.csv").write_text("mine")
    command = files / "e.csv", files / "y.parquet", "--nodes-out", files / "x.csv"
    with pytest.raises(
        ValueError, match=r"x\.csv exists already; choose another `nodes_out`"
    ):
        run(*command)
    assert (files / "x.csv").read_text() == "mine" and not (
        files / "y.parquet"
    ).exists()
    run(*command, "--overwrite")
    run(*command, "--overwrite")
    assert (files / "x.csv").read_text() != "mine"


@pytest.mark.parametrize("name", ["e.csv", "n.csv", "hard.csv", "soft.csv"])
def test_nothing_that_is_read_is_replaced(name: str, files: Path) -> None:
    (files / "hard.csv").hardlink_to(files / "n.csv")
    (files / "soft.csv").symlink_to(files / "e.csv")
    before = {path: path.read_bytes() for path in files.iterdir()}
    for out in ([name], ["x.csv", "--nodes-out", files / name]):
        with pytest.raises(ValueError, match="must not be the file of the"):
            run(files / "e.csv", files / out[0], "--nodes", files / "n.csv", *out[1:])
    assert {path: path.read_bytes() for path in files.iterdir()} == before
