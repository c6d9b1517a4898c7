"""Columns of edges that tell which are wrong, and columns that say nothing."""

import dataclasses

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.metrics import roc_auc_score
from support.device_arrays import there

import sgat
from sgat.cli import main
from sgat.data.files.encoding import FeatureColumn
from sgat.data.synthetic import inject
from sgat.judging import judge
from sgat.judging.edge_columns import fit_columns
from sgat.judging.reasons import LOOP, REASONS, phrases
from sgat_lab.synthetic.block_models import contextual_block_model

CLEAN = contextual_block_model(
    num_nodes=1009,
    num_classes=8,
    degree=10.0,
    noise_rate=0.0,
    feature_signal=2.0,
    num_features=23,
    seed=3,
).data
KINDS = {"random": 0.1, "cross-class": 0.5, "hub": 0.5}
NOISY = {kind: inject(CLEAN, kind, rate, seed=1) for kind, rate in KINDS.items()}


def pairs(graph):
    """The number of each undirected edge, the same in both directions, [E]."""
    low, high = torch.minimum(graph.src, graph.dst), torch.maximum(graph.src, graph.dst)
    return (low.long() * graph.num_nodes + high).unique(return_inverse=True)[1]


def made(kind, wrong, graph, seed=0):
    """Numbers of the edges that tell the wrong ones in full, in part, or not at all."""
    draw, number = np.random.default_rng(seed), pairs(graph).numpy()
    is_wrong = np.zeros(number.max() + 1, bool)
    is_wrong[number] = wrong
    size, share = len(is_wrong), is_wrong.mean()
    if kind == "sources":
        value = np.eye(20)[draw.integers(20, size=size)]
    elif kind == "numbers":
        value = np.exp(2 * draw.normal(size=(size, 3)))
    elif kind == "time":
        value = draw.normal(0, np.where(is_wrong, 0.5, 2))[:, None]
    else:
        # Edges of B are wrong always, or half of the time.
        right = {"full": 0, "half": share / (1 - share)}[kind]
        value = np.eye(2)[(is_wrong | (draw.random(size) < right)).astype(int)]
    return torch.tensor(value, dtype=torch.float32)[number]


def judged(data, columns):
    graph = dataclasses.replace(data.graph, edge_attr=columns)
    return judge(graph, data.x, data.y, train=data.train)


@pytest.fixture(scope="module")
def without():
    return {kind: judged(noisy.data, None) for kind, noisy in NOISY.items()}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("column", ["full", "half", "time"])
def test_a_column_that_tells_finds_wrong_edges(kind, column, without):
    noisy, before = NOISY[kind], without[kind]
    wrong = noisy.added.numpy()
    after = judged(noisy.data, made(column, wrong, noisy.data.graph))
    missed = [1 - roc_auc_score(~wrong, f.graph.log_odds) for f in (before, after)]
    assert missed[1] < missed[0] * {"full": 0.02, "half": 0.75, "time": 0.75}[column]
    off = [abs(found.noise_share - wrong.mean()) for found in (before, after)]
    assert off[1] < off[0] + 0.02
    if column == "full":
        assert off[1] < 0.04


@pytest.mark.parametrize("column", ["sources", "numbers"])
def test_columns_that_say_nothing_change_nothing(column, without, seed):
    for kind, noisy in NOISY.items():
        value = made(column, noisy.added.numpy(), noisy.data.graph, seed)
        found = judged(noisy.data, value).graph.log_odds
        # By chance, hardly ever, they seem to say a little.
        assert (found - without[kind].graph.log_odds).abs().mean() < 0.2


@pytest.mark.parametrize("column", ["sources", "numbers", "full"])
def test_a_clean_graph_stays_clean(column, seed):
    none = np.zeros(CLEAN.graph.num_edges, bool)
    # "full" marks edges at some nodes here.
    mark = (CLEAN.graph.src % 9 + CLEAN.graph.dst % 9 < 5).numpy()
    value = made(column, mark if column == "full" else none, CLEAN.graph, seed)
    assert judged(CLEAN, value).noise_share < 0.03


def test_few_edges_prove_little():
    noisy = NOISY["hub"]
    few = noisy.data.graph.src.max() // 9
    kept = (noisy.data.graph.src < few) & (noisy.data.graph.dst < few)
    graph = noisy.data.graph.select(kept)
    value = made("half", noisy.added[kept].numpy(), graph)
    found = [
        judge(dataclasses.replace(graph, edge_attr=attr), CLEAN.x).probability
        for attr in (None, value)
    ]
    assert 30 < graph.num_edges < 300 and torch.equal(*found)


def test_both_directions_count_by_their_mean():
    noisy = NOISY["random"]
    graph = noisy.data.graph
    value = made("time", noisy.added.numpy(), graph)
    shift = torch.where(graph.src < graph.dst, 1.0, -1.0)[:, None]
    found = [judged(noisy.data, v).probability for v in (value, value + shift)]
    torch.testing.assert_close(*found, atol=0.01, rtol=0)


def test_weights_are_those_of_the_edges_that_are_unlike():
    draw = np.random.default_rng(0)
    kind = draw.integers(4, size=8000)
    wrong = draw.random(8000) < np.array([0.05, 0.05, 0.6, 0.05])[kind]
    score = draw.normal(size=8000) + np.where(wrong, 0, 2.5)
    prior = np.full(8000, np.log(0.18 / 0.82))
    columns = np.eye(4, dtype=np.float32)[kind]
    told = fit_columns(score, prior, columns)
    odds = told.of_edges() + prior
    assert told.trust > 0.9
    assert abs(odds[kind == 2].mean() - np.log(0.6 / 0.4)) < 0.5
    assert (odds[kind != 2] < -1.5).all()
    # Beside a prior that knows it, the column says nothing more.
    assert fit_columns(score, odds, columns) is None
    assert fit_columns(score, prior, np.ones_like(columns)) is None
    # On a GPU as in memory.
    apart = fit_columns(there(score), there(prior), columns)
    np.testing.assert_array_equal(apart.of_edges(), told.of_edges())
    sure = np.where(kind == 2, 0.7, 0.2)
    assert (told.deciding(sure) == np.where(kind == 2, 2, -1)).all()


def test_reasons_name_the_column():
    columns = [
        FeatureColumn("source", "category", ("A", "B")),
        FeatureColumn("when", "number", (), (0.0,), (1.0,)),
    ]
    assert phrases(columns) == [
        *REASONS,
        LOOP,
        "many edges with source A look wrong",
        "many edges with source B look wrong",
        "many edges with such when look wrong",
    ]


def table_of(noisy):
    """The edges of a noisy graph, each once, from sources A and B, and the nodes."""
    graph = noisy.data.graph
    value = made("half", noisy.added.numpy(), graph)
    once = (graph.src < graph.dst).numpy()
    edges = pd.DataFrame({"src": graph.src.numpy(), "dst": graph.dst.numpy()})
    edges["source"] = np.where(value[:, 1] > 0, "B", "A")
    edges["wrong"] = noisy.added.numpy()
    nodes = pd.DataFrame(noisy.data.x.numpy()).add_prefix("f")
    nodes.insert(0, "id", range(len(nodes)))
    return edges[once].sample(frac=1, random_state=0), nodes


@pytest.fixture(scope="module")
def given():
    return table_of(NOISY["random"])


NAMED = {"edge_columns": ["source"]}


def test_all_doors_hand_columns_on(given, pyg, tmp_path):
    edges, nodes = given
    known = edges.drop(columns="wrong")
    whole = sgat.judge(known, nodes=nodes, undirected=True, **NAMED)
    table = whole.table().to_pandas()
    is_b = table["source"] == "B"
    decided = table["why"] == "many edges with source B look wrong"
    assert decided.sum() > 20 and is_b[decided].all()
    assert table["probability"][decided].max() <= 0.5
    plain = sgat.judge(known, nodes=nodes, undirected=True)
    found = [roc_auc_score(~edges["wrong"], one.probability) for one in (plain, whole)]
    assert found[1] > found[0] + 0.02

    x = nodes.drop(columns="id").to_numpy()
    arrays = sgat.judge(x, known, undirected=True, **NAMED)
    graph = nx.Graph()
    graph.add_nodes_from((n, {"x": row.tolist()}) for n, row in enumerate(x))
    rows = known.itertuples(index=False)
    graph.add_edges_from((s, d, {"source": source}) for s, d, source in rows)
    by_networkx = sgat.judge(graph, **NAMED)
    index = torch.tensor(known[["src", "dst"]].to_numpy().T.copy())
    of_edges = torch.tensor(is_b.to_numpy()).float()[:, None]
    data = pyg.data.Data(torch.tensor(x).float(), index, of_edges)
    by_pyg = sgat.judge(data, undirected=True, edge_columns=["edge_attr"])
    wanted = whole.probability.numpy()
    place = {
        frozenset(pair): k for k, pair in enumerate(zip(*index.tolist(), strict=True))
    }
    order = [place[frozenset(edge)] for edge in graph.edges()]
    np.testing.assert_allclose(arrays.probability, wanted, atol=1e-5)
    np.testing.assert_allclose(by_networkx.probability, wanted[order], atol=1e-5)
    # One number in place of two words.
    assert roc_auc_score(wanted < 0.5, -by_pyg.probability) > 0.99
    transform = sgat.JudgeEdges(edge_columns=["edge_attr"])
    assert transform(by_pyg.given.data).num_edges < len(edges)


@pytest.mark.parametrize("name", ["e.csv", "e.parquet"])
def test_rows_are_judged_in_batches_as_in_memory(given, name, tmp_path, monkeypatch):
    monkeypatch.setattr("sgat.data.files.stored_edges.ROWS", 997)
    edges, nodes = given
    write = getattr(edges, "to_csv" if name == "e.csv" else "to_parquet")
    write(tmp_path / name, index=False)
    nodes.to_csv(tmp_path / "n.csv", index=False)
    files = ["--edges", str(tmp_path / name), "--nodes", str(tmp_path / "n.csv")]
    out, page = tmp_path / "out.csv", tmp_path / "page.html"
    words = ["--undirected", "--edge-columns", "source", "--report", str(page)]
    assert main(["judge", *files, *words, "--out", str(out), "--quiet"]) == 0
    found = pd.read_csv(out)
    how = {"nodes": nodes, "undirected": True}
    wanted = sgat.judge(edges, **how, **NAMED).table().to_pandas()
    np.testing.assert_allclose(found["probability"], wanted["probability"], atol=1e-6)
    assert found["why"].tolist() == wanted["why"].tolist()
    assert "many edges with source B look wrong" in page.read_text("utf-8")


def test_a_saved_model_judges_new_edges_by_their_columns(given, tmp_path):
    edges, nodes = given
    x = nodes.drop(columns="id").to_numpy()
    y, known = CLEAN.y.numpy(), edges.drop(columns="wrong")
    clf = sgat.SGATClassifier(epochs=2, readout="linear", device="cpu")
    clf.fit(x, y, known, undirected=True, **NAMED)
    clf.save(tmp_path / "run")
    loaded = sgat.load(tmp_path / "run")
    new, _ = table_of(inject(CLEAN, "random", 0.1, seed=7))
    found = loaded.score_edges(x, new).set_index(["src", "dst"])["probability"]
    found = found.loc[new[["src", "dst"]].itertuples(index=False, name=None)]
    bare = sgat.judge(x, new, y, undirected=True).probability
    auc = roc_auc_score(~new["wrong"], found)
    assert auc > roc_auc_score(~new["wrong"], bare) + 0.02
    with pytest.raises(ValueError, match="`edge_columns` must name columns"):
        loaded.predict(x, new[["src", "dst"]])


def test_a_column_that_is_not_there_is_one_sentence(given, tmp_path, capsys):
    edges, _ = given
    path = tmp_path / "e.csv"
    edges.to_csv(path, index=False)
    words = ["--out", str(tmp_path / "o.csv"), "--quiet", "--edge-columns", "sauce"]
    assert main(["judge", "--edges", str(path), *words]) == 1
    told = (
        "e.csv: no column 'sauce' for the judge and gates (`--edge-columns`); did you"
    )
    assert told in capsys.readouterr().err
    with pytest.raises(
        ValueError, match="of the edges of a networkx graph, got 'sauce'"
    ):
        sgat.judge(nx.path_graph(40), edge_columns=["sauce"])
