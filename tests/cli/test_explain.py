import contextlib
import json
import re
from pathlib import Path

import pandas as pd
import pytest
from PIL import Image
from support.small_files import copy_trained, write_small_files

from sgat.cli import main

HOSTILE = "<script>[red]$x$ | '\x1b[31m\n😀" + "k" * 60


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A folder with the small files, one id hostile, and a run of three epochs."""
    folder = tmp_path_factory.mktemp("trained")
    files = write_small_files(folder)
    options = ["--fast", "--epochs", "3", "--keep", "0.5", "--out", "mine", "--quiet"]
    with contextlib.chdir(folder):
        for name in ("edges.csv", "nodes.csv"):
            table = pd.read_csv(name)
            table.replace("n03", HOSTILE).to_csv(name, index=False)
        assert main(["fit", *files, *options]) == 0
    return folder


@pytest.fixture
def mine(trained, tmp_path, monkeypatch):
    """A copy of the run, beside copies of its files."""
    copy_trained(trained, tmp_path)
    monkeypatch.chdir(tmp_path)
    return "mine"


def edge_ends(run: str, *, kept: bool) -> tuple[str, str]:
    """Ends, with plain names, of an edge that is kept, or removed."""
    edges = pd.read_parquet(f"{run}/edges.parquet")
    is_plain = (edges["src"] != HOSTILE) & (edges["dst"] != HOSTILE)
    row = edges[is_plain & (edges["kept"] == kept)].iloc[0]
    return row["src"], row["dst"]


def test_a_node_is_shown_with_its_edges(mine, capsys):
    src, dst = edge_ends(mine, kept=True)
    capsys.readouterr()
    assert main(["explain", mine, dst]) == 0
    shown = capsys.readouterr().out
    nodes = pd.read_parquet("mine/nodes.parquet").set_index("id")
    prediction = nodes.loc[dst, "prediction"]
    share = nodes.loc[dst, f"probability_{prediction}"]
    assert f"node {dst} of edges: predicted {prediction} ({share:.1%};" in shown
    assert f"label {nodes.loc[dst, 'label']}, {nodes.loc[dst, 'split']}" in shown
    assert "1 of 1 neighbours" in shown
    assert re.search(rf"^{src} +yes ", shown, re.M)
    assert "without any edge: predicted" in shown


def test_a_node_without_messages_has_no_changes(mine, capsys):
    src, dst = edge_ends(mine, kept=False)
    capsys.readouterr()
    assert main(["explain", mine, dst]) == 0
    shown = capsys.readouterr().out
    assert re.search(rf"^{src} +no ", shown, re.M)
    assert "change" not in shown and "becomes" not in shown


def test_where_no_messages_travel_it_says_so(csv_files, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    alone = ["--readout", "beliefs", "--layers", "0", "--epochs", "2", "--keep", "0.5"]
    assert main(["fit", *csv_files, *alone, "--out", "deaf", "--quiet"]) == 0
    _, dst = edge_ends("deaf", kept=True)
    capsys.readouterr()
    assert main(["explain", "deaf", dst]) == 0
    shown = capsys.readouterr().out
    told = "uses its own features alone; 1 of 1 edges into it are kept"
    assert told in shown.splitlines()
    assert "neighbours" not in shown
    assert main(["explain", "deaf"]) == 0
    assert "the model uses no edges, so no edge matters" in capsys.readouterr().out


def test_json_tells_the_same_and_more(mine, capsys):
    _, dst = edge_ends(mine, kept=False)
    capsys.readouterr()
    assert main(["explain", mine, dst, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["node"] == dst
    assert [row["kept"] for row in found["table"]] == [False]
    assert found["table"][0]["change"] is None
    assert sum(found["verdict"]["probabilities"].values()) == pytest.approx(1)
    assert found["own_share"] == 1


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_tables_are_written(mine, suffix, capsys):
    src, dst = edge_ends(mine, kept=True)
    assert main(["explain", mine, dst, "--out", f"t.{suffix}"]) == 0
    assert f"written to t.{suffix}" in capsys.readouterr().out
    read = pd.read_csv if suffix == "csv" else pd.read_parquet
    table = read(f"t.{suffix}")
    assert list(table["neighbour"]) == [src]
    assert table["change"].notna().all()


@pytest.mark.parametrize("node", ["n05", HOSTILE])
@pytest.mark.parametrize("suffix", ["png", "svg"])
def test_pictures_are_drawn_of_any_id(mine, node, suffix, capsys):
    assert main(["explain", mine, node, "--picture", f"p.{suffix}"]) == 0
    if suffix == "png":
        with Image.open("p.png") as picture:
            assert min(picture.size) > 600
            assert len(set(picture.convert("L").resize((90, 90)).tobytes())) > 10
    else:
        assert "<svg" in Path("p.svg").read_text(encoding="utf-8")
    assert "\x1b" not in capsys.readouterr().out


def test_a_hostile_neighbour_is_shown_as_text(mine, capsys):
    assert main(["explain", mine, "n04", "--out", "t.csv"]) == 0
    shown = capsys.readouterr().out
    assert "<script>[red]$x$" in shown
    assert "\x1b" not in shown
    neighbours = pd.read_csv("t.csv")["neighbour"]
    assert len(neighbours) == 1 and "k" * 60 in neighbours[0]


def test_the_whole_graph_is_described(mine, capsys):
    capsys.readouterr()
    assert main(["explain", mine, "--out", "all.csv"]) == 0
    shown = capsys.readouterr().out
    summary = json.loads(Path("mine/summary.json").read_text(encoding="utf-8"))
    kept = summary["edges"] - summary["edges_removed"]
    assert re.search(rf"^edges +{summary['edges']} +{kept}$", shown, re.M)
    assert re.search(r"^same label +0\.0000 +0\.0000$", shown, re.M)
    table = pd.read_csv("all.csv").set_index("name")
    assert table.loc["edges", "after"] == kept
    assert re.search(r"^source +target +gate +attention +change +flips", shown, re.M)
    assert "summed over the nodes reached" in shown
    assert main(["explain", mine, "--json", "--top", "1"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["after"]["edges"] == kept
    edges = pd.read_parquet("mine/edges.parquet")
    ends = set(zip(*(edges[edges["kept"]][end] for end in ("src", "dst")), strict=True))
    assert [(row["src"], row["dst"]) in ends for row in found["important"]] == [True]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["n99"], "There is no node 'n99' in 'edges'; there is 'n"),
        (["n05", "--graph", "x"], "`--graph` must be one of edges, got 'x'."),
        (["n05", "--out", "t.xlsx"], "`--out` must end in .csv, .parquet, .tsv"),
        (["n05", "--picture", "t.gif"], "`--picture` must end in .png, .svg"),
        (["--picture", "t.png"], "`--picture` draws a node, and none is named; `sgat"),
        (["n05", "--out", "edges.csv"], "must not be the file of the edges of the run"),
        (["n05", "--out", "link.csv"], "must not be the file of the nodes of the run"),
        (["n05", "--out", "mine/edges.parquet"], "must not be a file of the run"),
        (["n05", "--out", "old.csv"], "old.csv exists already; choose another `--out`"),
        (["n05", "--picture", "old.png"], "or replace it with `--overwrite`."),
        (["n05", "--out", "no/t.csv"], "must be in a folder that exists"),
        (["n05", "--out", "folder.csv"], "must be a file, got the folder"),
    ],
)
def test_what_cannot_be_done_is_one_sentence(
    mine, tmp_path, capsys, arguments, message
):
    (tmp_path / "folder.csv").mkdir()
    for name in ("old.csv", "old.png"):
        (tmp_path / name).write_text("mine")
    (tmp_path / "link.csv").hardlink_to(tmp_path / "nodes.csv")
    before = {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}
    capsys.readouterr()
    assert main(["explain", mine, *arguments]) == 1
    error = capsys.readouterr().err
    assert error.startswith("error: ") and error.count("\n") == 1
    assert message in error
    assert before == {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}


def test_help_has_examples(capsys):
    assert main(["explain", "--help"]) == 0
    assert "sgat explain runs/karate 8 --picture 8.png" in capsys.readouterr().out
