"""Sparse matrices made by hand with places that do not exist: refused before use."""

import warnings

import numpy as np
import pytest
import torch
from scipy import sparse
from torch_geometric.data import Data

from sgat.data.given_data import GivenData

EDGES = np.array([[0, 1, 2], [1, 2, 0]])
MADE = ("csr", "csc", "coo", "bsr", "lil")
LAYOUTS = {
    "coo": torch.sparse_coo,
    "csr": torch.sparse_csr,
    "csc": torch.sparse_csc,
}


def broken(form, place):
    """A matrix [3, 3] of SciPy with an index far outside."""
    matrix = sparse.coo_array((np.ones(3), tuple(EDGES.copy())), shape=(3, 3)).asformat(
        form
    )
    if form == "coo":
        matrix.coords[1][2] = place
    elif form == "lil":
        matrix.rows[1][0] = place
    elif place < 0:
        matrix.indptr[1] = place
    else:
        matrix.indices[1] = place
    return matrix


def broken_tensor(form, place):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # CSR is called a beta
        index = torch.tensor([[0, 1, place], [1, 2, 0]])
        if form == "coo":
            return torch.sparse_coo_tensor(
                index, torch.ones(3), (3, 3), check_invariants=False
            )
        parts = torch.arange(4), torch.tensor([1, place, 0]), torch.ones(3)
        return torch.sparse_compressed_tensor(
            *parts, size=(3, 3), layout=LAYOUTS[form], check_invariants=False
        )


@pytest.mark.parametrize("place", [10**9, -(10**6)])
@pytest.mark.parametrize("form", MADE)
def test_a_matrix_of_scipy_is_refused(form, place):
    with pytest.raises(
        ValueError, match="`edges` must be a sparse matrix whose places"
    ):
        GivenData(np.ones((3, 2)), broken(form, place), None, {}).read([0, 1, 0])
    with pytest.raises(
        ValueError, match="`X` must be a sparse matrix whose places are"
    ):
        GivenData(broken(form, place), EDGES, None, {}).read([0, 1, 0])


@pytest.mark.parametrize("place", [10**9, -(10**6)])
@pytest.mark.parametrize("form", LAYOUTS)
def test_a_tensor_is_refused(form, place):
    tensor = broken_tensor(form, place)
    with pytest.raises(
        ValueError, match="`edges` must be a sparse matrix whose places"
    ):
        GivenData(np.ones((3, 2)), tensor, None, {}).read([0, 1, 0])
    with pytest.raises(
        ValueError, match="`X` must be a sparse matrix whose places are"
    ):
        GivenData(tensor, EDGES, None, {}).read([0, 1, 0])
    data = Data(x=torch.ones(3, 2), adj_t=tensor, y=torch.tensor([0, 1, 0]))
    with pytest.raises(
        ValueError, match="`edges` must be a sparse matrix whose places"
    ):
        GivenData(data, None, None, {}).read(None)


@pytest.mark.parametrize("form", MADE)
def test_a_sound_matrix_is_read(form):
    matrix = sparse.coo_array((np.ones(3), tuple(EDGES.copy())), shape=(3, 3)).asformat(
        form
    )
    [found] = GivenData(matrix, matrix, None, {}).read([0, 1, 0])
    assert found.graph.num_edges == 3 and found.num_features == 3
