import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from support.small_data import block_graph

from sgat import SGATClassifier

DATA = block_graph(num_nodes=61)
X, EDGES = DATA.x.numpy(), DATA.graph.edge_index.numpy()
Y = np.array(["abc"[label] for label in DATA.y])
QUICK = {"hidden": 5, "epochs": 8, "fast": True, "device": "cpu"}


def test_nodes_of_a_fixed_graph_are_samples():
    nodes = np.arange(40)
    clf = SGATClassifier(graph=(X, EDGES), **QUICK).fit(nodes, Y[:40])
    (data,) = clf.graphs_
    assert not (data.train | data.val)[40:].any() and data.graph.num_edges > 100
    rest = np.arange(40, 61)
    assert np.array_equal(clf.predict(rest), clf.predict()[40:])
    assert clf.predict_proba(rest).shape == (21, 3)
    assert clf.score(rest, Y[40:]) == pytest.approx(
        (clf.predict(rest) == Y[40:]).mean()
    )
    known = np.where(np.arange(61) < 40, Y, None)
    alone = SGATClassifier(**QUICK).fit(X, known, edges=EDGES)
    assert np.array_equal(alone.predict(), clf.predict())


@pytest.mark.parametrize("graph", [(X, EDGES), DATA], ids=["arrays", "object"])
def test_scikit_learn_divides_the_nodes(graph):
    clf = SGATClassifier(graph=graph, **QUICK | {"epochs": 2})
    assert clone(clf).get_params().keys() == clf.get_params().keys()
    nodes = np.arange(61)
    # The same halves, so that their edges are judged once.
    scores = cross_val_score(clf, nodes, Y, cv=2, error_score="raise")
    assert scores.shape == (2,) and (scores >= 0).all()
    search = GridSearchCV(clf, {"keep": [0.5, 1.0]}, cv=2, error_score="raise")
    assert search.fit(nodes, Y).predict([3, 5]).shape == (2,)


@pytest.mark.parametrize(
    ("nodes", "y", "message"),
    [
        (X, Y, "must be node numbers, such as np.arange(61), got float"),
        ([0, 61], ["a", "b"], "must be nodes 0 to 60, got 61"),
        ([0, 1], ["a"], "`y` must have 2 labels, one a node, got 1"),
        ([0, 1], None, "`y` must have 2 labels, one a node, got none"),
    ],
)
def test_samples_that_are_no_nodes_are_named(nodes, y, message):
    with pytest.raises(ValueError) as error:
        SGATClassifier(graph=(X, EDGES), **QUICK).fit(nodes, y)
    assert message in str(error.value)
