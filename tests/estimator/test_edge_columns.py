"""Columns of edges in Python: they find wrong edges, leak nothing, and are kept."""

import dataclasses
import re
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.metrics import roc_auc_score
from support.edge_tables import roles, trades

import sgat
from sgat import Graph, SGATClassifier
from sgat.data.files import FileOptions, from_tables

# Trades go one way, and few are made back.
pytestmark = pytest.mark.filterwarnings("ignore:few edges have their reverse")

QUICK: dict[str, Any] = {"hidden": 8, "readout": "attention", "device": "cpu"}


def fitted(seed: int = 0, columns: Any = (), size: int = 200, **options: Any) -> Any:
    """A classifier of a made graph, and the mean gates of wrong and of real edges."""
    x, y, table, is_wrong = trades(seed, size)
    clf = SGATClassifier(**{**QUICK, "scorer": "additive", "l0_weight": 0.0, **options})
    clf.fit(x, y, table, **roles(size), edge_columns=columns)
    scored = table.assign(wrong=is_wrong).merge(clf.edges_, on=["src", "dst"])
    gates = scored.groupby("wrong")["gate"].mean()
    return clf, gates[True], gates[False]


# Two trainings of 150 epochs, which it takes to learn what the columns say.
def test_columns_find_the_wrong_edges(seed):
    plain, wrong, real = fitted(seed, epochs=150)
    assert abs(real - wrong) < 0.15
    marked, wrong, real = fitted(seed, ("amount", "kind"), epochs=150)
    assert marked.score() > plain.score() + 0.1
    assert wrong < 0.3 and real > 0.6


@pytest.mark.parametrize("scorer", ["cosine", "gatv2"])
@pytest.mark.slow
def test_columns_help_other_scorers(scorer, seed):
    options = {"size": 400, "scorer": scorer, "epochs": 150, "patience": 0}
    options["train"] = {"select": "last"}
    _, wrong, real = fitted(seed, **options)
    _, less, more = fitted(seed, ("amount", "kind"), **options)
    assert more - less > real - wrong + 0.05


@pytest.mark.slow
def test_columns_help_the_judge_to_a_share(seed):
    options = {"scorer": "revised", "keep": 0.625, "epochs": 150, "l0_weight": 1e-6}
    plain, wrong, real = fitted(seed, **options)
    marked, less, more = fitted(seed, ("amount", "kind"), **options)
    assert marked.score() > plain.score()
    assert more - less > real - wrong + 0.1


def test_a_column_of_noise_finds_nothing(seed):
    clf, wrong, real = fitted(seed, ("noise",), epochs=60)
    assert abs(real - wrong) < 0.15
    assert clf.model_.gating.attr_weight.detach().abs().max() < 1


def test_labels_of_test_nodes_reach_nothing(seed):
    x, y, table, _ = trades(seed, 60)
    masks = roles(60)
    other = np.where(masks["test"], 1 - y, y)
    found = []
    for labels in (y, other):
        clf = SGATClassifier(**QUICK, scorer="additive", epochs=5)
        clf.fit(x, labels, table, **masks, edge_columns=["amount", "kind"])
        found.append((clf.model_.state_dict(), clf.edges_))
    (one, edges), (two, same) = found
    assert all(torch.equal(value, two[name]) for name, value in one.items())
    assert edges.equals(same)


def test_other_edges_are_read_as_those_of_training(tmp_path, seed):
    columns = ["amount", "kind", "when"]
    clf, *_ = fitted(seed, columns, 60, epochs=5)
    clf.save(tmp_path / "run")
    loaded = sgat.load(tmp_path / "run")
    x, _, table, _ = trades(seed + 1, 40)
    nodes = pd.DataFrame(x).assign(id=range(40))
    _, _, older, _ = trades(seed, 60)
    options = FileOptions(edge_columns=tuple(columns))
    first = from_tables(older, pd.DataFrame({"id": range(60)}), options=options)
    later = from_tables(table, nodes, encoding=first.encoding)
    features = torch.tensor(x, dtype=torch.float32)
    expected = clf.score_edges(dataclasses.replace(later.data, x=features))
    # The order of columns does not matter, nor what else there is.
    shuffled = table[["when", "dst", "noise", "kind", "src", "amount"]]
    for each in (clf, loaded):
        found = each.score_edges(x, shuffled)
        assert np.allclose(found["log_alpha"], expected["log_alpha"], atol=1e-5)
        small = each.sparsify(x, shuffled, keep=0.5)
        assert list(small.columns) == [*shuffled.columns, "weight"]
        assert len(small) == len(table) // 2


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            {"kind": "theft"},
            "edges, row 0, column 'kind': 'theft' is not among the 2 categories",
        ),
        (
            {"amount": None},
            "edges, row 0, column 'amount': a value is needed, got nothing;",
        ),
        ({"kind": ...}, "`edge_columns` must name columns of a pandas table `edges`,"),
    ],
    ids=str,
)
def test_edges_that_do_not_fit_are_refused(change, sentence, seed):
    clf, *_ = fitted(seed, ["amount", "kind"], 60, epochs=1)
    x, _, table, _ = trades(seed, 60)
    for name, value in change.items():
        if value is ...:
            del table[name]
        else:
            table.loc[0, name] = value
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}"):
        clf.predict(x, table)


def test_arrays_have_no_columns():
    x, y, table, _ = trades(0, 60)
    sentence = "`edge_columns` must name columns of a pandas table `edges`, got 'kind'."
    edges = table[["src", "dst"]].to_numpy().T
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        SGATClassifier(**QUICK).fit(x, y, edges, edge_columns=["kind"])


def test_options_of_files_read_columns_in_memory_too(seed):
    x, y, table, _ = trades(seed, 60)
    table["code"] = np.arange(len(table)) % 3
    table["gap"] = np.where(table["code"] == 1, np.nan, table["amount"])
    columns = {"edge_columns": ["kind", "code", "gap"], "categorical": ["code"]}
    clf = SGATClassifier(**QUICK, epochs=1)
    clf.fit(x, y, table, **columns, fill_missing="mean")
    code, gap = clf.graphs_[0].edge_columns[1:]
    assert code.categories == (0, 1, 2)
    assert gap.fill == pytest.approx((table["gap"].mean(),))
    with pytest.raises(ValueError, match="`unknown_category` can make it zeros"):
        clf.predict(x, table.assign(kind="theft"))
    found = clf.predict(x, table.assign(kind="theft"), unknown_category="zero")
    assert len(found) == 60


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"edge_columns": "kind"}, "must be a list of names, got 'kind'"),
        ({"edge_columns": ["kind"] * 2}, "must name each once, got 'kind' twice"),
        ({"fill_missing": "mean"}, "`fill_missing` goes with `edge_columns`, got none"),
        ({"edge_columns": ["kind"], "text": ["kidn"]}, "`text` must name `edge_colu"),
        ({"edge_columns": ["gap"], "fill_missing": "men"}, "must be one of zero, mean"),
        ({"edge_columns": ["mixed"]}, "column 'mixed': must hold values of one type"),
    ],
)
def test_slips_in_the_options_of_columns_are_refused(options, sentence):
    x, y, table, _ = trades(0, 60)
    table["mixed"] = [1, *["a"] * (len(table) - 1)]
    with pytest.raises(ValueError, match=sentence):
        sgat.judge(x, table, y, **options)


@pytest.mark.parametrize("name", ["x", "train_mask", "size"])
def test_what_has_no_row_for_each_edge_is_no_column(name, pyg):
    data = as_pyg(pyg, 0)
    data.size = 3
    with pytest.raises(ValueError, match=f"of a PyG Data, got '{name}' of shape"):
        sgat.judge(data, edge_columns=[name])


def as_pyg(pyg: ModuleType, seed: int, size: int = 60, **more: Any) -> Any:
    x, y, table, _ = trades(seed, size)
    masks = {f"{k}_mask": torch.tensor(v) for k, v in roles(size).items()}
    return pyg.data.Data(
        x=torch.tensor(x, dtype=torch.float32),
        y=torch.tensor(y),
        edge_index=torch.tensor(table[["src", "dst"]].to_numpy().T.copy()),
        amount=torch.tensor(table["amount"].to_numpy()),
        edge_attr=torch.tensor(table[["amount", "noise"]].to_numpy()),
        **masks,
        **more,
    )


def test_a_pyg_data_is_read_as_the_same_table(pyg, seed):
    data = as_pyg(pyg, seed)
    table, *_ = fitted(seed, ["amount", "noise"], 60, epochs=3)
    for columns in (["edge_attr"], ["amount"]):
        clf = SGATClassifier(**QUICK, scorer="additive", l0_weight=0.0, epochs=3)
        clf.fit(data, edge_columns=columns)
        wide = columns == ["edge_attr"]
        assert len(clf.model_.gating.attr_weight) == (2 if wide else 1)
        if wide:
            expected = table.edges_["log_alpha"]
            assert np.allclose(clf.edges_["log_alpha"], expected, atol=1e-5)
        # Columns for gates are no weights, and stay where they are.
        assert (clf.edges_["weight"] == 1).all()
        small = clf.sparsify(data, keep=0.5)
        assert small.edge_attr.shape == (small.num_edges, 2)
        assert float(small.edge_weight.max()) <= 1


def test_one_column_of_edge_attr_is_no_weight_where_gates_look_at_it(pyg, seed):
    data = as_pyg(pyg, seed)
    data.edge_attr = data.amount[:, None] - 100.0  # some below 0, as no weight is
    clf = SGATClassifier(**QUICK, scorer="additive", epochs=2)
    clf.fit(data, edge_columns=["edge_attr"])
    assert (clf.edges_["weight"] == 1).all()
    with pytest.raises(ValueError, match="`edge_weight` must be from 0"):
        clf.fit(data)


def test_edges_of_all_graphs_are_read_as_those_of_the_first(pyg, seed):
    first, second = as_pyg(pyg, seed), as_pyg(pyg, seed + 1, 40)
    second.amount = second.amount + 50
    clf = SGATClassifier(**QUICK, scorer="additive", epochs=2)
    clf.fit([first, second], edge_columns=["amount"])
    one, two = (data.graph.edge_attr for data in clf.graphs_)
    assert abs(one.mean()) < 0.1 and two.mean() > 10
    assert clf.graphs_[0].edge_columns == clf.graphs_[1].edge_columns
    alone = clf.score_edges([second])
    assert np.allclose(
        alone["log_alpha"],
        clf.edges_.loc[clf.edges_["graph"] == "train-1", "log_alpha"],
        atol=1e-5,
    )


def test_the_judge_asks_the_columns(seed):
    x, y, table, is_wrong = trades(seed, 400)
    found = []
    for columns in ((), ("amount", "kind"), ("noise", "when")):
        clf = SGATClassifier(**QUICK, epochs=1)
        clf.fit(x, y, table, **roles(400), edge_columns=columns)
        scored = table.merge(clf.edges_, on=["src", "dst"])
        found.append(roc_auc_score(~is_wrong, scored["log_alpha"]))
    plain, marked, unmarked = found
    assert marked > plain + 0.1 and marked > 0.9
    assert abs(unmarked - plain) < 0.02


def test_data_without_the_numbers_is_refused(seed):
    clf, *_ = fitted(seed, ["amount"], 60, epochs=1)
    data = clf.graphs_[0]
    bare = dataclasses.replace(
        data, graph=Graph.from_edges(data.graph.edge_index, 60, say_merged=False)
    )
    with pytest.raises(
        ValueError, match="Each edge must have 1 numbers in `edge_attr`"
    ):
        clf.predict(bare)
