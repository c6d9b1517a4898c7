"""The checks of scikit-learn, each table a ring of its rows."""

import numpy as np
import pytest
from sklearn.utils.estimator_checks import check_estimator

from sgat import SGATClassifier

GRAPH = "a prediction depends on the neighbours of a node"
OURS = "our own sentence says it"
NOT_PASSED = {
    "check_methods_sample_order_invariance": GRAPH,
    "check_methods_subset_invariance": GRAPH,
    "check_classifiers_train": "points in a plane say little on a ring",
    "check_complex_data": OURS,
    "check_dtype_object": "words are no numbers, also where they could be read so",
    "check_estimators_empty_data_messages": OURS,
    "check_estimators_nan_inf": OURS,
    "check_n_features_in_after_fitting": OURS,
    "check_fit2d_1sample": OURS,
    "check_fit2d_predict1d": OURS,
    "check_requires_y_none": OURS,
    "check_classifier_data_not_an_array": "edges need the number of rows",
    "check_supervised_y_2d": "labels of shape [N, 1] are taken without a warning",
    "check_estimator_sparse_tag": "sparse features are taken",
    "check_sparsify_coefficients": "`sparsify` is about edges",
}


def ring(x):
    node = np.arange(len(x) if isinstance(x, list) else x.shape[0])
    return np.stack([node, np.roll(node, 1)])


class OnRing(SGATClassifier):
    def fit(self, X, y=None):
        return super().fit(X, y, ring(X))

    def predict(self, X):
        return super().predict(X, ring(X))

    def predict_proba(self, X):
        return super().predict_proba(X, ring(X))

    def score(self, X, y):
        return super().score(X, y, ring(X))


# Some fifty checks that train: minutes.
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::Warning")
def test_the_checks_that_apply_pass():
    clf = OnRing(hidden=3, epochs=5, fast=True, device="cpu")
    found = check_estimator(clf, on_fail=None, on_skip=None)
    failed = {each["check_name"] for each in found if each["status"] == "failed"}
    assert failed <= set(NOT_PASSED)
    assert sum(each["status"] == "passed" for each in found) >= 35
