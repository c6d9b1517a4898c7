"""Examples know the classes of training nodes and no others."""

import pytest
import torch

from sgat.graph import Graph
from sgat.judging import Example

GRAPH = Graph.from_edges(torch.tensor([[0, 1], [1, 2]]), 5)
X = torch.ones(5, 3)


@pytest.mark.parametrize(
    ("y", "train", "label"),
    [
        (None, None, [-1] * 5),
        ([2, 0, -1, 1, 1], None, [2, 0, -1, 1, 1]),
        ([2, 0, -1, 1, 1], [1, 0, 1, 0, 1], [2, -1, -1, -1, 1]),
        ([[1, 0]] * 5, [1, 0, 1, 0, 1], [-1] * 5),
    ],
)
def test_only_classes_of_training_nodes_are_known(y, train, label):
    y = None if y is None else torch.tensor(y)
    train = None if train is None else torch.tensor(train, dtype=torch.bool)
    found = Example.of(GRAPH, X, y, train)
    assert found.graph is GRAPH and found.x is X
    assert found.label.tolist() == label and found.label.dtype == torch.long
    assert found.known.tolist() == [number >= 0 for number in label]
