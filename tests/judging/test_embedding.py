"""How features become vectors, against NumPy's dense linear algebra."""

import math

import numpy as np
import pytest
import torch
from torch import Tensor

from sgat.features import SparseFeatures
from sgat.judging import embedding
from sgat.judging.embedding import fit_embedding

N, K = 97, 23


def words(seed: int) -> Tensor:
    """A bag of words: few of 23 words in each of 97 rows, none in row 5."""
    generator = torch.Generator().manual_seed(seed)
    share = torch.linspace(0.05, 0.6, K)
    x = (torch.rand(N, K, generator=generator) < share).float()
    x[5] = 0
    return x


def measures(seed: int, width: int = K) -> Tensor:
    """Features of any sign, whose directions differ in variance."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(N, width, generator=generator)
    turn = torch.linalg.qr(torch.randn(width, width, generator=generator)).Q
    return (x * 0.6 ** torch.arange(width)) @ turn + 3


def unit(rows: np.ndarray) -> np.ndarray:
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.divide(rows, length, out=np.zeros_like(rows), where=length > 0)


def test_words_are_weighed_by_how_rare_they_are(seed: int):
    x = words(seed)
    found = fit_embedding(x, 7)
    for column in range(K):
        number = int(x[:, column].count_nonzero())
        assert float(found.scale[column]) == pytest.approx(math.log(N / number), 1e-5)
    assert not found.offset.any()


def test_other_features_are_standardised(seed: int):
    x = measures(seed)
    found = fit_embedding(x, 7)
    z = x * found.scale - found.offset
    assert torch.allclose(z.mean(dim=0), torch.zeros(K), atol=1e-4)
    assert torch.allclose(z.var(dim=0, correction=0), torch.ones(K), atol=1e-4)


@pytest.mark.parametrize("size", [1e-42, 1e-39, 1e-30, 1e-20, 1e15])
def test_features_of_any_size_give_finite_vectors(size: float, seed: int):
    x = measures(seed) * size
    assert bool(fit_embedding(x, 7).vectors(x).isfinite().all())


@pytest.mark.parametrize("make", [words, measures])
def test_rows_are_centred_after_they_have_unit_length(make, seed: int):
    x = make(seed)
    found = fit_embedding(x, 7)
    z = unit((x * found.scale - found.offset).double().numpy())
    assert np.allclose(found.centre, z.mean(axis=0), atol=1e-6)


@pytest.mark.parametrize("make", [words, measures])
@pytest.mark.parametrize("rank", [K, 64])
def test_vectors_are_the_principal_components_up_to_sign(make, rank: int, seed: int):
    x = make(seed)
    found = fit_embedding(x, rank)
    z = unit((x * found.scale - found.offset).double().numpy())
    z -= z.mean(axis=0)
    value, axes = np.linalg.svd(z, full_matrices=False)[1:]
    is_apart = np.diff(value, append=0) < -1e-2 * value[0]
    for number in np.flatnonzero(is_apart & np.roll(is_apart, 1))[:3]:
        turned = abs(float(found.axes[:, number].double() @ torch.tensor(axes[number])))
        assert turned == pytest.approx(1, abs=1e-3)
    vector = found.vectors(x)
    assert vector.shape == (N, rank) and vector.dtype == torch.float32
    # All K axes turn the rows and change no angle between them.
    assert np.allclose(vector @ vector.T, unit(z) @ unit(z).T, atol=1e-4)


def test_few_axes_hold_almost_as_much_variance_as_the_best(seed: int):
    x = measures(seed)
    found = fit_embedding(x, 5)
    z = unit((x * found.scale - found.offset).double().numpy())
    z -= z.mean(axis=0)
    best = np.linalg.svd(z, compute_uv=False)[:5]
    held = np.linalg.norm(z @ found.axes.double().numpy(), axis=0)
    assert (held**2).sum() > 0.98 * (best**2).sum()
    assert (np.diff(held) < 1e-6).all(), "the largest comes first"


@pytest.mark.parametrize("make", [words, measures])
@pytest.mark.parametrize("rank", [5, K, 64])
def test_axes_are_orthonormal_and_those_that_do_not_exist_are_zero(
    make, rank: int, seed: int
):
    axes = fit_embedding(make(seed), rank).axes
    expected = torch.diag((torch.arange(rank) < K).float())
    assert axes.shape == (K, rank)
    assert torch.allclose(axes.T @ axes, expected, atol=1e-5)


@pytest.mark.parametrize("make", [words, measures])
def test_vectors_have_unit_length(make, seed: int):
    x = make(seed)
    length = fit_embedding(x, 7).vectors(x).norm(dim=1)
    assert torch.allclose(length, torch.ones(N), atol=1e-5)


def test_a_row_without_words_has_a_vector_too(seed: int):
    x = words(seed)
    found = fit_embedding(x, K)
    expected = -(found.centre @ found.axes)
    assert torch.allclose(found.vectors(x)[5], expected / expected.norm(), atol=1e-5)


def test_every_call_finds_the_same(seed: int):
    x = words(seed)
    one, other = fit_embedding(x, 7, seed=3), fit_embedding(x, 7, seed=3)
    torch.rand(5)
    assert all(torch.equal(a, b) for a, b in zip(one, other, strict=True))


def test_sparse_features_give_what_dense_ones_give(seed: int):
    x = words(seed)
    sparse = SparseFeatures.from_dense(x)
    one, other = fit_embedding(x, 7), fit_embedding(sparse, 7)
    for a, b in zip(one, other, strict=True):
        torch.testing.assert_close(a, b, atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(one.vectors(x), one.vectors(sparse))


def test_identity_features_tell_nobody_apart_more_than_others(seed: int):
    x = SparseFeatures.identity(13)
    vector = fit_embedding(x, 64).vectors(x)
    # Any two rows of a centred identity have this angle.
    expected = torch.full((13, 13), -1 / 12).fill_diagonal_(1)
    assert torch.allclose(vector @ vector.T, expected, atol=1e-4)


def test_columns_that_never_change_say_nothing(seed: int):
    x = measures(seed)
    extra = torch.cat([x, torch.full((N, 2), 0.7)], dim=1)
    vector, wide = fit_embedding(x, K).vectors(x), fit_embedding(extra, K)
    gram = wide.vectors(extra) @ wide.vectors(extra).T
    assert torch.allclose(gram, vector @ vector.T, atol=1e-3)
    # On another graph the column may have another value, which means nothing known.
    moved = extra.clone()
    moved[::2, -1] = 0.1
    assert torch.allclose(wide.vectors(moved), wide.vectors(extra), atol=1e-3)


def test_features_that_are_all_alike_give_vectors_that_are_alike():
    for x in (torch.zeros(7, 3), torch.full((7, 3), 0.1), torch.ones(1, 3)):
        vector = fit_embedding(x, 5).vectors(x)
        assert bool(vector.isfinite().all())
        assert torch.allclose(vector, vector[:1].expand_as(vector), atol=1e-3)


def test_of_many_nodes_some_are_looked_at(monkeypatch, seed: int):
    monkeypatch.setattr(embedding, "MOST_ROWS", 53)
    x = measures(seed)
    found = fit_embedding(x, 7, seed=seed)
    assert all(
        torch.equal(a, b)
        for a, b in zip(found, fit_embedding(x, 7, seed=seed), strict=True)
    )
    whole = embedding.fit_embedding(x[:53], 7, seed=seed)
    assert not torch.equal(found.centre, whole.centre), "not the first ones"
    assert found.vectors(x).shape == (N, 7)


def test_identity_features_of_many_nodes_are_never_made_dense():
    # A dense matrix would have 4 · 10^10 entries.
    x = SparseFeatures.identity(200_000)
    vector = fit_embedding(x, 3).vectors(x)
    torch.testing.assert_close(vector.norm(dim=1), torch.ones(len(x)))


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("make", [words, measures])
@pytest.mark.parametrize("size", [1e38, 1e-20])
def test_the_unit_of_features_does_not_matter(make, size: float, sparse, seed: int):
    x = make(seed) / make(seed).abs().max()
    given = SparseFeatures.from_dense(x * size) if sparse else x * size
    found = embedding.vectors(given, seed=seed)
    wanted = embedding.vectors(x, seed=seed)
    assert np.allclose(found @ found.T, wanted @ wanted.T, atol=1e-3)
    rows = embedding.unit_rows(given)
    rows = rows.toarray() if sparse and make is words else rows
    assert np.allclose(np.linalg.norm(rows, axis=1)[6:], 1, atol=1e-5)


def test_entries_next_to_nothing_say_nothing(seed: int):
    x = torch.cat([measures(seed), 1e-42 * measures(seed)], dim=1)
    found = embedding.vectors(x, seed=seed)
    wanted = embedding.vectors(x[:, :K], seed=seed)
    assert np.allclose(found @ found.T, wanted @ wanted.T, atol=1e-3)
    assert not embedding.vectors(x[:, K:], seed=seed).any()


@pytest.mark.parametrize("shape", [(2000, 300), (300, 1500)])
def test_the_number_of_threads_changes_no_bit(shape):
    x = torch.randn(shape, generator=torch.Generator().manual_seed(0))
    before, found = torch.get_num_threads(), []
    try:
        for threads in (1, 2, 4):
            torch.set_num_threads(threads)
            found.append(embedding.vectors(x))
    finally:
        torch.set_num_threads(before)
    assert all((other == found[0]).all() for other in found[1:])
