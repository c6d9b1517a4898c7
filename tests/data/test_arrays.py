import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import torch

from sgat import judge
from sgat.data.arrays import from_arrays
from sgat.features import SparseFeatures

EDGES = np.array([[0, 1, 2, 3], [1, 2, 3, 4]])
X = np.arange(15.0).reshape(5, 3)
Y = ["a", "b", None, "a", "b"]


def test_columns_of_a_table_are_numbers_or_named():
    edges, y = np.array([[0, 1, 2], [1, 2, 0]]), ["a", "b", "a"]
    table = pd.DataFrame({"age": [31, 44, 59], "paid": [True, False, True]})
    found = from_arrays(table.convert_dtypes(), edges, y)
    assert torch.equal(found.x, torch.tensor([[31.0, 1.0], [44.0, 0.0], [59.0, 1.0]]))
    for kind in ("category", "datetime64[ns]", object):
        refused = table.assign(paid=table["age"].astype(kind))
        with pytest.raises(ValueError, match=r"in the column 'paid'; make numbers"):
            from_arrays(refused, edges, y)


def test_labels_of_any_type_become_sorted_classes():
    data = from_arrays(X, EDGES, Y, validation=0)
    assert data.classes == ("a", "b")
    assert data.y.tolist() == [0, 1, -1, 0, 1]
    assert data.train.tolist() == [True, True, False, True, True]


def test_integer_labels_keep_their_numbers_and_minus_one_is_none():
    data = from_arrays(X, EDGES, np.array([2, 0, -1, 1, 2]), validation=0)
    assert data.classes == (0, 1, 2)
    assert data.y.tolist() == [2, 0, -1, 1, 2]


def test_numbers_far_apart_are_names():
    data = from_arrays(X, EDGES, np.array([1000, 7, -1, 7, 1000]), validation=0)
    assert data.classes == (7, 1000)
    assert data.y.tolist() == [1, 0, -1, 0, 1]


def test_numbers_from_one_on_are_names():
    data = from_arrays(X, EDGES, np.array([3, 1, -1, 2, 3]), validation=0)
    assert data.classes == (1, 2, 3)
    assert data.y.tolist() == [2, 0, -1, 1, 2]


def test_columns_of_labels_are_several_labels():
    data = from_arrays(X, EDGES, np.eye(5, 2), validation=0)
    assert data.is_multilabel and data.num_classes == 2


@pytest.mark.parametrize("kind", [list, np.asarray, torch.tensor])
def test_edges_may_be_lists_arrays_tensors_and_turned(kind):
    data = from_arrays(X, kind(EDGES.tolist()), Y)
    assert data.graph.edge_index.tolist() == EDGES.tolist()
    pairs = np.concatenate([EDGES, EDGES[:, :1]], axis=1).T
    assert from_arrays(X, pairs, Y).graph.num_edges == 4


def test_features_may_be_sparse_or_missing():
    matrix = scipy.sparse.coo_array(X)
    sparse = from_arrays(matrix, EDGES, Y).x
    assert isinstance(sparse, SparseFeatures)
    assert np.array_equal(sparse.to_dense().numpy(), X)
    for nothing in (None, np.zeros((5, 0)), torch.zeros(5, 0)):
        identity = from_arrays(nothing, EDGES, Y).x
        assert torch.equal(identity.to_dense(), torch.eye(5))


def test_masks_and_node_numbers_mean_the_same():
    by_number = from_arrays(X, EDGES, Y, train=[0, 4], val=[1])
    by_mask = from_arrays(
        X, EDGES, Y, train=by_number.train.numpy(), val=by_number.val.numpy()
    )
    assert torch.equal(by_number.train, by_mask.train)
    assert by_mask.val.tolist() == [False, True, False, False, False]


def test_a_share_of_the_labelled_nodes_is_held_out():
    y = np.arange(100) % 4
    data = from_arrays(np.ones((100, 2)), EDGES, y, validation=0.2, seed=3)
    assert int(data.val.sum()) == 20 and int(data.train.sum()) == 80
    assert np.bincount(y[data.val.numpy()]).tolist() == [5] * 4


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"x": np.array([["u"] * 3] * 5)}, "`X` must hold numbers, got <U1."),
        ({"x": np.ones(5)}, "`X` must be a matrix, got shape [5]."),
        ({"edges": EDGES + 0.5}, "`edges` must hold node numbers, got float64;"),
        ({"edges": EDGES + 1}, "must name nodes 0 to 4, got 5 as target of edge 3."),
        ({"edges": EDGES - 1}, "must name nodes 0 to 4, got -1 as source of edge 0."),
        ({"y": [0.5, 1, None, 2, 3]}, "got the number 0.5 at node 0 (Unknown label"),
        ({"y": [0, 1, None, np.inf, np.pi]}, "got the number 3.14159"),
        (
            {"y": [0, "a", 1.5, None, 2]},
            "`y` must hold labels of one type that can",
        ),
        ({"edge_weight": [1, 1, -2.0, 1]}, "got -2.0 at edge 2."),
        ({"edge_weight": [1.0, 1.0]}, "`edge_weight` must have shape [4], got [2]."),
        ({"train": [5]}, "`train` must name nodes 0 to 4, got 5."),
        ({"val": np.ones(3, bool)}, "`val` must have one entry for each of the 5"),
        ({"validation": 1.0}, "`validation` must be in [0, 1), got 1.0."),
    ],
)
def test_bad_arrays_are_named(arguments, message):
    given = {"x": X, "edges": EDGES, "y": Y} | arguments
    with pytest.raises(ValueError) as error:
        from_arrays(**given)
    assert message in str(error.value)


@pytest.mark.parametrize("kind", [list, np.asarray, torch.tensor, pd.Series])
@pytest.mark.parametrize(
    ("y", "classes", "unknown"),
    [
        ([-1, 1, 1, -1, 1], (-1, 1), 0),
        ([-1.0, 1, 1, -1, 1], (-1, 1), 0),
        ([-1, 0, 1, 0, 1], (0, 1), 1),
        ([-1, 2, 1, 2, 3], (1, 2, 3), 1),
        ([-2, -1, 1, 2, 2], (-2, -1, 1, 2), 0),
        ([-1, 0, 1, 0, np.nan], (-1, 0, 1), 1),
    ],
)
def test_minus_one_is_a_class_unless_two_others_stand_beside_it(
    y, classes, unknown, kind
):
    data = from_arrays(X, EDGES, kind(y), validation=0)
    assert data.classes == classes
    assert int((data.y < 0).sum()) == unknown


def test_whole_numbers_of_pandas_stay_whole():
    y = pd.array([1, 2, None, 2, 1], dtype="Int64")
    assert [type(name) for name in from_arrays(X, EDGES, y).classes] == [int, int]


@pytest.mark.parametrize("missing", [None, float("nan"), -1])
def test_gaps_in_a_list_of_names_are_no_class(missing):
    data = from_arrays(X, EDGES, ["a", "b", missing, "a", "b"], validation=0)
    assert data.classes == ("a", "b")
    assert data.y.tolist() == [0, 1, -1, 0, 1]


def test_gaps_of_pandas_are_no_class():
    y = pd.array(["a", "b", None, "a", "b"], dtype="string")
    assert from_arrays(X, EDGES, y, validation=0).y.tolist() == [0, 1, -1, 0, 1]


def test_one_class_is_one_class_whatever_its_number():
    for number in (0, 1, 7):
        assert from_arrays(X, EDGES, np.full(5, number)).num_classes == 1


def test_zeros_and_ones_are_not_taken_for_node_numbers():
    with pytest.raises(ValueError, match="holds 5 zeros and ones"):
        from_arrays(X, EDGES, Y, train=[1, 0, 0, 1, 0])
    with pytest.raises(ValueError, match="boolean mask or node numbers, got"):
        from_arrays(X, EDGES, Y, train=[0.5, 1.5])


def test_sparse_tensors_are_features_too():
    sparse = torch.eye(5).to_sparse()
    assert torch.equal(from_arrays(sparse, EDGES, Y).x.to_dense(), torch.eye(5))


def test_tensors_of_pairs_are_turned_too():
    pairs = torch.from_numpy(EDGES.T.copy())
    assert from_arrays(X, pairs, Y).graph.edge_index.tolist() == EDGES.tolist()


def test_weights_that_are_words_are_refused():
    with pytest.raises(ValueError, match="`edge_weight` must hold numbers, got"):
        from_arrays(X, EDGES, Y, edge_weight=["a"] * 4)


def test_numbers_are_not_taken_for_classes():
    size = 61
    with pytest.raises(ValueError, match="must hold classes, got 61 different values"):
        from_arrays(np.eye(size), EDGES, np.arange(size))


def test_arrays_that_nobody_may_write_to_are_read():
    x = X.copy()
    x.flags.writeable = False
    assert from_arrays(x, EDGES, Y).x.tolist() == X.tolist()


class TestLabelsOfPandas:
    ids = ("a", "b", "c", "d")
    edges = pd.DataFrame({"src": ["a", "b", "c"], "dst": ["b", "c", "d"]})
    x = pd.DataFrame({"size": [0.0, 1.0, 2.0, 3.0]}, index=list(ids))

    def labels(self, y, x=x, edges=edges):
        data = from_arrays(x, edges, y)
        return [None if k < 0 else data.classes[k] for k in data.y.tolist()]

    def test_they_go_by_their_index_in_any_order(self):
        y = pd.Series([3, 1, 0, 2], index=["d", "b", "a", "c"])
        assert self.labels(y) == [0, 1, 2, 3]
        several = pd.DataFrame({"u": [1, 0, 0, 1], "v": [0, 1, 0, 0]}, index=y.index)
        assert from_arrays(self.x, self.edges, several).y.tolist() == [
            [0, 0],
            [0, 1],
            [1, 0],
            [1, 0],
        ]

    def test_nodes_that_they_leave_out_have_no_label(self):
        assert self.labels(pd.Series([1, 0], index=["c", "a"])) == [0, None, 1, None]
        words = pd.Series(["p", "q"], index=["d", "b"])
        assert self.labels(words) == [None, "q", None, "p"]

    def test_without_ids_they_stand_in_the_order_of_the_nodes(self):
        y, numbers = pd.Series([5, 6, 7, 5]), np.array([[0, 1], [1, 2]])
        assert self.labels(y) == [5, 6, 7, 5]
        assert self.labels(y, self.x.to_numpy(), numbers) == [5, 6, 7, 5]
        # Names say nothing about node numbers.
        y.index = pd.Index(self.ids)
        assert self.labels(y, self.x.to_numpy(), numbers) == [5, 6, 7, 5]

    def test_an_index_that_contradicts_is_refused(self):
        y = pd.Series([0, 1, 1, 0], index=["a", "b", "c", "z"])
        with pytest.raises(ValueError, match=r"names 'z', which the index of `X` does"):
            self.labels(y)
        y.index = pd.Index([3, 2, 0, 1])
        numbers = np.array([[0, 1], [1, 2]])
        with pytest.raises(ValueError, match=r"`y\.sort_index\(\)` if it names nodes"):
            self.labels(y, self.x.to_numpy(), numbers)
        assert self.labels(y.sort_index(), self.x.to_numpy(), numbers) == [1, 0, 1, 0]


@pytest.mark.parametrize(
    "x",
    [
        np.float64(1),
        3,
        iter([1]),
        scipy.sparse.coo_array(np.ones(3)),
        np.ones((3, 1, 1)),
    ],
)
def test_features_without_rows_and_columns_are_refused(x):
    with pytest.raises(ValueError, match=r"`X` must be a matrix, got shape \["):
        from_arrays(x, [[0, 1], [1, 2]], [0, 1, 0])


def test_features_that_somebody_differentiates_are_read_as_numbers():
    x = torch.randn(3, 2, requires_grad=True)
    data = from_arrays(x, [[0, 1], [1, 2]], [0, 1, 0])
    assert not data.x.requires_grad and torch.equal(data.x, x)
    assert judge(x, edges=[[0, 1], [1, 2]]).num_edges == 2
