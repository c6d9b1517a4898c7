"""Edges of PyG, networkx, arrays and files, judged in the order they were given."""

import dataclasses
import functools
import re

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.metrics import roc_auc_score

import sgat
from sgat.judging import judged_edges
from sgat.judging.judged_edges import REASONS, JudgedEdges
from sgat_lab.synthetic.block_models import contextual_block_model

MADE = contextual_block_model(
    num_nodes=307, num_classes=3, num_features=11, feature_signal=2.0, seed=3
)
SRC, DST = MADE.data.graph.src.numpy(), MADE.data.graph.dst.numpy()
ONE_WAY = np.flatnonzero(SRC < DST)
EDGES = pd.DataFrame({"src": [1, 2], "dst": [2, 3]})
ORDER = np.random.default_rng(0).permutation(ONE_WAY)
"""One direction of every edge, shuffled."""


def pyg_data():
    torch_data = pytest.importorskip("torch_geometric.data")
    index = torch.from_numpy(np.stack([SRC[ORDER], DST[ORDER]]))
    more = {"edge_attr": torch.arange(len(ORDER)), "y": MADE.data.y}
    return torch_data.Data(x=MADE.data.x, edge_index=index, **more)


def networkx_graph():
    graph = nx.Graph()
    for node in range(MADE.data.num_nodes):
        graph.add_node(node, x=MADE.data.x[node].tolist(), y=int(MADE.data.y[node]))
    graph.add_edges_from(zip(SRC[ORDER].tolist(), DST[ORDER].tolist(), strict=True))
    return graph


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    edges = pd.DataFrame({"src": SRC[ORDER], "dst": DST[ORDER], "since": ORDER})
    edges.to_csv(folder / "edges.csv", index=False)
    nodes = pd.DataFrame(MADE.data.x.numpy()).add_prefix("f")
    nodes.insert(0, "id", range(len(nodes)))
    nodes["y"] = MADE.data.y.numpy()
    nodes.to_csv(folder / "nodes.csv", index=False)
    return folder / "edges.csv", folder / "nodes.csv"


def judge(kind, files):
    if kind == "pyg":
        return sgat.judge(pyg_data())
    if kind == "networkx":
        return sgat.judge(networkx_graph())
    if kind == "arrays":
        edges = np.stack([SRC[ORDER], DST[ORDER]])
        return sgat.judge(MADE.data.x.numpy(), edges, MADE.data.y.numpy())
    how = {"label": "y", "undirected": True}
    if kind == "tables":
        edges, nodes = map(pd.read_csv, files)
        return sgat.judge(edges, nodes=nodes, **how)
    return sgat.judge(files[0], nodes=files[1], **how)


@pytest.fixture(scope="module")
def judged(files):
    """Gives each kind of data judged, always the same: only to be read."""
    return functools.cache(lambda kind: judge(kind, files))


def rows_of(graph):
    place = {pair: n for n, pair in enumerate(zip(SRC, DST, strict=True))}
    return [place[min(a, b), max(a, b)] for a, b in graph.edges()]


@pytest.mark.parametrize("kind", ["pyg", "networkx", "arrays", "files", "tables"])
def test_every_kind_of_data_is_judged_in_its_order(kind, judged):
    found = judged(kind)
    rows = rows_of(networkx_graph()) if kind == "networkx" else ORDER
    signal = MADE.is_signal.numpy()[rows]
    assert found.probability.shape == (len(rows),)
    assert found.probability.dtype == torch.float32
    assert ((found.probability >= 0) & (found.probability <= 1)).all()
    assert roc_auc_score(signal, found.probability) > 0.75
    assert found.num_edges == len(rows)
    mean = float(found.probability.double().mean())
    assert found.wrong_share == pytest.approx(1 - mean, abs=1e-6)
    assert set(found.why.tolist()) <= set(REASONS)
    assert repr(found).startswith(f"JudgedEdges({len(rows)} edges, ")


@pytest.mark.parametrize("kind", ["pyg", "networkx", "arrays", "files", "tables"])
def test_removing_gives_back_the_same_kind_without_the_edges_that_go(kind, judged):
    found = judged(kind)
    gone = found.choose(find_at_least=0.5)
    assert 0 < gone.number < found.num_edges
    small, stays = found.remove(find_at_least=0.5), (~gone.mask).numpy()
    if kind == "pyg":
        assert small.edge_attr.tolist() == np.flatnonzero(stays).tolist()
    elif kind == "networkx":
        expected = [
            e for e, s in zip(networkx_graph().edges(), stays, strict=True) if s
        ]
        assert list(small.edges()) == expected
    elif kind == "arrays":
        edges, weight = small
        assert edges.T.tolist() == np.stack([SRC, DST], 1)[ORDER][stays].tolist()
        assert (weight == 1).all()
    else:
        assert small.column("since").to_pylist() == ORDER[stays].tolist()
        assert small.column_names == ["src", "dst", "since", "probability", "why"]


def test_structure_alone_will_do(files):
    found = sgat.judge(None, np.stack([SRC, DST]))
    assert found.num_edges == len(SRC)
    assert np.isfinite(found.probability.numpy()).all()
    for edges in (str(files[0]), pd.read_csv(files[0])):
        assert sgat.judge(edges, undirected=True).num_edges == len(ORDER)


def test_loops_are_not_judged_and_stay():
    loops = np.array([[5, 7], [5, 7]])
    edges = np.concatenate([loops, np.stack([SRC, DST])], axis=1)
    found = sgat.judge(MADE.data.x, edges)
    assert found.is_loop[:2].all() and not found.is_loop[2:].any()
    assert found.probability[:2].tolist() == [1, 1]
    assert found.why[0] == "self-loop, not judged"
    assert found.num_edges == len(SRC)
    gone = found.choose(find_at_least=0.99)
    assert not gone.mask[:2].any()
    assert gone.number > 0


def test_only_classes_of_training_nodes_are_looked_at(monkeypatch):
    seen = []

    def judge(graph, x, y, *, train=None, **more):
        seen.append(y if train is None else torch.where(train, y, -1))
        return original(graph, x, y, train=train, **more)

    original = sgat.judging.edge_judge.judge
    monkeypatch.setattr(sgat.judging.edge_judge, "judge", judge)
    data = pyg_data()
    # Too few to be told apart: only what is looked at matters here.
    data.edge_index, data.edge_attr = data.edge_index[:, :19], data.edge_attr[:19]
    sgat.judge(data)
    assert torch.equal(seen[-1], data.y)
    data.train_mask = torch.arange(len(data.y)) < 100
    sgat.judge(data)
    assert torch.equal(seen[-1][:100], data.y[:100])
    assert (seen[-1][100:] == -1).all()


def test_the_table_has_the_rows_of_the_file_and_new_columns(judged):
    found = judged("files")
    gone = found.choose(at_most_wrong=0.4)
    table = found.table(gone).to_pandas()
    assert table["since"].tolist() == ORDER.tolist()
    assert np.allclose(table["probability"], found.probability)
    assert table["why"].tolist() == found.why.tolist()
    assert table["removed"].tolist() == gone.mask.tolist()
    assert "removed" not in found.table().column_names
    with pytest.raises(ValueError, match="`data` must be files"):
        judged("arrays").table()


@pytest.mark.parametrize(
    ("arguments", "options", "sentence"),
    [
        (("edges.csv",), {"y": [1]}, "`y` goes with plain arrays, not with files"),
        (("edges.csv",), {"lable": "y"}, "did you mean 'label'"),
        (("edges.csv",), {"label": "y"}, "`label` needs `nodes`"),
        ((pd.DataFrame({"a": [1]}),), {}, "edges: no column 'src' for the source"),
        ((EDGES,), {"train": [1]}, "`train` goes with plain arrays, not with files"),
        ((EDGES,), {"label": "y"}, "`label` needs `nodes`"),
        ((EDGES,), {"nodes": "nodes.csv"}, "`nodes` must be a table, as `data` is"),
        ((MADE.data,), {"nodes": "nodes.csv"}, "`nodes` goes with an edge file"),
        (([MADE.data, MADE.data],), {}, "`data` must be one graph, got 2"),
        ((np.ones((3, 2)), np.zeros((2, 0), int)), {}, "has no edges to judge"),
        ((3,), {}, "`data` must be a PyG Data"),
        (
            (np.ones((3, 2)), np.zeros((2, 0), int)),
            {"edge_columns": ["a"]},
            "`edge_columns` must name columns of a pandas table `edges`, got 'a'",
        ),
        ((EDGES,), {"edge_columns": ["src", "src"]}, "must name each column once, got"),
        ((EDGES,), {"drop": ["sinc"]}, "`drop` must name columns of 'src', 'dst', "),
        (
            (EDGES.assign(mixed=[1, "a"] * (len(EDGES) // 2)),),
            {},
            "edges, column 'mixed': must hold values of one type; `astype",
        ),
    ],
)
def test_mistakes_are_one_sentence(arguments, options, sentence):
    with pytest.raises(ValueError, match=sentence):
        sgat.judge(*arguments, **options)


def test_the_public_function_is_no_module():
    assert callable(sgat.judge)
    few = MADE.data.select_edges(torch.arange(len(SRC)) < 19)
    assert isinstance(sgat.judge(few), JudgedEdges)


@pytest.mark.parametrize(
    "index",
    [
        pd.Index(["x", "y"]),
        pd.Index(["x", "y"], name="src"),
        pd.RangeIndex(5, 3, -1, name="row"),
        pd.MultiIndex.from_tuples([(1, "a"), (0, "b")], names=["n", None]),
    ],
)
def test_the_index_of_a_pandas_table_comes_back(index):
    edges = EDGES.set_axis(index)
    found = sgat.judge(edges).table().to_pandas()
    assert found.index.equals(index)
    assert found[["src", "dst"]].equals(edges)
    assert list(found)[2:] == ["probability", "why"]


def test_words_of_many_rows_come_in_parts(judged, monkeypatch):
    # Text beyond a size is no single array: a million rows made `sgat judge` fail.
    monkeypatch.setattr(judged_edges, "ROWS_AT_ONCE", 7)
    found = judged("files")
    column = found.table()["why"]
    assert column.num_chunks > 1
    assert column.to_pylist() == found.why.tolist()


@pytest.mark.parametrize("kind", ["networkx", "arrays", "files"])
def test_a_notebook_shows_the_most_suspicious_edges(kind, judged):
    found = judged(kind)
    page = found._repr_html_()
    assert f"{len(ORDER)} edges, {found.wrong_share:.1%} wrong" in page
    cells = np.array(re.findall(r"<td>(.*?)</td>", page)).reshape(10, 4)
    worst = np.argsort(found.probability.numpy(), kind="stable")[:10]
    assert np.allclose(cells[:, 2].astype(float), found.probability[worst], atol=6e-4)
    if kind != "networkx":
        ends = np.stack([SRC[ORDER[worst]], DST[ORDER[worst]]], axis=1).astype(str)
        wanted = np.column_stack([ends, found.why[worst]]).tolist()
        assert sorted(cells[:, [0, 1, 3]].tolist()) == sorted(wanted)


def test_a_notebook_shows_an_edge_once_and_ids_as_they_are():
    few = MADE.data.select_edges(torch.arange(len(SRC)) < 19)
    ids = np.array([f"<b>{node}</b>" for node in range(few.num_nodes)])
    both = dataclasses.replace(few.graph.undirected(), input_edge=None)
    data = dataclasses.replace(few, graph=both, node_ids=ids)
    page = sgat.judge(data)._repr_html_()
    assert "<b>" not in page and page.count("<tr>") == 10
    ends = re.findall(r"<td>&lt;b&gt;(\d+)", page)
    pairs = {tuple(sorted(pair)) for pair in zip(ends[::2], ends[1::2], strict=True)}
    assert len(pairs) == 10


def test_a_notebook_shows_no_self_loops():
    edges = np.array([[0, 1, 2, 2], [1, 2, 0, 2]])
    page = sgat.judge(np.eye(3), edges)._repr_html_()
    assert page.count("<tr>") == 3


def test_a_label_that_no_node_has_is_said(caplog: pytest.LogCaptureFixture):
    club = nx.karate_club_graph()
    sgat.judge(club, label="side")
    assert "no node has a label 'side': judged without classes." in caplog.text
    caplog.clear()
    sgat.judge(club, label="club")
    assert "judged without classes" not in caplog.text
    with pytest.raises(
        ValueError, match=r"'clbu', the `label`; did you mean 'club'\?$"
    ):
        sgat.judge(club, label="clbu")
