"""The limits of all embeddings."""

import importlib

import pytest
from support.small_graphs import tree

from sgat_lab.embeddings.named import EMBEDDINGS


@pytest.mark.parametrize("name", sorted(EMBEDDINGS))
def test_too_many_nodes_are_refused_and_no_fewer(name, monkeypatch):
    graph = tree()
    module = importlib.import_module(f"sgat_lab.embeddings.{name}")
    monkeypatch.setattr(module, "MOST_NODES", graph.num_nodes)
    assert len(EMBEDDINGS[name](graph).places) == graph.num_nodes
    monkeypatch.setattr(module, "MOST_NODES", graph.num_nodes - 1)
    with pytest.raises(ValueError) as error:
        EMBEDDINGS[name](graph)
    assert str(error.value) == (
        f"The embedding {name!r} can place at most {graph.num_nodes - 1} nodes, got"
        f" {graph.num_nodes}; take a smaller graph."
    )
