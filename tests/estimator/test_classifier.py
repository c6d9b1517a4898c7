import copy
import dataclasses
import os
import signal

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import torch
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.metrics import roc_auc_score
from support.small_data import block_graph, several_graphs

import sgat
from sgat import SGATClassifier
from sgat.data.node_data import NodeData
from sgat.training.epoch import Epochs

COLUMNS = [
    *("src", "dst", "weight", "log_alpha", "probability", "gate", "kept", "attention")
]


@pytest.fixture(scope="module")
def data_class(pyg):
    return pyg.data.Data


def small_graph(**options):
    """Each verdict on edges takes time, and more with more of them."""
    return block_graph(**({"num_nodes": 61} | options))


def quick(**options):
    return SGATClassifier(
        **({"hidden": 5, "epochs": 8, "keep": 0.5, "fast": True} | options)
    )


@pytest.fixture(scope="module")
def fitted():
    """A classifier of a small graph: only to be read."""
    return quick().fit(small_graph())


@pytest.fixture(scope="module")
def fitted_to_pyg(data_class):
    """The same of a PyG Data: only to be read; the data goes with it."""
    node_data = small_graph()
    note = torch.arange(node_data.graph.num_edges)
    data = as_pyg(node_data, data_class, edge_attr=torch.stack([note, note], dim=1))
    return quick().fit(data), data


@pytest.fixture(scope="module")
def fitted_to_networkx():
    """The same of an undirected networkx graph: only to be read."""
    graph = as_networkx(small_graph(), nx.Graph)
    return quick().fit(graph), graph


def as_pyg(data, data_class, **more):
    return data_class(
        x=data.x,
        edge_index=data.graph.edge_index,
        y=data.y,
        train_mask=data.train,
        val_mask=data.val,
        test_mask=data.test,
        **more,
    )


def as_networkx(data, kind):
    graph = kind()
    roles = [
        "train" if data.train[i] else "val" if data.val[i] else "test"
        for i in range(data.num_nodes)
    ]
    for node in range(data.num_nodes):
        attributes = {"x": data.x[node].tolist(), "y": f"class {int(data.y[node])}"}
        graph.add_node(f"n{node}", **attributes, split=roles[node])
    for src, dst in data.graph.edge_index.T.tolist():
        graph.add_edge(f"n{src}", f"n{dst}", since=src)
    return graph


def test_pyg_data_in_and_out(fitted_to_pyg):
    classifier, data = fitted_to_pyg
    note = torch.arange(data.num_edges)
    assert classifier.edges_.columns.tolist() == COLUMNS
    assert len(classifier.edges_) == data.num_edges
    assert abs(classifier.edges_["kept"].mean() - 0.5) < 0.02
    small = classifier.sparsify()
    assert type(small) is type(data)
    kept = torch.tensor(classifier.edges_["kept"].to_numpy())
    assert torch.equal(small.edge_index, data.edge_index[:, kept])
    assert torch.equal(small.edge_attr[:, 0], note[kept])
    gate = torch.tensor(classifier.edges_["gate"].to_numpy())
    assert torch.equal(small.edge_weight, gate[kept])
    assert torch.equal(small.x, data.x)
    assert "edge_weight" not in data


def test_the_small_graph_with_its_weights_gives_the_same_predictions(fitted_to_pyg):
    classifier, data = fitted_to_pyg
    small = classifier.sparsify()
    # On the small graph all gates are open: the weights alone do the work.
    model = copy.deepcopy(classifier.model_)
    whole = model.eval()(data.x, data.edge_index)
    open_all = torch.nn.Parameter(torch.tensor(1e3))
    model.gating.gate_bias = open_all
    alone = model(small.x, small.edge_index, small.edge_weight)
    assert torch.allclose(whole, alone, atol=1e-5)


@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph, nx.MultiDiGraph])
def test_networkx_graphs_in_and_out(kind, fitted_to_networkx):
    classifier, graph = fitted_to_networkx
    if kind is not nx.Graph:
        graph = as_networkx(small_graph(), kind)
        classifier = quick().fit(graph)
    assert classifier.classes_.tolist() == ["class 0", "class 1", "class 2"]
    assert set(classifier.edges_["src"]) <= set(graph.nodes)
    small = classifier.sparsify(graph)
    assert type(small) is kind
    assert list(small.nodes) == list(graph.nodes)
    assert 0 < small.number_of_edges() < graph.number_of_edges()
    for _, _, attributes in small.edges(data=True):
        assert 0 < attributes["weight"] <= 1 and "since" in attributes
    assert "weight" not in next(iter(graph.edges(data=True)))[2]
    assert 0 <= classifier.score() <= 1


def test_plain_arrays_in_and_out():
    data = small_graph()
    x, edges = data.x.numpy(), data.graph.edge_index.numpy()
    y = np.array([f"c{label}" for label in data.y])
    weight = np.full(edges.shape[1], 2.0)
    classifier = quick().fit(x, y, edges, edge_weight=weight, test=np.arange(20))
    kept_edges, weights = classifier.sparsify()
    kept = classifier.edges_["kept"].to_numpy()
    assert np.array_equal(kept_edges, edges[:, kept])
    assert np.allclose(weights, 2 * classifier.edges_["gate"][kept])
    predicted = classifier.predict(x, edges)
    assert predicted.shape == (61,)
    assert set(classifier.predict()) <= {"c0", "c1", "c2"}
    assert classifier.score(x, y, edges) == pytest.approx((predicted == y).mean())


def test_lists_of_graphs_train_validate_and_test(data_class):
    graphs = several_graphs()
    parts = [
        data_class(x=g.x, edge_index=g.graph.edge_index, y=g.y.float()) for g in graphs
    ]
    classifier = quick().fit(parts[:3], val=parts[3:4], test=parts[4:])
    assert classifier.is_multilabel_
    assert classifier.edges_.columns.tolist() == ["graph", *COLUMNS]
    predictions = classifier.predict(parts[4:])
    assert isinstance(predictions, list)
    assert predictions[0].shape == tuple(parts[4].y.shape)
    assert set(np.unique(predictions[0])) <= {0, 1}
    assert classifier.score() == pytest.approx(classifier.score(parts[4:]))
    small = classifier.sparsify(parts[:2])
    assert isinstance(small, list) and len(small) == 2


def test_node_data_in_and_out(fitted):
    small = fitted.sparsify()
    assert isinstance(small, NodeData)
    assert small.graph.num_edges == fitted.edges_["kept"].sum()


def test_probabilities_sum_to_one_and_agree_with_the_predictions(fitted):
    probability = fitted.predict_proba()
    assert np.allclose(probability.sum(axis=1), 1)
    best = fitted.classes_[probability.argmax(axis=1)]
    assert np.array_equal(best, fitted.predict())


@pytest.mark.judged_anew
def test_same_seed_same_classifier():
    first, second = (quick(seed=4).fit(small_graph()) for _ in range(2))
    assert first.edges_.equals(second.edges_)
    assert np.array_equal(first.predict_proba(), second.predict_proba())


def test_scikit_learn_can_clone_it():
    classifier = quick(model={"readout": "attention"})
    copy = clone(classifier)
    assert copy.get_params() == classifier.get_params()
    assert copy.set_params(keep=0.2).keep == 0.2
    assert "keep=0.5" in repr(classifier)


@pytest.mark.filterwarnings("ignore:no edge has a weight above 0")
def test_without_edges_no_share_of_them_is_estimated_to_be_noise(tmp_path):
    data = small_graph()
    kept = torch.zeros(data.graph.num_edges, dtype=torch.bool)
    for number, graph in enumerate([data, data.select_edges(kept)]):
        classifier = quick(keep=None).fit(graph)
        assert classifier.model_.noise_share is not None
        assert (classifier.noise_share_ is None) == (not len(classifier.edges_))
        classifier.save(tmp_path / str(number))
        assert sgat.load(tmp_path / str(number)).noise_share_ == classifier.noise_share_
    assert classifier.noise_share_ is None


def test_unseen_edges_are_scored(fitted):
    other = small_graph(seed=9)
    table = fitted.score_edges(other)
    assert len(table) == other.graph.num_edges
    assert table["log_alpha"].notna().all()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"keep": 1.2}, "`keep` must be in (0, 1], got 1.2."),
        ({"hidden": 0}, "`hidden` must be from 1 to 1048576, got 0."),
        ({"model": {"hiden": 3}}, "unknown key 'hiden'; did you mean 'hidden'?"),
        ({"device": "abacus"}, "`device` must be one that works here"),
    ],
)
def test_bad_settings_are_refused_when_fitting(settings, message):
    with pytest.raises(ValueError) as error:
        quick(**settings).fit(small_graph())
    assert message in str(error.value)


def test_bad_data_is_refused_with_a_sentence(data_class, fitted):
    data = as_pyg(small_graph(), data_class)
    data.x = data.x.clone()
    data.x[3, 5] = float("nan")
    with pytest.raises(ValueError, match=r"got nan at node 3, column 5"):
        quick().fit(data)
    with pytest.raises(ValueError, match=r"`data` must be a PyG Data.*got dict"):
        quick().fit({"a": 1})
    with pytest.raises(ValueError, match="`y` goes with plain arrays"):
        quick().fit(as_pyg(small_graph(), data_class), y=[1])
    with pytest.raises(ValueError, match=r"must have the 13 features.*got 12"):
        other = as_pyg(small_graph(), data_class)
        other.x = other.x[:, 1:]
        fitted.predict(other)


def test_predicting_before_fitting_says_so():
    with pytest.raises(NotFittedError, match="is not fitted yet"):
        quick().predict()


def test_an_undirected_graph_keeps_the_share_of_its_edges():
    graph = as_networkx(small_graph(), nx.Graph)
    small = quick(keep=0.3).fit(graph).sparsify()
    share = small.number_of_edges() / graph.number_of_edges()
    assert share == pytest.approx(0.3, abs=0.01)


def test_an_undirected_small_graph_predicts_like_the_large_one(fitted_to_networkx):
    classifier = copy.deepcopy(fitted_to_networkx[0])
    whole = classifier.predict_proba()
    small = classifier.sparsify()
    with torch.no_grad():
        classifier.model_.gating.gate_bias.fill_(1e3)
    assert np.allclose(classifier.predict_proba(small), whole, atol=1e-5)


def test_weighted_arrays_can_be_used_after_fitting():
    data = small_graph()
    x, edges = data.x.numpy(), data.graph.edge_index.numpy()
    weight = np.random.default_rng(0).random(edges.shape[1]) + 0.1
    classifier = quick().fit(x, data.y.numpy(), edges, edge_weight=weight)
    again = classifier.predict_proba(x, edges, edge_weight=weight)
    assert np.array_equal(again, classifier.predict_proba())
    assert not np.array_equal(again, classifier.predict_proba(x, edges))
    table = classifier.score_edges(x, edges, edge_weight=weight)
    assert table.equals(classifier.edges_)
    classifier.score(x, data.y.numpy(), edges, edge_weight=weight)


def test_options_of_fit_hold_for_the_same_kind_of_data():
    graph = as_networkx(small_graph(), nx.DiGraph)
    for _, _, attributes in graph.edges(data=True):
        attributes["strength"] = 4.0
    classifier = quick().fit(graph, weight="strength")
    assert np.array_equal(classifier.predict_proba(graph), classifier.predict_proba())
    small = classifier.sparsify(graph)
    for _, _, attributes in small.edges(data=True):
        assert 0 < attributes["strength"] <= 4 and "weight" not in attributes


def test_predicting_needs_no_labels_but_finite_features(data_class, fitted_to_pyg):
    classifier, _ = fitted_to_pyg
    other = as_pyg(small_graph(), data_class)
    other.y = other.y + 50
    assert classifier.predict(other).shape == (61,)
    other.x = torch.full_like(other.x, torch.nan)
    with pytest.raises(ValueError, match=r"got nan at node 0"):
        classifier.predict(other)


def test_transductive_gates_refuse_another_graph():
    data = small_graph()
    paper = {"scorer": "additive", "model": {"gate_mode": "transductive"}}
    classifier = quick(**paper).fit(data)
    assert np.array_equal(classifier.predict(small_graph()), classifier.predict())
    with pytest.raises(ValueError, match="Transductive gates know the edges"):
        classifier.predict(small_graph(seed=5))


@pytest.mark.parametrize("fast", [True, False])
def test_ctrl_c_keeps_the_best_model_so_far(fast, monkeypatch):
    """In one training, and in the rounds of a search."""
    whole, done = Epochs.run, []

    def run(self, epoch):
        done.append(epoch)
        if len(done) == 15:
            os.kill(os.getpid(), signal.SIGINT)
        return whole(self, epoch)

    monkeypatch.setattr(Epochs, "run", run)
    classifier = quick(epochs=50, keep=None, fast=fast)
    with pytest.warns(
        UserWarning, match=r"interrupted; .* best model so far, [\w ]+ after"
    ):
        classifier.fit(small_graph())
    assert len(done) == 15
    assert classifier.predict().shape == (61,) and len(classifier.history_) < 50


def test_graphs_of_different_fill_train_together(data_class):
    dense = as_pyg(small_graph(), data_class)
    sparse = as_pyg(small_graph(seed=3), data_class)
    sparse.x = sparse.x * (torch.rand_like(sparse.x) < 0.1)
    assert len(quick().fit([dense, sparse]).predict()) == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"foo": 3}, "Unknown option 'foo' for a PyG Data; its options are"),
        ({"label": "y"}, "Unknown option 'label' for a PyG Data"),
    ],
)
def test_options_that_mean_nothing_are_refused(arguments, message, data_class):
    with pytest.raises(ValueError) as error:
        quick().fit(as_pyg(small_graph(), data_class), **arguments)
    assert message in str(error.value)


def test_scores_of_nobody_are_refused(fitted):
    with pytest.raises(ValueError, match="`role` must be train, val or test"):
        fitted.score(role="valid")
    nobody = torch.zeros(61, dtype=torch.bool)
    untested = small_graph().with_split(~nobody, nobody, nobody)
    with pytest.raises(ValueError, match="no node with the role 'test'"):
        fitted.score(untested, role="test")


@pytest.mark.parametrize("labels", [[0], [[0, 1]] * 8, [[0, 1]] * 7])
def test_labels_of_another_shape_are_no_score(labels):
    x, y = np.eye(8), np.arange(8) % 2
    edges = np.stack([np.arange(8), np.roll(np.arange(8), 1)])
    quick = {"epochs": 1, "scorer": "additive", "readout": "linear", "device": "cpu"}
    fitted = SGATClassifier(hidden=2, **quick).fit(x, y, edges=edges)
    with pytest.raises(ValueError, match=r"`y` must have the shape .*, \[8\], got \["):
        fitted.score(x, labels, edges=edges)
    assert 0 <= fitted.score(x, sparse.csr_array(y[:, None]), edges=edges) <= 1


def test_the_score_is_the_metric_of_the_settings(tmp_path):
    data = small_graph(num_classes=2)
    classifier = quick(metric="roc_auc", train={"class_weights": True}).fit(data)
    probability = classifier.predict_proba()[:, 1]
    for role in ("val", "test"):
        mask = getattr(data, role)
        expected = roc_auc_score(data.y[mask], probability[mask])
        assert classifier.score(role=role) == pytest.approx(expected)
    best = classifier.history_["val"].max()
    assert classifier.score(role="val") == pytest.approx(best)
    classifier.save(tmp_path / "run")
    loaded = sgat.load(tmp_path / "run")
    assert loaded.metric == "roc_auc" and loaded.train == {"class_weights": True}
    assert loaded.score(data) == classifier.score()
    assert np.array_equal(loaded.predict_proba(data)[:, 1], probability)
    alone = dataclasses.replace(data, y=torch.zeros_like(data.y))
    assert np.isnan(classifier.score(alone))


def test_numpy_numbers_and_devices_are_settings():
    classifier = quick(
        hidden=np.int64(5), lr=np.float32(0.01), device=torch.device("cpu")
    )
    classifier.fit(small_graph())
    assert is_classifier(classifier)


def test_validation_chooses_and_says_what_was_tried(tmp_path):
    settings = {"hidden": 3, "epochs": 6, "device": "cpu", "seed": 3}
    found = SGATClassifier(**settings).fit(small_graph())
    assert found.tried_["rung"].tolist()[:8] == [1] * 8
    assert {"name", "settings", "score", "loss", "seconds"} <= set(found.tried_)
    assert found.config_.model.readout != "auto" and found.model_.reach is not None
    found.save(tmp_path / "r")
    loaded = sgat.load(tmp_path / "r")
    assert (loaded.predict(small_graph()) == found.predict()).all()
    assert loaded.tried_.empty
    assert quick().fit(small_graph()).tried_.empty


def test_edges_given_once_count_both_ways_if_asked_and_one_way_with_a_warning(tmp_path):
    data = small_graph()
    x, y, edges = data.x.numpy(), data.y.numpy(), data.graph.edge_index.numpy()
    once = edges[:, edges[0] < edges[1]]
    with pytest.warns(
        UserWarning, match="few edges have their reverse.*`undirected`"
    ) as w:
        quick(epochs=1).fit(x, y, edges=once)
    assert len(w) == 1 and w[0].filename == __file__
    clf = quick(epochs=2).fit(x, y, edges=once, undirected=True)
    whole = quick(epochs=2, model={"symmetric": True}).fit(x, y, edges=edges)
    assert np.array_equal(clf.predict_proba(), whole.predict_proba())
    # The option holds for later data.
    assert np.array_equal(clf.predict_proba(x, once), clf.predict_proba())
    assert clf.sparsify(keep=0.5)[0].shape[1] == pytest.approx(once.shape[1] / 2, abs=1)
    # So it does for a table in place of an array, and for who opens the classifier.
    table = pd.DataFrame(x)
    assert np.array_equal(clf.predict_proba(table, once), clf.predict_proba())
    clf.save(tmp_path / "run")
    loaded = sgat.load(tmp_path / "run")
    assert np.array_equal(loaded.predict_proba(x, once), clf.predict_proba())


def a_table(seed: int = 0):
    rng = np.random.default_rng(seed)
    y = np.arange(60) % 2
    x = pd.DataFrame(rng.normal(size=(60, 3)), columns=["age", "income", "debt"])
    x["debt"] += 4 * y
    a = rng.integers(0, 60, 300)
    edges = np.stack([a, (a + 2 * rng.integers(1, 9, 300)) % 60])
    return x, y, edges


def test_columns_of_a_table_go_by_their_names(tmp_path):
    x, y, edges = a_table()
    fitted = SGATClassifier(epochs=20, fast=True, seed=0).fit(
        x, y, edges=edges, undirected=True
    )
    turned = x[["debt", "age", "income"]]
    wanted = fitted.predict_proba(x, edges=edges)
    fitted.save(tmp_path / "saved")
    for each in (fitted, sgat.load(tmp_path / "saved")):
        assert np.array_equal(each.predict_proba(turned, edges=edges), wanted)
        with pytest.raises(ValueError, match=r"^`X` has no column 'debt', which it"):
            each.predict(x[["age", "income"]], edges=edges)
        with pytest.raises(
            ValueError, match=r"a column 'wealth', .* age, income, debt"
        ):
            each.predict(x.rename(columns={"debt": "wealth"}), edges=edges)
        # Plain arrays have no names to go by.
        assert np.array_equal(each.predict_proba(x.to_numpy(), edges=edges), wanted)


@pytest.mark.parametrize("how", ["none", "loops", "weights"])
def test_a_graph_without_edges_is_no_secret(how: str):
    x, y, edges = a_table()
    more = {"edge_weight": np.zeros(300)} if how == "weights" else {}
    if how != "weights":
        edges = edges[:, :0] if how == "none" else np.stack([edges[0], edges[0]])
    with pytest.warns(UserWarning, match="no edge has a weight above 0"):
        SGATClassifier(epochs=2, fast=True).fit(x, y, edges=edges, **more)


def test_a_matrix_of_another_size_than_the_features_is_refused():
    x, y, edges = a_table()
    matrix = sparse.coo_array((np.ones(300), tuple(edges)), shape=(70, 70))
    with pytest.raises(ValueError, match=r"each of the 60 nodes, got 70\.$"):
        SGATClassifier(epochs=2, fast=True).fit(x, y, edges=matrix)
