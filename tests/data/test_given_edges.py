import numpy as np
import pandas as pd
import pytest
import torch
from scipy import sparse

import sgat
from sgat.data.arrays import from_arrays
from sgat.data.given_edges import kept_edges, read_edges

SRC, DST = np.array([0, 1, 2, 3]), np.array([1, 2, 3, 0])
WEIGHT = np.array([1.0, 2.0, 3.0, 4.0])
NAMES = np.array(["ann", "bob", "cyd", "dan"])
MATRIX = sparse.coo_array((WEIGHT, (SRC, DST)), shape=(4, 4))
X = pd.DataFrame(np.eye(4, 3) + 1, index=NAMES)
TABLE = pd.DataFrame({"src": NAMES[SRC], "dst": NAMES[DST], "weight": WEIGHT})
ROWS = sparse.csr_matrix(MATRIX)
# Torch says so once in a process.
pytestmark = pytest.mark.filterwarnings("ignore:Sparse CSR tensor support is in beta")


def torch_matrix(matrix):
    ends = torch.tensor(np.stack([matrix.row, matrix.col]))
    value = torch.tensor(matrix.data)
    size = (4, 4)
    found = torch.sparse_coo_tensor(ends, value, size, check_invariants=True)
    return found.coalesce().to_sparse_csr()


@pytest.fixture(params=["table", "matrix", "array", "torch"])
def edges(request):
    if request.param == "torch":
        return torch_matrix(MATRIX)
    return {"table": TABLE, "matrix": ROWS, "array": MATRIX}[request.param]


def test_every_kind_has_the_same_edges_and_weights(edges):
    graph = from_arrays(X, edges).graph
    assert graph.edge_index.tolist() == [[3, 0, 1, 2], [0, 1, 2, 3]]
    assert graph.edge_weight.tolist() == [4, 1, 2, 3]


def test_fewer_edges_come_back_in_the_same_form(edges):
    kept = torch.tensor([True, False, True, True])
    small = kept_edges(edges, kept, torch.tensor([0.5, 1, 1.5, 2]))
    assert type(small) is type(edges)
    index, weight, _ = read_edges(small, X)
    assert index.tolist() == [[0, 2, 3], [1, 3, 0]]
    assert weight.tolist() == [0.5, 1.5, 2.0]


def test_a_judged_table_is_a_smaller_table():
    rng = np.random.default_rng(0)
    ids = np.array([f"n{i}" for i in range(60)])
    table = pd.DataFrame({"src": rng.choice(ids, 200), "dst": rng.choice(ids, 200)})
    features = pd.DataFrame(rng.normal(size=(60, 3)), index=ids)
    judged = sgat.judge(features, table)
    small = judged.remove()
    assert list(small.columns) == ["src", "dst", "weight"]
    assert len(judged.probability) == 200 >= len(small)


@pytest.mark.parametrize(
    ("edges", "x", "message"),
    [
        (TABLE.assign(dst="eve"), X, "names 'eve' in row 0, which the index of `X`"),
        (TABLE.rename(columns={"src": "from"}), X, "columns src and dst, got from, "),
        (TABLE, X.to_numpy(), "beside a table `X` whose index has them"),
        (TABLE, pd.concat([X, X]), "each id once, got 'ann' twice"),
        (sparse.eye_array(3, 4), None, "must be a square matrix"),
    ],
)
def test_what_does_not_fit_is_named(edges, x, message):
    with pytest.raises(ValueError) as error:
        from_arrays(x, edges)
    assert message in str(error.value)


def test_weights_are_given_once():
    with pytest.raises(ValueError, match="must be None where `edges` has weights"):
        from_arrays(X, MATRIX, edge_weight=WEIGHT)


def test_a_transposed_matrix_of_pyg_goes_in_and_out(pyg):
    data = pyg.data.Data(x=torch.tensor(X.to_numpy()).float())
    data.adj_t = torch_matrix(MATRIX.T)
    given = sgat.data.given_data.GivenData(data)
    (read,) = given.read()
    assert read.graph.edge_index.tolist() == [[3, 0, 1, 2], [0, 1, 2, 3]]
    kept = torch.tensor([True, False, True, True])
    small = given.pruned([read], [kept], [torch.full((4,), 0.5)])
    assert small.adj_t.layout == torch.sparse_csr and "edge_index" not in small
    assert small.adj_t.to_dense()[0, 3] == 2 and small.adj_t.to_dense().sum() == 4.5
