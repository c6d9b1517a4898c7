"""SparseFeatures: the same matrix, sparse or dense."""

import numpy as np
import pytest
import scipy.sparse
import torch
from torch import Tensor

from sgat.features import (
    FeatureScaling,
    SparseFeatures,
    concatenate,
    normalise_rows,
    rows,
)


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


def test_rows_are_those_of_the_dense_matrix():
    dense = torch.tensor([[0.0, 1.0], [2.0, 0.0], [0.0, 0.0], [3.0, 4.0]])
    sparse = SparseFeatures.from_dense(dense)
    for start, stop in ((0, 4), (1, 3), (2, 2), (3, 4)):
        assert torch.equal(rows(dense, start, stop), dense[start:stop])
        found = rows(sparse, start, stop)
        assert found.shape == (stop - start, 2)
        assert torch.equal(found.to_dense(), dense[start:stop])


def scaled_by(how: str, fitted: list, x) -> Tensor:
    """The features that a scaling fitted to others makes of x, as a dense matrix."""
    scaling = FeatureScaling(x.shape[1], how)
    scaling.fit(fitted)
    found = scaling(x)
    return found.to_dense() if isinstance(found, SparseFeatures) else found


def test_columns_get_mean_0_and_spread_1():
    x = bag_of_words() * 7 + 0.1
    found = scaled_by("standard", [x], x)
    wide, equal = x.double(), (x == x[0]).all(0)
    assert equal[3] and not equal.all()
    expected = ((wide - wide.mean(0)) / wide.std(0, correction=0)).float()
    expected[:, equal] = 0
    torch.testing.assert_close(found, expected)
    parts = scaled_by("standard", [x[:5], x[5:]], x)
    torch.testing.assert_close(parts, expected)
    other = scaled_by("standard", [x], x + 1)
    assert torch.allclose(other[:, equal], torch.ones(()))


def test_sparse_columns_get_mean_square_1_and_stay_sparse():
    dense = bag_of_words()
    x = SparseFeatures.from_dense(dense)
    scaling = FeatureScaling(29, "standard")
    order = x.by_column
    scaling.fit([rows(x, 0, 4), rows(x, 4, 13)])
    found = scaling(x)
    assert isinstance(found, SparseFeatures) and torch.equal(found.column, x.column)
    assert found.by_column is order
    root = dense.square().mean(0).sqrt()
    expected = dense / torch.where(root > 0, root, 1)
    torch.testing.assert_close(found.to_dense(), expected)
    torch.testing.assert_close(scaled_by("standard", [x], dense), expected)


def test_sparse_features_follow_dense_ones_that_were_fitted():
    fitted, new = bag_of_words(17) + 1, bag_of_words()
    expected = scaled_by("standard", [fitted], new)
    found = scaled_by("standard", [fitted], SparseFeatures.from_dense(new))
    torch.testing.assert_close(found, expected)


def test_other_scalings_know_no_columns():
    x = bag_of_words()
    assert torch.equal(scaled_by("rows", [x * 9], x), normalise_rows(x))
    for form in (x, SparseFeatures.from_dense(x)):
        assert FeatureScaling(29)(form) is form
    for how in ("none", "rows"):
        assert not FeatureScaling(29, how).state_dict()
    with pytest.raises(ValueError, match="`scaling` must be none, rows or standard"):
        FeatureScaling(29, "unit")


def test_a_scaling_forgets():
    x, scaling = bag_of_words() + 3, FeatureScaling(29, "standard")
    scaling.fit([x])
    assert not torch.equal(scaling(x), x)
    scaling.reset_parameters()
    assert torch.equal(scaling(x), x)
    assert repr(scaling) == "FeatureScaling(standard)"
