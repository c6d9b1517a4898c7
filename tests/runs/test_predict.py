import contextlib
import dataclasses
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from support.settings import request_for
from support.small_data import block_graph, several_graphs
from support.small_files import copy_trained
from support.small_run import finished

import sgat
from sgat.runs.finished_run import open_run
from sgat.runs.predict import predict_files, predict_run
from sgat.runs.request import start_run
from sgat.runs.run import run

SIZE = 40
LABELS = ("u", "v", "w")


def tables(seed: int, prefix: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """A random graph whose class is told by one feature, and three labels."""
    generator = np.random.default_rng(seed)
    ids = np.array([f"{prefix}{i}" for i in range(SIZE)])
    ends = generator.integers(SIZE, size=(2, 3 * SIZE))
    edges = pd.DataFrame({"src": ids[ends[0]], "dst": ids[ends[1]]})
    edges["since"] = np.arange(len(edges))
    size = generator.normal(size=SIZE)
    nodes = pd.DataFrame({"id": ids, "size": size})
    nodes["colour"] = generator.choice(["red", "green", "blue"], SIZE)
    nodes["y"] = np.where(size > 0, "big", "small")
    for label in LABELS:
        nodes[label] = (generator.normal(size=SIZE) > 0).astype(int)
    return edges, nodes


def fit_run(out: str, **options) -> None:
    given = {"edges": "e.csv", "nodes": "n.csv", "standardise": True, "keep": 0.6}
    given |= {"out": out, "epochs": 5, "hidden": 5, "device": "cpu"}
    request = request_for({**given, **options})
    run(*start_run(request, overwrite=False))


def write_tables() -> None:
    for number, suffix in enumerate(("", "2")):
        edges, nodes = tables(number, "ab"[number])
        edges.to_csv(f"e{suffix}.csv", index=False)
        nodes.to_csv(f"n{suffix}.csv", index=False)


@pytest.fixture
def place(tmp_path, monkeypatch) -> Path:
    """A folder with files to train on, e.csv and n.csv, and new ones, e2 and n2."""
    monkeypatch.chdir(tmp_path)
    write_tables()
    return tmp_path


@pytest.fixture(scope="module")
def original(tmp_path_factory) -> Path:
    """The same with a run on the files, `mine`, that the tests copy."""
    folder = tmp_path_factory.mktemp("original")
    with contextlib.chdir(folder):
        write_tables()
        fit_run("mine", label="y", drop=LABELS)
    return folder


@pytest.fixture
def trained(original, tmp_path, monkeypatch) -> Path:
    """A copy of the files and of the run on them."""
    copy_trained(original, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def new_features() -> torch.Tensor:
    """The features of the new nodes, worked out from the training file by hand."""
    old, new = pd.read_csv("n.csv"), pd.read_csv("n2.csv")
    size = (new["size"] - old["size"].mean()) / old["size"].std(ddof=0)
    hot = [(new["colour"] == c).astype(float) for c in ("blue", "green", "red")]
    columns = np.stack([size, *hot], axis=1)
    return torch.tensor(columns, dtype=torch.float32)


def new_edges() -> torch.Tensor:
    edges = pd.read_csv("e2.csv")
    return torch.tensor(
        np.stack([edges[e].str[1:].astype(int) for e in ("src", "dst")])
    )


def test_new_files_are_read_as_those_of_the_run_were(trained):
    (trained / "e.csv").unlink()
    found = predict_files(open_run("mine"), "e2.csv", "n2.csv")
    clf = sgat.load("mine")
    x, edges = new_features(), new_edges()
    wanted = clf.predict_proba(x.numpy(), edges.numpy())
    table = found.nodes.to_pandas()
    nodes = pd.read_csv("n2.csv")
    assert list(table["id"]) == list(nodes["id"])
    assert list(table.columns) == [
        *("id", "prediction", "label"),
        *("probability_big", "probability_small"),
    ]
    for number, name in enumerate(("big", "small")):
        np.testing.assert_allclose(
            table[f"probability_{name}"], wanted[:, number], atol=1e-5
        )
    assert list(table["label"]) == list(nodes["y"])
    right = (table["prediction"] == nodes["y"]).mean()
    assert found.to_dict()["accuracy"] == pytest.approx(right)
    assert found.scored == SIZE
    scores = clf.score_edges(x.numpy(), edges.numpy()).set_index(["src", "dst"])
    given = found.edges.to_pandas()
    assert list(given["since"]) == list(range(3 * SIZE))
    for row in given.itertuples():
        ends = int(row.src[1:]), int(row.dst[1:])
        if ends[0] == ends[1]:
            assert row.kept and np.isnan(row.log_alpha)
        else:
            assert row.log_alpha == pytest.approx(scores.loc[ends, "log_alpha"], 1e-4)
            assert row.kept == scores.loc[ends, "kept"]
    assert found.num_kept == int(scores["kept"].sum())


def test_without_labels_nothing_is_scored(trained):
    full = predict_files(open_run("mine"), "e2.csv", "n2.csv")
    pd.read_csv("n2.csv").drop(columns=["y", "u"]).to_parquet("n3.parquet")
    found = predict_files(open_run("mine"), "e2.csv", "n3.parquet")
    assert found.score is None and found.scored == 0
    assert "label" not in found.nodes.column_names
    assert found.nodes.equals(full.nodes.drop_columns(["label"]))


def test_several_labels_with_and_without(place):
    fit_run("mine", labels=LABELS, drop=("y",))
    found = predict_files(open_run("mine"), "e2.csv", "n2.csv")
    nodes, table = pd.read_csv("n2.csv"), found.nodes.to_pandas()
    true = nodes[list(LABELS)].to_numpy() > 0
    guess = table[[f"prediction_{label}" for label in LABELS]].to_numpy()
    assert (table[[f"label_{label}" for label in LABELS]].to_numpy() == true).all()
    f1 = 2 * (true & guess).sum() / (true.sum() + guess.sum())
    assert found.to_dict()["micro_f1"] == pytest.approx(f1)
    nodes.drop(columns=list(LABELS)).to_csv("n3.csv", index=False)
    bare = predict_files(open_run("mine"), "e2.csv", "n3.csv")
    assert bare.score is None
    assert bare.nodes.column_names == [
        name for name in table.columns if not name.startswith("label_")
    ]


def test_own_data_gives_what_the_run_wrote(trained):
    found = predict_run(open_run("mine"))
    pd.testing.assert_frame_equal(
        found.nodes.to_pandas(), pd.read_parquet("mine/nodes.parquet")
    )
    pd.testing.assert_frame_equal(
        found.edges.to_pandas(), pd.read_parquet("mine/edges.parquet")
    )
    summary = open_run("mine").summary
    assert found.score == pytest.approx(summary["accuracy"])
    assert found.scored == summary["test_nodes"]


def test_symmetric_gates_read_new_edges_both_ways(place):
    edges = pd.read_csv("e.csv").drop_duplicates(["src", "dst"])
    back = edges.rename(columns={"src": "dst", "dst": "src"})
    both = pd.concat([edges, back]).drop_duplicates(["src", "dst"])
    both.to_csv("e.csv", index=False)
    fit_run("mine", label="y", drop=LABELS, symmetric=True)
    found = predict_files(open_run("mine"), "e2.csv", "n2.csv")
    src, dst = new_edges()
    both = torch.cat([torch.stack([src, dst]), torch.stack([dst, src])], dim=1)
    pairs = {tuple(pair) for pair in both.T.tolist() if pair[0] != pair[1]}
    assert found.num_edges == len(pairs)


def test_a_transductive_run_refuses_new_edges_only(place):
    fit_run("mine", label="y", drop=LABELS, gate_mode="transductive")
    with pytest.raises(ValueError, match="Transductive gates know the edges"):
        predict_files(open_run("mine"), "e2.csv", "n2.csv")
    again = predict_files(open_run("mine"), "e.csv", "n.csv")
    assert again.num_kept == int(predict_run(open_run("mine")).num_kept)


def test_without_features_only_the_same_nodes_are_known(place):
    fit_run("mine", label="y", features=())
    with pytest.raises(ValueError, match="so it knows its own nodes only"):
        predict_files(open_run("mine"), "e2.csv", "n2.csv")
    edges = pd.read_csv("e.csv")
    edges.iloc[:20].to_csv("fewer.csv", index=False)
    found = predict_files(open_run("mine"), "fewer.csv", "n.csv")
    assert found.num_nodes == SIZE and found.num_edges <= 20


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"colour": "pink"}, "'colour': 'pink' is not among the 3 categories"),
        ({"size": None}, "column 'size': a value is needed"),
        ({"size": "big"}, "column 'size': must be a number, got 'big'"),
        ({"y": "huge"}, "column 'y': 'huge' is not among the classes"),
        ({"id": "other"}, "'b7' is not an id of n3.csv"),
    ],
)
def test_a_value_that_does_not_fit_is_named(trained, change, message):
    nodes = pd.read_csv("n2.csv").astype(object)
    ((column, value),) = change.items()
    nodes.loc[7, column] = value
    nodes.to_csv("n3.csv", index=False)
    with pytest.raises(ValueError, match=message):
        predict_files(open_run("mine"), "e2.csv", "n3.csv")
    if column == "colour":
        options = {"unknown_category": "zero"}
        found = predict_files(open_run("mine"), "e2.csv", "n3.csv", options=options)
        assert found.num_nodes == SIZE


def test_missing_feature_columns_are_named(trained):
    pd.read_csv("n2.csv").drop(columns="size").to_csv("n3.csv", index=False)
    with pytest.raises(ValueError, match=r"n3\.csv: no column 'size' for features"):
        predict_files(open_run("mine"), "e2.csv", "n3.csv")
    with pytest.raises(ValueError, match="`edges` needs `nodes`"):
        predict_files(open_run("mine"), "e2.csv")
    (trained / "mine" / "encoding.json").write_text("{", encoding="utf-8")
    with pytest.raises(ValueError, match=r"encoding\.json is damaged"):
        predict_files(open_run("mine"), "e2.csv", "n2.csv")


def test_several_graphs_are_predicted_together(tmp_path):
    graphs = several_graphs()
    folder, _, _, summary = finished(tmp_path / "r", graphs)
    found = predict_run(open_run(folder.path))
    table = found.nodes.to_pandas()
    assert list(table["graph"].unique()) == [data.name for data in graphs]
    assert found.score == summary["micro_f1"]
    assert found.scored == graphs[-1].num_nodes
    assert len(found.edges) == sum(data.graph.num_edges for data in graphs)


def test_without_test_nodes_all_labelled_ones_are_scored(tmp_path):
    data = block_graph()
    nobody = torch.zeros_like(data.test)
    data = dataclasses.replace(data, y=data.y.clone())
    data.y[-50:] = -1
    data = data.with_split(data.train & (data.y >= 0), nobody, nobody)
    folder, *_ = finished(tmp_path / "r", [data])
    found = predict_run(open_run(folder.path))
    nodes = pd.read_parquet(folder.nodes).dropna(subset="label")
    assert found.scored == len(nodes) == data.num_nodes - 50
    right = (nodes["label"] == nodes["prediction"]).mean()
    assert found.score == pytest.approx(right)


@pytest.mark.parametrize(
    ("readout", "undirected"),
    [("attention", False), ("diffusion", True), ("beliefs", False)],
)
def test_gates_by_evidence_say_of_the_same_files_what_they_said_in_training(
    place, readout, undirected
):
    fit_run(
        "mine", label="y", scorer="evidence", readout=readout, undirected=undirected
    )
    again = predict_files(open_run("mine"), "e.csv", "n.csv")
    for name, found in (("nodes", again.nodes), ("edges", again.edges)):
        before = pd.read_parquet(f"mine/{name}.parquet")
        # The split was drawn, and is not in the files.
        before = before.drop(columns="split", errors="ignore")
        after = found.to_pandas()[list(before.columns)]
        pd.testing.assert_frame_equal(after, before, check_exact=True)
    own = predict_run(open_run("mine"))
    assert own.nodes.drop_columns("split").equals(again.nodes)


def test_gates_by_evidence_look_at_the_graph_at_hand(place):
    fit_run("mine", label="y", scorer="evidence")
    found = predict_files(open_run("mine"), "e2.csv", "n2.csv")
    few = pd.read_csv("e2.csv").iloc[::2]
    few.to_csv("few.csv", index=False)
    other = predict_files(open_run("mine"), "few.csv", "n2.csv")
    joined = few.merge(found.edges.to_pandas(), on=["src", "dst", "since"])
    assert len(joined) == len(other.edges)
    change = joined["log_alpha"].to_numpy() - other.edges["log_alpha"].to_numpy()
    assert np.nanmax(np.abs(change)) > 1e-3
