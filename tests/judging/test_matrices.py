"""Matrices of a graph, against dense ones."""

import numpy as np
from support.device_arrays import there
from support.triton_device import needs_triton

from sgat.judging import matrices
from sgat.judging.matrices import (
    EdgeNumbers,
    chosen,
    contains,
    entries,
    numbered,
    sums_at_ends,
    weighted,
)
from sgat.ops import blocks
from sgat.ops.device_array import as_tensor, host


def test_entries_are_those_of_the_dense_matrix():
    ends = np.array([[0, 0, 2, 1], [3, 1, 4, 4]])
    matrix = weighted(numbered(ends, 6), np.array([2.0, 3.0, 5.0, 7.0]))
    dense = np.zeros((6, 6))
    dense[ends[0], ends[1]] = dense[ends[1], ends[0]] = [2, 3, 5, 7]
    row, column = np.indices((6, 6)).reshape(2, -1)
    assert np.array_equal(matrix.toarray(), dense)
    assert np.array_equal(entries(matrix, row, column), dense.ravel())
    assert np.array_equal(contains(matrix, row, column), dense.ravel() != 0)


def test_a_graph_without_edges_has_no_entries():
    matrix = weighted(numbered(np.zeros((2, 0), dtype=int), 3), np.zeros(0))
    assert not contains(matrix, np.array([0, 1]), np.array([1, 2])).any()


def test_weights_of_some_edges_need_no_new_order():
    ends = np.array([[0, 0, 2, 1], [3, 1, 4, 4]])
    weight, kept = np.array([2.0, 0.0, 5.0, 7.0]), np.array([True, True, False, True])
    numbers = numbered(ends, 6)
    some = chosen(numbers, ends, kept, weight)
    for made, part in ((weighted(numbers, weight), slice(None)), (some, kept)):
        wanted = weighted(numbered(ends[:, part], 6), weight[part])
        assert made.has_sorted_indices
        assert np.array_equal(made.toarray(), wanted.toarray())
    assert np.shares_memory(weighted(numbers, weight).indices, numbers.indices)


def test_sums_at_nodes_are_the_same_in_parts(monkeypatch):
    ends = np.array([[0, 0, 2, 1], [3, 1, 4, 4]])
    monkeypatch.setattr(matrices, "AT_ONCE", 3)
    assert sums_at_ends(ends, 6).tolist() == [2, 2, 1, 1, 2, 0]
    assert sums_at_ends(ends[:, :2], 2 + 2, np.array([1.5, 4])).tolist() == [
        *(5.5, 4, 0, 1.5)
    ]


def test_an_edge_is_found_by_its_ends_in_either_order():
    ends = np.array([[0, 0, 1, 2], [1, 3, 4, 4]])
    edges = EdgeNumbers.of(ends[0] * 6 + ends[1], 6)
    assert np.array_equal(edges.ends, ends) and edges.ends.dtype == np.int32
    assert edges.find(*ends).tolist() == edges.find(*ends[::-1]).tolist() == [*range(4)]
    a, b = np.array([[0, 5, 4, 1], [2, 0, 5, 0]])
    assert edges.find(a, b).tolist() == [-1, -1, -1, 0]
    none = EdgeNumbers.of(np.zeros(0, dtype=np.int64), 2)
    assert none.find(np.array([0]), np.array([1])).tolist() == [-1]


@needs_triton[0]
def test_a_gpu_has_the_matrices_of_a_cpu(seed: int):
    rng = np.random.default_rng(seed)
    key = np.unique(rng.integers(0, 53 * 53, 307))
    key = key[key // 53 < key % 53]
    edges = EdgeNumbers.of(key, 53)
    weight = rng.random(len(key)).astype(np.float32)
    kept = weight > 0.3
    numbers = numbered(edges.ends, 53)
    some = chosen(numbers, edges.ends, kept, weight)
    ends, value = there(edges.ends), there(weight)
    with blocks.on_gpu(as_tensor(value).device):
        found = EdgeNumbers.of(there(key), 53)
        assert np.array_equal(host(found.ends), edges.ends)
        assert np.array_equal(host(found.ptr), edges.ptr)
        a, b = map(there, rng.integers(0, 53, (2, 97)).astype(np.int32))
        number = edges.find(host(a), host(b))
        assert np.array_equal(host(found.find(a, b)), number)
        on_gpu = numbered(ends, 53)
        fewer = chosen(on_gpu, ends, there(kept), value)
        for one, other in ((on_gpu, numbers), (fewer, some)):
            for part in ("data", "indices", "indptr"):
                assert np.array_equal(host(getattr(one, part)), getattr(other, part))
        sums = sums_at_ends(ends, 53, value)
        assert np.allclose(host(sums), sums_at_ends(edges.ends, 53, weight))
        product = matrices.product(weighted(on_gpu, value), there(np.eye(53)))
    dense = weighted(numbers, weight).toarray()
    assert np.allclose(host(product), dense, atol=1e-6)
