"""Matrices of a graph, against dense ones."""

import numpy as np

from sgat.judging.matrices import (
    adjacency,
    chosen,
    contains,
    entries,
    numbered,
    weighted,
)


def test_entries_are_those_of_the_dense_matrix():
    ends = np.array([[0, 0, 2, 1], [3, 1, 4, 4]])
    matrix = adjacency(ends, 6, np.array([2.0, 3.0, 5.0, 7.0]))
    dense = np.zeros((6, 6))
    dense[ends[0], ends[1]] = dense[ends[1], ends[0]] = [2, 3, 5, 7]
    row, column = np.indices((6, 6)).reshape(2, -1)
    assert np.array_equal(matrix.toarray(), dense)
    assert np.array_equal(entries(matrix, row, column), dense.ravel())
    assert np.array_equal(contains(matrix, row, column), dense.ravel() != 0)


def test_a_graph_without_edges_has_no_entries():
    matrix = adjacency(np.zeros((2, 0), dtype=int), 3, np.zeros(0))
    assert not contains(matrix, np.array([0, 1]), np.array([1, 2])).any()


def test_weights_of_some_edges_need_no_new_order():
    ends = np.array([[0, 0, 2, 1], [3, 1, 4, 4]])
    weight, kept = np.array([2.0, 0.0, 5.0, 7.0]), np.array([True, True, False, True])
    numbers = numbered(ends, 6)
    for found, part in ((numbers, slice(None)), (chosen(numbers, kept), kept)):
        wanted = adjacency(ends[:, part], 6, weight[part])
        made = weighted(found, weight[part])
        assert made.has_sorted_indices
        assert np.array_equal(made.toarray(), wanted.toarray())
    assert np.shares_memory(weighted(numbers, weight).indices, numbers.indices)
