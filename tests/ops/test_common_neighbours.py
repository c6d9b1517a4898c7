"""Sums over common neighbours, against networkx and dense products."""

import networkx as nx
import numpy as np
import pytest
import scipy.sparse
import torch
from support import device_arrays
from support.awkward import GRAPHS, scattered
from support.triton_device import needs_triton
from torch import Tensor

from sgat.graph import Graph
from sgat.judging.matrices import Compressed
from sgat.ops.common_neighbours import find_entries, row_products, row_sums
from sgat.ops.device_array import host


def plain(graph: Graph) -> nx.Graph:
    found = nx.Graph(graph.edge_index.T.tolist())
    found.add_nodes_from(range(graph.num_nodes))
    return found


def some_pairs(graph: Graph, number: int) -> Tensor:
    generator = torch.Generator().manual_seed(number)
    drawn = torch.randint(graph.num_nodes, (2, number), generator=generator)
    return torch.cat([graph.edge_index, drawn], dim=1)


def sum_common(graph: Graph, a: Tensor, b: Tensor, value: Tensor) -> Tensor:
    """Sums of values over the common neighbours of pairs."""
    neighbours = graph.to_scipy(np.float64)
    found = row_products(neighbours, a.numpy(), b.numpy(), value.numpy())
    return torch.from_numpy(found)


@pytest.mark.parametrize("name", [*GRAPHS, "dense"])
def test_sums_are_those_over_the_common_neighbours_of_networkx(name: str, seed: int):
    graph = (scattered(23, 301) if name == "dense" else GRAPHS[name]()).undirected()
    net = plain(graph)
    a, b = some_pairs(graph, 101)
    value = torch.randn(graph.num_nodes, 3, dtype=torch.float64)
    expected = torch.zeros(len(a), 3, dtype=torch.float64)
    for row, ends in enumerate(zip(a.tolist(), b.tolist(), strict=True)):
        # networkx counts the ends of a loop among each other's neighbours, and there
        # are none here.
        common = set(net[ends[0]]) & set(net[ends[1]])
        expected[row] = sum((value[k] for k in common), torch.zeros(3).double())
    found = sum_common(graph, a, b, value)
    assert torch.allclose(found, expected)
    assert torch.equal(sum_common(graph, b, a, value), found)


def test_short_lists_are_looked_up_in_long_ones(seed: int):
    # The hub has 263 neighbours, far more than LOOK_UP times those of others.
    leaf = torch.arange(1, 264)
    star = torch.stack([leaf, torch.zeros_like(leaf)])
    chord = torch.randint(1, 264, (2, 97))
    graph = Graph.from_edges(torch.cat([star, chord], dim=1), 264).undirected()
    a, b = graph.edge_index
    value = torch.randn(264, 2, dtype=torch.float64)
    adjacency = torch.zeros(264, 264, dtype=torch.float64)
    adjacency[a, b] = adjacency[b, a] = 1
    both = adjacency[a] * adjacency[b]
    assert both.sum() > 97
    found = sum_common(graph, a, b, value)
    assert torch.allclose(found, both @ value)


@pytest.mark.parametrize("threads", [1, 3])
def test_threads_change_nothing(threads: int, seed: int):
    before = torch.get_num_threads()
    graph = scattered(409, 20_011).undirected()
    a, b = graph.edge_index
    value = torch.randn(409, 1, dtype=torch.float64)
    try:
        torch.set_num_threads(threads)
        found = sum_common(graph, a, b, value)
    finally:
        torch.set_num_threads(before)
    adjacency = torch.from_numpy(graph.to_scipy(np.float64).toarray())
    assert torch.allclose(found, adjacency[a] * adjacency[b] @ value)


def test_entries_count_as_factors(seed: int):
    rows = scipy.sparse.random_array((29, 41), density=0.3, format="csr", rng=seed)
    rows.sort_indices()
    a, b = np.random.default_rng(seed).integers(29, size=(2, 97))
    value = np.random.default_rng(seed).normal(size=(41, 2))
    dense = rows.toarray()
    found = row_products(rows, a, b, value)
    assert np.allclose(found, (dense[a] * dense[b]) @ value)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_entries_may_be_numbers_of_weights_and_plain_sums_come_beside(
    dtype: type, seed: int
):
    rng = np.random.default_rng(seed)
    numbers = scipy.sparse.random_array((29, 29), density=0.3, format="csr", rng=seed)
    numbers.sort_indices()
    weight = rng.random(numbers.nnz).astype(dtype)
    numbers.data = rng.permutation(numbers.nnz).astype(np.int32) + 1
    a, b = rng.integers(29, size=(2, 97))
    value, plain = rng.normal(size=(29, 2)), rng.normal(size=(29, 3))
    there = numbers.toarray()
    dense = np.where(there > 0, weight[there - 1].astype(float), 0)
    found = row_products(numbers, a, b, value, weight, plain)
    both = (there[a] > 0) & (there[b] > 0)
    expected = [(dense[a] * dense[b]) @ value, both @ plain]
    assert np.allclose(found, np.concatenate(expected, axis=1))


def test_entries_are_found_where_they_are(seed: int):
    rows = scipy.sparse.random_array((29, 41), density=0.3, format="csr", rng=seed)
    rows.sort_indices()
    row, column = np.random.default_rng(seed).integers(0, 29, (2, 997))
    place = find_entries(rows.indptr, rows.indices, row, column)
    wanted = rows.toarray()[row, column]
    assert np.array_equal(np.where(place < 0, 0, rows.data[place]), wanted)
    assert (place < 0).any() and (place >= 0).any()


def on_a_gpu(rows: scipy.sparse.csr_array) -> Compressed:
    parts = map(device_arrays.there, (rows.data, rows.indices, rows.indptr))
    return Compressed(*parts, rows.shape)


@needs_triton[0]
@needs_triton[1]
@pytest.mark.parametrize("density", [0.0, 0.1, 0.9])
def test_a_gpu_gives_the_sums_of_a_cpu(density: float, seed: int):
    rng = np.random.default_rng(seed)
    rows = scipy.sparse.random_array((29, 157), density=density, format="csr", rng=rng)
    rows.sort_indices()
    # Row 3 is empty, and row 5 far longer than the others.
    rows = scipy.sparse.csr_array(rows.multiply(np.arange(29)[:, None] != 3))
    rows = scipy.sparse.csr_array(rows + (np.arange(29)[:, None] == 5) * np.ones(157))
    there = on_a_gpu(rows)
    a, b = rng.integers(0, 29, (2, 97)).astype(np.int32)
    a[:7], b[3:11] = 3, 5
    pair = device_arrays.there(a), device_arrays.there(b)
    value, plain = rng.random((157, 1)), rng.random((157, 2))
    for more in (None, plain):
        wanted = row_products(rows, a, b, value, None, more)
        given = [device_arrays.there(value), None]
        given.append(None if more is None else device_arrays.there(more))
        found = row_products(there, *pair, *given)
        assert np.allclose(host(found), wanted, rtol=1e-5, atol=1e-5)
    weight = rng.random(rows.nnz).astype(np.float32)
    rows.data = rng.permutation(rows.nnz).astype(np.int32) + 1
    wanted = row_products(rows, a, b, value, weight, plain)
    given = map(device_arrays.there, (value, weight, plain))
    found = row_products(on_a_gpu(rows), *pair, *given)
    assert np.allclose(host(found), wanted, rtol=1e-5, atol=1e-5)
    column = rng.integers(0, 157, 97).astype(np.int32)
    wanted = find_entries(rows.indptr, rows.indices, a, column)
    given = there.indptr, there.indices, pair[0], device_arrays.there(column)
    assert np.array_equal(host(find_entries(*given)), wanted)


@needs_triton[0]
@needs_triton[1]
@pytest.mark.parametrize("width", [1, 19, 131])
def test_a_gpu_multiplies_rows(width: int, seed: int):
    rng = np.random.default_rng(seed)
    rows = scipy.sparse.random_array((41, 41), density=0.4, format="csr", rng=rng)
    x = rng.standard_normal((41, width)).astype(np.float32)
    rows = rows.astype(np.float32)
    found = row_sums(on_a_gpu(rows), device_arrays.there(x))
    assert np.allclose(host(found), rows @ x, atol=1e-4)
