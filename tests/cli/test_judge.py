"""`sgat judge`: tables, promises, and one sentence for every mistake."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from support.small_data import block_graph

from sgat.cli import main
from sgat.judging.reasons import LOOP


@pytest.fixture
def folder(tmp_path, monkeypatch):
    data = block_graph()
    graph, ids = data.graph, np.array([f"n{i:03d}" for i in range(data.num_nodes)])
    once = (graph.src < graph.dst).numpy()
    src, dst = ids[graph.src.numpy()[once]], ids[graph.dst.numpy()[once]]
    edges = pd.DataFrame({"src": src, "dst": dst, "since": range(len(src))})
    edges.loc[len(edges)] = ["n000", "n000", -1]
    edges.to_csv(tmp_path / "edges.csv", index=False)
    nodes = pd.DataFrame(data.x.numpy()).add_prefix("f")
    nodes.insert(0, "id", ids)
    nodes["y"] = data.y.numpy()
    nodes.to_csv(tmp_path / "nodes.csv", index=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


FILES = ["--edges", "edges.csv", "--nodes", "nodes.csv", "--label", "y"]


def judge(*words):
    return main(["judge", *words])


@pytest.mark.parametrize("out", ["judged.csv", "judged.parquet"])
def test_every_row_comes_back_with_a_probability_and_a_reason(folder, out, capsys):
    assert judge(*FILES, "--undirected", "--out", out) == 0
    read = pd.read_csv if out.endswith("csv") else pd.read_parquet
    table, given = read(out), pd.read_csv("edges.csv")
    assert list(table) == [*given, "probability", "why"]
    pd.testing.assert_frame_equal(table[list(given)], given, check_dtype=False)
    assert table["probability"].between(0, 1).all()
    assert table["why"].str.len().min() > 5
    assert table.iloc[-1][["probability", "why"]].tolist() == [
        1.0,
        "self-loop, not judged",
    ]
    shown, told = capsys.readouterr()
    probability = table["probability"][:-1]
    gone = probability[probability <= 0.5]
    assert f"edges               {len(probability):,}" in shown
    assert f"({1 - probability.mean():.1%})" in shown
    assert f"to remove           {len(gone):,}: those with a prob" in shown
    assert f"  expected wrong    {(1 - gone).sum():,.1f}" in shown
    assert f"  expected right    {gone.sum():,.1f}" in shown
    assert "judging" in told


def test_looser_promises_are_told_beside_the_one_given(folder, capsys):
    command = [*FILES, "--undirected", "--out", "judged.csv", "--overwrite"]
    assert judge(*command, "--at-most-wrong", "0.1", "--json") == 0
    summary = json.loads(capsys.readouterr().out)
    assert [one["at_most_wrong"] for one in summary["looser"]] == [0.2, 0.5]
    assert judge(*command, "--at-most-wrong", "0.1") == 0
    shown = capsys.readouterr().out
    for one in summary["looser"]:
        share = str(one["at_most_wrong"])
        assert judge(*command, "--at-most-wrong", share, "--json") == 0
        found = json.loads(capsys.readouterr().out)["removed"]
        number, right = found["number"], found["expected_right"]
        assert (one["number"], one["expected_right"]) == (number, right)
        line = f"at most {float(share):.0%} right {number:,} would go, {right:,.1f} "
        assert f"  {line}of them right, expected\n" in shown
    assert number > 0
    assert judge(*command, "--json") == 0
    assert json.loads(capsys.readouterr().out)["looser"] == []


def test_too_few_edges_and_labels_not_looked_at_are_told(folder, caplog):
    pd.read_csv("edges.csv")[:9].to_csv("few.csv", index=False)
    assert judge("--edges", "few.csv", "--out", "judged.csv") == 0
    assert "too few edges to tell: all count as real" in caplog.text
    assert set(pd.read_csv("judged.csv")["why"]) == {"too few edges to tell"}
    nodes = pd.read_csv("nodes.csv").drop(columns="y").assign(old=1)
    nodes["rich"] = np.arange(len(nodes)) % 2
    nodes.to_csv("labels.csv", index=False)
    words = ["--nodes", "labels.csv", "--labels", "old,rich", "--out", "several.csv"]
    assert judge("--edges", "few.csv", *words) == 0
    assert "one class of a node, and not at several" in caplog.text


def test_structure_alone_will_do(folder):
    assert judge("--edges", "edges.csv", "--out", "judged.csv", "--quiet") == 0
    assert len(pd.read_csv("judged.csv")) == len(pd.read_csv("edges.csv"))


@pytest.mark.parametrize(
    "promise", [["--at-most-wrong", "0.4"], ["--find-at-least", "0.8"]]
)
def test_promises_are_kept_in_both_tables(folder, promise, capsys):
    words = ["--out", "judged.csv", "--pruned", "small.csv", "--json", "--undirected"]
    assert judge(*FILES, *words, *promise) == 0
    summary = json.loads(capsys.readouterr().out)
    counts = summary["removed"]
    table, small = pd.read_csv("judged.csv"), pd.read_csv("small.csv")
    gone = table[table["removed"]]
    assert 0 < len(gone) == counts["number"]
    assert counts["expected_right"] == pytest.approx(gone["probability"].sum(), abs=0.1)
    wrong = len(gone) - gone["probability"].sum()
    assert counts["expected_wrong"] == pytest.approx(wrong, abs=0.1)
    if "--at-most-wrong" in promise:
        assert gone["probability"].mean() <= 0.4 + 1e-4
    else:
        every = (1 - table["probability"]).sum()
        assert wrong / every >= 0.8 - 1e-4
        assert summary["wrong"] == pytest.approx(every, abs=0.1)
    stays = table[~table["removed"]].drop(columns="removed").reset_index(drop=True)
    pd.testing.assert_frame_equal(small, stays)
    assert summary["written"] == ["judged.csv", "small.csv"]


def test_the_page_says_what_the_summary_says(folder, capsys):
    words = ["--out", "judged.csv", "--report", "page.html", "--undirected", "--quiet"]
    assert judge(*FILES, *words, "--find-at-least", "0.8", "--json") == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary["written"] == ["judged.csv", "page.html"]
    text = (folder / "page.html").read_text(encoding="utf-8")
    table = pd.read_csv("judged.csv").sort_values("probability")
    number = summary["removed"]["number"]
    promise = "as few as find 80\u00a0% of the wrong ones"
    assert f"To remove: {number:,} edges, {promise}." in text
    assert f"{(table['probability'][table['why'] != LOOP] <= 0.5).sum()} of" in text
    rows = re.findall(r"<tr><td><bdi>(.*?)</bdi></td><td><bdi>(.*?)</bdi>", text)
    assert rows == [*zip(table["src"], table["dst"], strict=True)][: len(rows)]
    assert len(rows) == 200 and table["why"].iloc[0] in text
    assert judge(*FILES, *words, "--overwrite") == 0
    assert "a probability of at most 0.5" in (folder / "page.html").read_text("utf-8")


def test_a_named_data_set_is_judged_too(folder, capsys):
    assert judge("karate", "--out", "club.csv", "--json") == 0
    assert json.loads(capsys.readouterr().out)["edges"] == 156
    assert len(pd.read_csv("club.csv")) == 156


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--at-most-wrong", "0.1", "--find-at-least", "0.9"], "exclude each other"),
        (["--at-most-wrong", "1.5"], "`--at-most-wrong` must be above 0 and below 1"),
        (["--find-at-least", "0"], "`--find-at-least` must be above 0 and below 1"),
        (["--label", "z", "--nodes", "nodes.csv"], "no column 'z'"),
        (["--src", "from"], "no column 'from' for the source"),
        (["--label", "y"], "`--label` needs `--nodes`"),
        (["--out", "judged.txt"], "`--out` must end in"),
        (["--report", "page.csv"], "`--report` must end in .html, got page.csv"),
        (["--report", "old.html"], "choose another `--report`, or replace it with"),
        (["--report", "no/page.html"], "`--report` must be in a folder that exists"),
        (["--pruned", "edges.csv"], "must not be the file of `--edges`"),
        (["--out", "old.csv"], "exists already"),
        (["--edges", "loops.csv"], "'loops' has no edges to judge"),
        (["--edges", "nothing.csv"], "No such file"),
    ],
)
def test_mistakes_are_one_sentence_and_write_nothing(folder, words, sentence, capsys):
    (folder / "old.csv").write_text("mine")
    (folder / "old.html").write_text("mine")
    (folder / "loops.csv").write_text("src,dst\na,a\n")
    before = {path.name for path in folder.iterdir()}
    assert judge("--edges", "edges.csv", "--out", "new.csv", "--quiet", *words) == 1
    told = capsys.readouterr().err
    assert told.startswith("error: ") and told.count("\n") == 1
    assert sentence in told
    assert {path.name for path in folder.iterdir()} == before
    assert (folder / "old.csv").read_text() == "mine"
    assert (folder / "old.html").read_text() == "mine"


def test_data_sets_of_several_graphs_are_refused(folder, monkeypatch, capsys):
    monkeypatch.setattr("sgat.data.load", lambda *_, **__: [block_graph()] * 2)
    assert judge("ppi", "--out", "judged.csv", "--quiet") == 1
    assert "The data set has 2 graphs" in capsys.readouterr().err
