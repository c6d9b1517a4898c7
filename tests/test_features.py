"""SparseFeatures: the same matrix, sparse or dense."""

import numpy as np
import pytest
import scipy.sparse
import torch
from torch import Tensor

from sgat.features import SparseFeatures, concatenate, normalise_rows, product, rows


def bag_of_words(num_rows: int = 13, num_columns: int = 29) -> Tensor:
    """Few entries, signs mixed, an empty row and an empty column."""
    generator = torch.Generator().manual_seed(num_rows)
    x = torch.randn(num_rows, num_columns, generator=generator)
    x[torch.rand(x.shape, generator=generator) > 0.2] = 0
    x[num_rows // 2], x[:, 3] = 0, 0
    return x


def test_dense_to_sparse_and_back():
    x = bag_of_words()
    sparse = SparseFeatures.from_dense(x)
    assert torch.equal(sparse.to_dense(), x)
    assert sparse.shape == (13, 29) and len(sparse) == 13
    assert len(sparse.value) == int((x != 0).sum())
    assert sparse.dtype == torch.float32 and sparse.device.type == "cpu"


def test_row_names_the_row_of_each_entry():
    x = bag_of_words()
    sparse = SparseFeatures.from_dense(x)
    assert torch.equal(torch.stack([sparse.row, sparse.column]), x.nonzero().T)


@pytest.mark.parametrize("form", ["coo_matrix", "csc_array", "csr_array"])
def test_any_scipy_form_is_taken_over(form: str):
    x = bag_of_words()
    sparse = SparseFeatures.from_scipy(getattr(scipy.sparse, form)(x.numpy()))
    assert torch.equal(sparse.to_dense(), x)
    assert sparse.row_ptr.dtype == sparse.column.dtype == torch.int64


def test_scipy_duplicates_are_added_and_the_original_is_left_alone():
    matrix = scipy.sparse.csr_array(
        (np.array([1.0, 2.0, 4.0]), np.array([1, 0, 1]), np.array([0, 3, 3])),
        shape=(2, 3),
    )
    sparse = SparseFeatures.from_scipy(matrix)
    assert sparse.to_dense().tolist() == [[2.0, 5.0, 0.0], [0.0, 0.0, 0.0]]
    assert sparse.column.tolist() == [0, 1]
    assert matrix.indices.tolist() == [1, 0, 1]


@pytest.mark.parametrize("dtype", [None, np.float64])
def test_scipy_gets_the_same_matrix(dtype: type | None):
    x = bag_of_words()
    found = SparseFeatures.from_dense(x).to_scipy(dtype)
    assert found.dtype == (dtype or np.float32)
    assert (found.toarray() == x.numpy()).all()


def test_identity():
    assert torch.equal(SparseFeatures.identity(7).to_dense(), torch.eye(7))


@pytest.mark.parametrize("shape", [(0, 5), (3, 0), (3, 5)])
def test_a_matrix_without_entries(shape: tuple[int, int]):
    sparse = SparseFeatures.from_dense(torch.zeros(shape))
    assert sparse.shape == shape
    assert torch.equal(sparse.to_dense(), torch.zeros(shape))
    assert repr(sparse) == f"SparseFeatures({shape[0]} x {shape[1]}, 0.0% filled)"


def test_repr_is_one_line():
    sparse = SparseFeatures.identity(4)
    assert repr(sparse) == "SparseFeatures(4 x 4, 25.0% filled)"


def test_concatenate_stacks_rows_dense_and_sparse_alike():
    parts = [bag_of_words(13), bag_of_words(7), bag_of_words(3)]
    dense = concatenate(parts)
    sparse = concatenate([SparseFeatures.from_dense(part) for part in parts])
    assert torch.equal(dense, torch.cat(parts))
    assert isinstance(sparse, SparseFeatures)
    assert torch.equal(sparse.to_dense(), dense)


def test_dense_and_sparse_parts_do_not_mix():
    parts = [bag_of_words(), SparseFeatures.from_dense(bag_of_words())]
    sentence = "Features of one batch must be all dense or all sparse."
    with pytest.raises(ValueError, match=f"^{sentence}$"):
        concatenate(parts)


def test_normalised_rows_have_absolute_sum_one_and_zero_rows_stay():
    x = normalise_rows(bag_of_words())
    total = x.abs().sum(dim=1)
    expected = torch.ones(13)
    expected[6] = 0
    assert torch.allclose(total, expected)
    assert normalise_rows(torch.tensor([[1.0, -3.0]])).tolist() == [[0.25, -0.75]]


def test_normalising_rows_is_the_same_dense_or_sparse():
    x = bag_of_words()
    sparse = normalise_rows(SparseFeatures.from_dense(x))
    assert torch.allclose(sparse.to_dense(), normalise_rows(x), rtol=1e-6, atol=0)


def test_to_moves_every_tensor():
    moved = SparseFeatures.identity(5).to("meta")
    tensors = moved.row_ptr, moved.column, moved.value
    assert [tensor.device.type for tensor in tensors] == ["meta"] * 3
    assert moved.shape == (5, 5)


@pytest.mark.parametrize("width", [1, 2, 15, 16, 17])
def test_the_product_and_its_gradients_are_those_of_the_matrices(width: int) -> None:
    x = torch.randn(29, 11, dtype=torch.float64, requires_grad=True)
    weight = torch.randn(11, width, dtype=torch.float64, requires_grad=True)
    upstream = torch.randn(29, width, dtype=torch.float64)
    outputs = product(x, weight), x @ weight
    torch.testing.assert_close(*outputs)
    grads = [torch.autograd.grad(out, (x, weight), upstream) for out in outputs]
    torch.testing.assert_close(*grads)


def test_rows_are_those_of_the_dense_matrix():
    dense = torch.tensor([[0.0, 1.0], [2.0, 0.0], [0.0, 0.0], [3.0, 4.0]])
    sparse = SparseFeatures.from_dense(dense)
    for start, stop in ((0, 4), (1, 3), (2, 2), (3, 4)):
        assert torch.equal(rows(dense, start, stop), dense[start:stop])
        found = rows(sparse, start, stop)
        assert found.shape == (stop - start, 2)
        assert torch.equal(found.to_dense(), dense[start:stop])
