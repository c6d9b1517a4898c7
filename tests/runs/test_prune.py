import json
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import torch
from support.settings import request_for

from sgat import Config, Graph, NodeData
from sgat.config.pruning import PruneRequest
from sgat.data.configured import Loaded
from sgat.models import SGAT
from sgat.pruning import Rules
from sgat.runs.folder import RunFolder
from sgat.runs.prune import prune_run
from sgat.runs.request import start_run
from sgat.runs.run import run

SCORES = ["log_alpha", "probability", "gate"]


@pytest.fixture(autouse=True)
def in_a_new_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def finish(csv_files, **options):
    """A run `mine` on the files."""
    names = [name.removeprefix("--") for name in csv_files[::2]]
    files = dict(zip(names, csv_files[1::2], strict=True))
    given = {**files, "out": "mine", "epochs": 3, "keep": 0.5, **options}
    run(*start_run(request_for(given), overwrite=False))


def prune(**options):
    request = PruneRequest(Path("mine"), Path("small.parquet"), **options)
    return prune_run(request, lambda stage: None)


def kept_rows():
    """The rows of edges.parquet that the model keeps, as `prune` writes them."""
    table = pd.read_parquet("mine/edges.parquet")
    kept = table[table["kept"]].reset_index(drop=True)
    return kept.drop(columns=["kept", "attention"])


@pytest.fixture
def nothing_is_computed(monkeypatch):
    """Make judging, scoring, reading data and building a network raise."""

    def fail(*arguments, **options):
        raise AssertionError("something was computed")

    for name in ("__init__", "forward", "compute", "log_alpha", "score_edges"):
        monkeypatch.setattr(SGAT, name, fail)
    monkeypatch.setattr("sgat.conv.SGATConv.score", fail)
    for name in ("open_run", "read_model", "read_table", "node_scores", "RowScores"):
        monkeypatch.setattr(f"sgat.runs.prune.{name}", fail)
    monkeypatch.setattr(torch.nn.Module, "__call__", fail)


@pytest.mark.parametrize(
    "options",
    [
        *({"scorer": name} for name in ("additive", "cosine", "bilinear", "gatv2")),
        *({"scorer": name} for name in ("structure", "evidence")),
        {"gate_mode": "transductive"},
        {"undirected": True},
        {"scorer": "evidence", "keep": 0.5},
    ],
    ids=str,
)
def test_edges_of_a_run_are_pruned_by_their_stored_scores(options, csv_files, request):
    finish(csv_files, **options)
    # The data may be gone.
    for name in ("edges.csv", "nodes.csv"):
        Path(name).unlink()
    request.getfixturevalue("nothing_is_computed")
    summary = prune()
    found, expected = pd.read_parquet("small.parquet"), kept_rows()
    assert 0 < summary["kept"] == len(expected) < summary["rows"] == 30
    assert list(found.columns) == ["src", "dst", "since", *SCORES]
    for name in ("src", "dst", "since", "log_alpha"):
        assert found[name].tolist() == expected[name].tolist()
    for name in ("probability", "gate"):
        assert np.allclose(found[name], expected[name], atol=1e-6)
    prune(rules=Rules(keep=0.2, min_degree=1, keep_connected=True), overwrite=True)
    assert len(pd.read_parquet("small.parquet")) >= 29
    with pytest.raises(AssertionError, match="something was computed"):
        prune(edges=Path("mine/edges.parquet"), overwrite=True)


def several_graphs(seed):
    """Two graphs whose node ids are the same."""
    generator = torch.Generator().manual_seed(seed)
    graphs = []
    for number, role in enumerate(("train", "val")):
        ends = torch.randint(0, 23, (2, 140), generator=generator)
        roles = {name: torch.full((23,), name == role) for name in ("train", "val")}
        data = NodeData(
            Graph.from_edges(ends[:, ends[0] != ends[1]], 23, say_merged=False),
            torch.randn(23, 5, generator=generator),
            torch.arange(23) % 2,
            **roles,
            test=torch.zeros(23, dtype=torch.bool),
            classes=("a", "b"),
            node_ids=np.array([f"n{k}" for k in range(23)], dtype=object),
            name=f"part-{number}",
        )
        graphs.append(data)
    return graphs


def test_ids_of_several_graphs_may_be_the_same(seed, request):
    graphs = several_graphs(seed)
    settings = Config.from_dict({"data": {"name": "ppi"}, "train": {"epochs": 2}})
    run(RunFolder(Path("mine")), settings, loaded=Loaded(graphs))
    request.getfixturevalue("nothing_is_computed")
    table = pd.read_parquet("mine/edges.parquet")
    assert table["graph"].unique().tolist() == ["part-0", "part-1"]
    prune(rules=Rules(threshold=99.0, min_degree=1))
    found = pd.read_parquet("small.parquet")
    assert list(found.columns) == ["graph", "src", "dst", "weight", *SCORES]
    best = table.loc[table.groupby(["graph", "dst"])["log_alpha"].idxmax()]
    names = ["graph", "src", "dst", "log_alpha"]
    assert found[names].equals(best.sort_index()[names].reset_index(drop=True))
    with pytest.raises(ValueError, match="mine has several graphs, whose ids may be"):
        prune(edges=Path("mine/edges.parquet"), overwrite=True)


def test_the_summary_names_the_threshold_of_the_gates(csv_files):
    finish(csv_files, scorer="additive")
    own = prune()["threshold"]
    assert own == pytest.approx(2 / 3 * np.log(0.1 / 1.1))
    summary = prune(rules=Rules(threshold=-7.0), overwrite=True)
    assert summary["threshold"] == -7.0 and json.dumps(summary)


@pytest.mark.parametrize("undirected", [False, True])
def test_stored_scores_that_do_not_fit_the_request_are_refused(csv_files, undirected):
    finish(csv_files, scorer="additive", undirected=undirected, symmetric=False)
    with pytest.raises(ValueError, match=r"`undirected` must be as in the run for the"):
        prune(undirected=not undirected)
    given = {"edges": Path("edges.csv"), "overwrite": True}
    prune(undirected=not undirected, **given)
    for both in ("min", "mean"):
        rules = Rules(symmetric=both)
        if undirected:
            with pytest.raises(ValueError, match="`symmetric` must be max for the"):
                prune(rules=rules, overwrite=True)
        prune(rules=rules, **given)


def test_features_of_a_file_are_encoded_as_in_the_run(csv_files):
    finish(csv_files, scorer="additive")
    own = pd.read_parquet("mine/edges.parquet")["log_alpha"]
    nodes = pd.read_csv("nodes.csv")
    nodes[["colour", "id", "size"]].iloc[::-1].to_parquet("other.parquet")
    everything = {"rules": Rules(threshold=-99.0), "overwrite": True}
    prune(nodes=Path("other.parquet"), **everything)
    assert np.allclose(pd.read_parquet("small.parquet")["log_alpha"], own, atol=1e-6)
    for column, value, message in (
        ("colour", "pink", r"'pink' is not among the 3 categories"),
        ("size", None, "a value is needed, got nothing"),
        ("id", "n29", "the id 'n29' occurs more than once"),
    ):
        bad = nodes.copy()
        bad[column] = bad[column].astype(object)
        bad.loc[2, column] = value
        bad.to_csv("bad.csv", index=False)
        with pytest.raises(ValueError, match=message):
            prune(nodes=Path("bad.csv"), **everything)


def test_numbers_in_a_text_file_name_the_strings_of_a_typed_one(csv_files):
    finish(csv_files, scorer="additive")
    nodes, edges = pd.read_csv("nodes.csv"), pd.read_csv("edges.csv")
    nodes["id"] = nodes["id"].str[1:].astype(int)
    edges[["src", "dst"]] = edges[["src", "dst"]].apply(
        lambda column: column.str[1:].astype(int).astype(str)
    )
    edges.to_parquet("edges.parquet")
    everything = {"rules": Rules(threshold=-99.0), "overwrite": True}
    nodes.to_csv("numbers.csv", index=False)
    given = {"edges": Path("edges.parquet"), **everything}
    prune(nodes=Path("numbers.csv"), **given)
    assert len(pd.read_parquet("small.parquet")) == len(edges)
    nodes.to_parquet("numbers.parquet")
    with pytest.raises(ValueError, match="holds strings, but the ids"):
        prune(nodes=Path("numbers.parquet"), **given)


def test_a_folder_without_a_finished_run_is_refused(csv_files, tmp_path):
    with pytest.raises(ValueError, match="There is no run folder mine; make one with"):
        prune()
    finish(csv_files)
    Path("mine/summary.json").unlink()
    with pytest.raises(ValueError, match="mine was written by `SGATClassifier"):
        prune()
    RunFolder(Path("mine")).start(Config())
    with pytest.raises(ValueError, match="The run in mine is not finished; go on with"):
        prune()


def test_a_file_that_says_that_edges_have_no_direction_is_pruned_so():
    graph = nx.star_graph(12)
    for node in graph:
        graph.nodes[node].update(size=float(node % 3), y="odd" if node % 2 else "even")
    nx.write_graphml(graph, "star.graphml")
    finish(["--edges", "star.graphml", "--label", "y"], scorer="additive")
    # Every edge is the best of its leaf, in whichever direction it stands.
    summary = prune(rules=Rules(threshold=99.0, min_degree=1))
    assert summary["kept"] == summary["rows"] == 12


JUDGED = pd.DataFrame(
    {
        "src": ["a", "b", "c", "a", "c"],
        "dst": ["b", "c", "d", "d", "c"],
        "probability": [0.2, 0.5, 0.9, 0.49, 1.0],
        "why": ["one", "two", "three", "four", "loop"],
    }
)


def prune_judged(name="judged.csv", **options):
    options = {"edges": Path(name), "overwrite": True, **options}
    request = PruneRequest(None, Path("small.csv"), **options)
    summary = prune_run(request, lambda stage: None)
    return summary, pd.read_csv("small.csv")


@pytest.mark.parametrize("name", ["judged.csv", "judged.parquet"])
def test_a_judged_table_is_pruned_without_a_run(name):
    write = JUDGED.to_csv if name.endswith("csv") else JUDGED.to_parquet
    write(name, index=False)
    summary, small = prune_judged(name)
    pd.testing.assert_frame_equal(small, JUDGED.iloc[[2, 4]].reset_index(drop=True))
    assert (summary["run"], summary["kept"], summary["removed"]) == (None, 2, 3)
    expected = {
        (("threshold", 0.6),): ["three", "loop"],
        (("keep", 0.75),): ["two", "three", "four", "loop"],
        # A tree joins all four nodes: without the edge of the lowest probability.
        (("keep", 0.25), ("keep_connected", True)): ["two", "three", "four", "loop"],
        (("threshold", 0.95), ("min_degree", 1)): ["one", "two", "three", "loop"],
    }
    for rules, why in expected.items():
        small = prune_judged(name, rules=Rules(**dict(rules)))[1]
        assert small["why"].tolist() == why


@pytest.mark.parametrize(
    ("options", "change", "sentence"),
    [
        ({"edges": None}, {}, "Name a run folder, or give a table that `sgat judge`"),
        ({"nodes": Path("judged.csv")}, {}, "`nodes` needs a run, not a judged table"),
        ({"measure": True}, {}, "`measure` needs a run"),
        ({"rules": Rules(threshold=-1)}, {}, "`threshold` must be a probability"),
        ({}, {"probability": [0.2, 1.5, 1, 1, 1]}, "from 0 to 1, got '1.5'"),
        ({}, {"probability": [0.2, None, 1, 1, 1]}, "from 0 to 1, got "),
        ({"files": {"src": "from"}}, {}, "no column 'from' for the source"),
        ({"edges": Path("plain.csv")}, {}, "no column 'probability' for the prob"),
    ],
)
def test_mistakes_with_a_judged_table_are_one_sentence(options, change, sentence):
    JUDGED.assign(**change).to_csv("judged.csv", index=False)
    JUDGED[["src", "dst"]].to_csv("plain.csv", index=False)
    with pytest.raises(ValueError, match=sentence):
        prune_judged(**options)
    assert not Path("small.csv").exists()
