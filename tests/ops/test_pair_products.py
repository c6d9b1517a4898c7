"""Products of pairs of vectors and of means, against NumPy in float64."""

import numpy as np
import pytest
from support.device_arrays import there
from support.triton_device import needs_triton

from sgat.judging.matrices import numbered, weighted
from sgat.ops.device_array import host
from sgat.ops.pair_products import mean_products, pair_products


@pytest.mark.parametrize("number", [0, 1, 211, 40_009])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_pair_products_are_those_of_the_rows(number: int, dtype: type, seed: int):
    rng = np.random.default_rng(seed)
    left, right = rng.standard_normal((2, 53, 37)).astype(dtype)
    a, b = rng.integers(0, 53, (2, number))
    found = pair_products(left, right, a, b)
    exact = (left[a].astype(float) * right[b].astype(float)).sum(axis=1)
    assert found.dtype == dtype
    near = 1e-4 if dtype == np.float32 else 1e-12
    assert np.allclose(found, exact, atol=near)
    scale = rng.integers(-1, 2, 37)
    exact = (left[a].astype(float) * right[b].astype(float)) @ scale
    assert np.allclose(pair_products(left, right, a, b, scale), exact, atol=near)


def a_graph(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Vectors, edges with the weights, of a chain and some chords."""
    rng = np.random.default_rng(seed)
    ends = np.stack([np.arange(40), np.arange(1, 41)])
    ends = np.concatenate([ends, np.array([[3, 5, 7], [11, 31, 29]])], axis=1)
    u = rng.standard_normal((41, 19)).astype(np.float32)
    return u, ends, rng.random(43) + 1e-3


def test_mean_products_leave_the_other_end_out(seed: int):
    u, ends, weight = a_graph(seed)
    matrix = weighted(numbered(ends, 41), weight)
    one, other = (ends[0], ends[1], weight), (ends[1], ends[0], weight)
    total = matrix.astype(np.float32) @ u
    found = mean_products(u, total, matrix.sum(axis=1), one, other)
    dense, exact = matrix.toarray(), u.astype(float)
    for place, (a, b) in enumerate(ends.T):
        without = dense.copy()
        without[a, b] = without[b, a] = 0
        mean = without @ exact / (without.sum(axis=1, keepdims=True) + 1)
        length = np.linalg.norm(mean[a]) * np.linalg.norm(mean[b])
        both = mean[a] @ mean[b]
        wanted = [exact[a] @ mean[b] + exact[b] @ mean[a], both, both / (length or 1)]
        assert np.allclose(found[place], wanted, atol=1e-4)


def test_a_mean_without_neighbours_is_zero_to_the_bit(seed: int):
    # A product that is rounded once, and one that is not, leave a rest.
    u, ends, weight = a_graph(seed)
    matrix = weighted(numbered(ends, 41), weight)
    total = matrix.astype(np.float32) @ u
    one, other = (ends[0], ends[1], weight), (ends[1], ends[0], weight)
    found = mean_products(u, total, matrix.sum(axis=1), one, other)
    # Node 0 has one neighbour, node 1.
    assert found[0, 1] == found[0, 2] == 0


@needs_triton[0]
@needs_triton[1]
@pytest.mark.parametrize("number", [0, 1, 211])
def test_a_gpu_gives_the_products_of_a_cpu(number: int, seed: int):
    rng = np.random.default_rng(seed)
    left, right = rng.standard_normal((2, 53, 37)).astype(np.float32)
    a, b, out_a, out_b = rng.integers(0, 53, (4, number)).astype(np.int32)
    lost = rng.random((2, number))
    strength = rng.random(53) * 3 + 1
    strength[:9] = lost[0, 0] if number else 1.0
    a[:3] = 5
    lost[0, :3] = strength[5]  # no neighbour is left
    scale = rng.integers(-1, 2, 37).astype(np.float32)
    given = left, right, a, b
    wanted = pair_products(*given, scale)
    found = pair_products(*map(there, given), scale)
    assert np.allclose(host(found), wanted, atol=1e-4)
    ends = (a, out_a, lost[0]), (b, out_b, lost[1])
    wanted = mean_products(left, right, strength, *ends)
    on_gpu = (tuple(map(there, end)) for end in ends)
    found = mean_products(there(left), there(right), there(strength), *on_gpu)
    assert np.allclose(host(found), wanted, atol=1e-4)
