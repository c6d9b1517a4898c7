"""Graphs of several types: read as one, judged, learned from and given back."""

import numpy as np
import pytest
import torch
from sklearn.metrics import roc_auc_score

import sgat
from sgat.data.given_data import GivenData
from sgat.data.hetero import as_one_graph, edges_of_types, node_ids

pytestmark = pytest.mark.filterwarnings("ignore:few edges have their reverse")

PAPERS, AUTHORS = 301, 151
CITES, WRITES = ("paper", "cites", "paper"), ("author", "writes", "paper")


def papers(pyg, seed=0, noise=0.3):
    """Papers of three classes, cited in their class, and authors; wrong citations."""
    from torch_geometric.data import HeteroData

    draw = np.random.default_rng(seed)
    field = {"paper": draw.integers(3, size=PAPERS)}
    field["author"] = draw.integers(3, size=AUTHORS)
    data = HeteroData()
    for name, width in (("paper", 7), ("author", 5)):
        means = draw.normal(size=(3, width))
        x = means[field[name]] + draw.normal(size=(len(field[name]), width))
        data[name].x = torch.tensor(x, dtype=torch.float32)
    data["paper"].y = torch.tensor(field["paper"])
    is_wrong = {}
    for kind, number in ((CITES, 1500), (WRITES, 700)):
        src, dst = (draw.integers(len(field[kind[k]]), size=60000) for k in (0, 2))
        alike = field[kind[0]][src] == field[kind[2]][dst]
        wrong = ~alike & (draw.random(60000) < noise) & (kind == CITES)
        kept = np.flatnonzero((alike | wrong) & ((src != dst) | (kind != CITES)))
        ends = np.stack([src, dst])[:, kept[:number]]
        ends, first = np.unique(ends, axis=1, return_index=True)
        data[kind].edge_index = torch.tensor(ends)
        data[kind].year = torch.arange(ends.shape[1])
        is_wrong[kind] = wrong[kept[:number]][first]
    return data, np.concatenate(list(is_wrong.values()))


def test_all_types_are_one_graph(pyg):
    data, _ = papers(pyg)
    data["paper"].train_mask = torch.arange(PAPERS) < 100
    (read,) = GivenData(data).read()
    assert read.num_nodes == AUTHORS + PAPERS and read.num_features == 5 + 1 + 7 + 1
    # Each type has columns of its own, by name.
    x, others = read.x.split([PAPERS, AUTHORS])
    assert torch.equal(x[:, 6:13], data["paper"].x) and not x[:, :6].any()
    assert torch.equal(others[:, :5], data["author"].x) and not others[:, 6:].any()
    assert x[:, 13].eq(1).all() and others[:, 5].eq(1).all()
    assert read.y[PAPERS:].eq(-1).all()
    assert torch.equal(read.y[:PAPERS], data["paper"].y)
    assert torch.equal(read.train.nonzero()[:, 0], torch.arange(100))
    assert read.ids[[0, PAPERS, -1]].tolist() == ["paper 0", "author 0", "author 150"]
    (column,) = read.edge_columns
    assert column.categories == ("author writes paper", "paper cites paper")
    is_written = read.graph.src >= PAPERS
    assert torch.equal(read.graph.edge_attr[:, 0] == 1, is_written)
    assert int(is_written.sum()) == data[WRITES].edge_index.shape[1]


def test_what_is_not_there_is_left_out(pyg):
    data, _ = papers(pyg)
    del data["author"].x
    data["author"].num_nodes = AUTHORS
    assert as_one_graph(data).x.shape == (AUTHORS + PAPERS, 1 + 8)
    del data["paper"].x
    data["paper"].num_nodes = PAPERS
    assert as_one_graph(data).x is None
    del data["paper"].y, data[CITES].year
    one = as_one_graph(data)
    assert one.y is None and "year" not in one and "edge_weight" not in one
    assert len(node_ids(data)) == one.num_nodes == AUTHORS + PAPERS
    assert sgat.judge(data).num_edges == one.num_edges


def test_edges_are_judged_and_go_by_type(pyg):
    data, wrong = papers(pyg)
    judged = sgat.judge(data)
    assert roc_auc_score(~wrong, judged.probability) > 0.8
    table = judged.table(judged.choose(find_at_least=0.5)).to_pandas()
    assert list(table) == ["src", "dst", "edge_type", "probability", "why", "removed"]
    for kind, rows in table.groupby("edge_type", sort=False):
        ends = data[tuple(kind.split())].edge_index.numpy()
        np.testing.assert_array_equal(rows[["src", "dst"]].T, ends)
    small = judged.remove(find_at_least=0.5)
    assert type(small) is type(data) and small.node_types == data.node_types
    for kind in data.edge_types:
        here = (table["edge_type"] == " ".join(kind)).to_numpy()
        kept = torch.tensor(~table["removed"].to_numpy()[here])
        assert torch.equal(small[kind].edge_index, data[kind].edge_index[:, kept])
        assert torch.equal(small[kind].year, data[kind].year[kept])
        assert "edge_weight" not in data[kind]
    assert small.num_edges < data.num_edges


def test_a_classifier_answers_for_the_type_with_classes(pyg, tmp_path):
    data, _ = papers(pyg)
    clf = sgat.SGATClassifier(readout="linear", epochs=30, device="cpu")
    clf.fit(data)
    assert clf.predict().shape == (PAPERS,)
    assert clf.predict_proba(data).shape == (PAPERS, 3)
    assert clf.score(data) > 0.8
    assert clf.header_["edge_columns"][0]["name"] == "edge_type"
    small = clf.sparsify(data, keep=0.5)
    assert type(small) is type(data)
    assert abs(small.num_edges - data.num_edges / 2) < 2
    clf.save(tmp_path / "run")
    loaded = sgat.load(tmp_path / "run")
    expected = clf.predict(data)
    assert np.array_equal(loaded.predict(data), expected)
    bare = data.clone()
    del bare["paper"].y
    assert np.array_equal(clf.predict(bare), expected)
    assert np.array_equal(loaded.predict(bare, node_type="paper"), expected)
    with pytest.raises(ValueError, match="`node_type` must be one of paper"):
        loaded.predict(bare)


def test_other_attributes_of_all_edge_types_can_be_named(pyg):
    data, _ = papers(pyg)
    columns = ["edge_type", "year"]
    (read,) = GivenData(data, options={"edge_columns": columns}).read()
    assert [column.name for column in read.edge_columns] == columns
    data[CITES].edge_weight = torch.full((data[CITES].edge_index.shape[1],), 2.0)
    (read,) = GivenData(data).read()
    assert read.graph.edge_weight[read.graph.src >= PAPERS].eq(1).all()
    assert read.graph.edge_weight[read.graph.src < PAPERS].eq(2).all()
    small = GivenData(data).pruned(
        [read], [read.graph.src >= 0], [read.graph.src * 0.0]
    )
    assert not small[CITES].edge_weight.any() and small.num_edges == data.num_edges
    assert len(edges_of_types(data)["src"]) == data.num_edges


def test_one_edge_type_needs_no_column(pyg):
    data, _ = papers(pyg)
    del data[WRITES]
    (read,) = GivenData(data).read()
    assert read.edge_columns == () and read.graph.edge_attr is None


def test_what_cannot_be_read_is_refused_in_one_sentence(pyg):
    data, _ = papers(pyg)
    data["author"].y = torch.zeros(AUTHORS, dtype=torch.long)
    with pytest.raises(
        ValueError, match="`y` must be of one node type, got it of paper and"
    ):
        sgat.judge(data)
    assert sgat.judge(data, node_type="paper").num_edges
    with pytest.raises(ValueError, match="`node_type` must be one of paper, author"):
        sgat.judge(data, node_type="venue")
    with pytest.raises(ValueError, match="Unknown option 'split' for a PyG HeteroData"):
        sgat.judge(data, node_type="paper", split="fold")
    with pytest.raises(ValueError, match="for which there is `sgat"):
        sgat.JudgeEdges()(data)
    with pytest.raises(ValueError, match="`edges`, got a list of HeteroData"):
        sgat.judge([data, data])
    with pytest.raises(ValueError, match="`data` must have nodes, got a Het"):
        sgat.judge(type(data)())
    del data["author"].y, data[WRITES].edge_index
    with pytest.raises(ValueError, match=r"'paper'\) must have an `edge_index`"):
        sgat.judge(data)


def test_attributes_of_other_types_may_be_of_other_widths(pyg):
    data, _ = papers(pyg)
    for width, kind in enumerate(data.edge_types, start=2):
        data[kind].edge_attr = torch.zeros(data[kind].edge_index.shape[1], width)
    for width, name in enumerate(data.node_types, start=2):
        data[name].pos = torch.zeros(data[name].num_nodes, width)
    judged = sgat.judge(data)
    assert judged.num_edges == data.num_edges
    assert judged.remove()[CITES].edge_attr.shape[1] == 2
    sentence = "`edge_columns` must name attributes that the edges of all types have"
    with pytest.raises(ValueError, match=sentence):
        sgat.judge(data, edge_columns=["edge_attr"])


@pytest.mark.parametrize(
    ("kind", "key", "value", "sentence"),
    [
        # 1 more than there are papers, which would be an author.
        (CITES, "edge_index", [[0], [PAPERS]], "name the 301 nodes of 'paper', from 0"),
        (WRITES, "edge_index", [[-1], [0]], "name the 151 nodes of 'author', from 0"),
        (CITES, "edge_index", [[0.5], [1]], "must have an `edge_index`, integers"),
        (CITES, "edge_index", [[0], [1], [2]], "must have an `edge_index`, integers"),
        (CITES, "edge_index", [0, 1], "must have an `edge_index`, integers"),
        (CITES, "edge_weight", [1.0], "'paper'\\) must have shape \\[1"),
        (
            ("paper", "at", "venue"),
            "edge_index",
            [[0], [0]],
            "must name the 0 nodes of 'venue'",
        ),
        ("author", "x", [0.5] * AUTHORS, "'author' must be a dense tensor"),
        ("paper", "y", [0, 1], "`y` of the node type 'paper' must be a dense"),
        ("paper", "train_mask", [True], "must be a dense tensor \\[301"),
    ],
)
def test_what_does_not_fit_its_type_is_refused(pyg, kind, key, value, sentence):
    data, _ = papers(pyg)
    data[kind][key] = torch.tensor(value)
    with pytest.raises(ValueError, match=sentence):
        sgat.judge(data)


def test_nodes_without_edge_types_are_refused(pyg):
    data, _ = papers(pyg)
    del data[CITES], data[WRITES]
    with pytest.raises(ValueError, match="`data` must have edges, got a HeteroData"):
        sgat.judge(data)
