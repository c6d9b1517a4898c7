"""DeviceArray: NumPy and SciPy compute with it what they compute with arrays."""

import numpy as np
import pytest
import torch
from scipy.special import expit, logit, ndtr, ndtri
from support.device_arrays import there
from support.triton_device import DEVICE

from sgat.ops import blocks
from sgat.ops.device_array import UFUNCS, DeviceArray, as_tensor, host


@pytest.fixture
def value(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((13, 3)).astype(np.float32)


@pytest.fixture
def on_the_device():
    with blocks.on_gpu(torch.device(DEVICE)):
        yield


OPERATIONS = {
    "arithmetic": lambda x: (1 - x) * x / (x * x + 2) - 0.5,
    "in place": lambda x: blocks_in_place(x),
    "comparisons": lambda x: (x > 0) & ~(x <= 0.3) | (x == x),
    "special": lambda x: expit(x) + ndtri(ndtr(x)) + logit(expit(x)) ** 2,
    "logs": lambda x: np.log1p(abs(x)) + np.sqrt(np.square(x)) + np.log(np.exp(x)),
    "largest": lambda x: np.maximum(0.1, np.minimum(x, 1)).clip(max=0.5),
    "product": lambda x: x @ np.array([1.0, -2.0, 0.5], dtype=np.float32),
    "columns": lambda x: np.stack([x[:, 0], x[:, 2]], axis=1, dtype=np.float32),
    "rows": lambda x: np.concatenate([x, x[3:5]], dtype=float),
    "chosen": lambda x: x[x[:, 0] > 0],
    "places": lambda x: np.flatnonzero(x[:, 0] > 0),
    "numbers": lambda x: x[np.array([2, 5, 7])],
    "lines": lambda x: np.interp(x, np.array([-1.0, 0, 2]), np.array([0.0, 5, 6])),
    "among": lambda x: np.searchsorted(np.array([-1.0, 0, 1]), x[:, 0]),
    "in order": lambda x: np.argsort(x[:, 0], kind="stable"),
    "like": lambda x: np.zeros_like(x, dtype=np.int8) + np.ones_like(x, dtype=np.int8),
    "types": lambda x: x.astype(np.int64).astype(float),
    "sums": lambda x: np.cumsum(x[:, 0].astype(float), dtype=float),
    "einsum": lambda x: np.einsum("nr,nr->n", x, x),
    "both": lambda x: np.divmod((10 * abs(x)).astype(np.int64), 3)[1],
    "bits": lambda x: (x > 0).view(np.int8),
    "copies": lambda x: np.copy(x.T),
    "different": lambda x: np.unique(x.astype(np.int64).ravel()),
}


def blocks_in_place(x):
    x = np.copy(x)
    x -= 1
    x[:2] = 7
    x[:, 1] *= 2
    return x


@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_gives_what_numpy_gives(name: str, value: np.ndarray):
    wanted = OPERATIONS[name](value)
    found = OPERATIONS[name](there(value))
    assert isinstance(found, DeviceArray)
    assert np.allclose(host(found), wanted, atol=1e-5)
    assert found.shape == wanted.shape


def test_numbers_of_all_rows_are_those_of_numpy(value: np.ndarray):
    found, mask = there(value), there(value > 0)
    assert found.mean() == pytest.approx(value.mean(dtype=float))
    assert found.sum() == pytest.approx(value.sum(dtype=float))
    assert mask.sum() == (value > 0).sum()
    assert np.count_nonzero(mask) == (value > 0).sum()
    assert mask.any()
    assert np.allclose(host(found.mean(axis=0)), value.mean(axis=0), atol=1e-6)
    assert np.quantile(found[:, 0], 0.1) == pytest.approx(np.quantile(value[:, 0], 0.1))
    counts = np.bincount(there(np.array([0, 2, 2])), minlength=4)
    assert counts.tolist() == [1, 0, 2, 0]


def test_an_operation_that_is_not_there_is_an_error(value: np.ndarray):
    with pytest.raises(TypeError):
        np.sin(there(value))
    with pytest.raises(TypeError):
        np.linalg.norm(there(value))
    with pytest.raises(TypeError):
        np.add.reduce(there(value))


def test_every_name_is_one_of_numpy_or_scipy():
    import scipy.special

    for name in UFUNCS:
        own = getattr(np, name, None) or getattr(scipy.special, name)
        assert own.__name__ == name


def test_numbers_that_are_all_the_same_take_no_room():
    same = there(np.broadcast_to(np.float32(0.5), 1009))
    assert same.tensor.stride() == (0,)
    assert host(same).tolist() == [0.5] * 1009


def test_blocks_are_computed_where_arrays_lie(on_the_device, value: np.ndarray):
    column = value[:, 0]
    found = blocks.by_rows(lambda part: 2 * part, column)
    assert isinstance(found, DeviceArray)
    assert np.array_equal(host(found), 2 * column)
    assert blocks.sum_of_rows(lambda part: part, column) == pytest.approx(column.sum())
    assert isinstance(blocks.empty((2, 3), bool), DeviceArray)
    kept = blocks.where(value[:, 0] > 0, value[:, 1])
    assert np.array_equal(host(kept), value[:, 1][value[:, 0] > 0])
    assert as_tensor(blocks.numbers_from(5, 3)).tolist() == [5, 6, 7]


def test_what_is_drawn_depends_on_the_seed_alone(on_the_device):
    def draw() -> tuple[list, list]:
        rng = np.random.default_rng(7)
        bits = blocks.random_bits(10_007, 2, rng)
        score = there(np.zeros(1009))
        blocks.add_noise(score, 1e-3, rng)
        return host(bits).tolist(), host(score).tolist()

    bits, score = draw()
    assert draw() == (bits, score)
    assert 0.47 < np.mean(bits) < 0.53
    assert 0.8e-3 < np.std(score) < 1.2e-3
    rows = blocks.random_rows(10**6, 5000, np.random.default_rng(0))
    assert len(rows) > 4900
    assert (np.diff(rows) > 0).all()
