import numpy as np
import pyarrow as pa
import pytest
import torch
from support.prune_tables import NODES, pairs

from sgat.graph import Graph
from sgat.models import SGAT
from sgat.pruning.node_scores import Nodes, node_scores


def scored(seed, scorer, **options):
    """A network, features and a graph with the scores of its edges."""
    torch.manual_seed(seed)
    model = SGAT(5, 7, 2, scorer=scorer, gate_bias=0.3, **options).eval()
    x = torch.randn(NODES, 5)
    both = bool(options.get("symmetric"))
    ends = torch.tensor(pairs(seed).T.copy())
    graph = Graph.from_edges(ends, NODES, make_undirected=both)
    with torch.no_grad():
        return model, x, graph, model.log_alpha(x, graph).numpy()


@pytest.mark.parametrize("symmetric", [False, True])
def test_the_scores_of_ends_add_up_to_those_of_edges(symmetric, seed):
    model, x, graph, log_alpha = scored(seed, "additive", symmetric=symmetric)
    scores = node_scores(model, x)
    found = scores.dst[graph.dst.numpy()] + scores.src[graph.src.numpy()]
    assert np.array_equal(found, log_alpha)
    assert list(scores.columns) == ["s", "t"] and scores.rank == 0


@pytest.mark.parametrize("scorer", ["cosine", "bilinear"])
@pytest.mark.parametrize("symmetric", [False, True])
def test_products_of_vectors_add_to_the_scores_of_ends(scorer, symmetric, seed):
    model, x, graph, log_alpha = scored(seed, scorer, rank=3, symmetric=symmetric)
    scores = node_scores(model, x)
    src, dst = graph.src.numpy(), graph.dst.numpy()
    product = (scores.query[dst] * scores.key[src]).sum(axis=1)
    found = scores.dst[dst] + scores.src[src] + product
    assert np.allclose(found, log_alpha, atol=1e-5)
    assert product.std() > 1e-3
    assert scores.rank == (6 if scorer == "bilinear" and symmetric else 3)
    names = list(scores.columns)
    assert names[:4] == ["s", "t", "q0", "k0"] and len(names) == 2 + 2 * scores.rank


@pytest.mark.parametrize("scorer", ["evidence", "gatv2", "structure"])
def test_gates_that_see_more_than_two_ends_have_no_such_parts(scorer):
    assert node_scores(SGAT(5, 7, 2, scorer=scorer), torch.randn(NODES, 5)) is None


def test_ids_are_integers_or_strings():
    assert Nodes(pa.array([3, 1])).ids_are_integers
    assert not Nodes(pa.chunked_array([["a"], ["b"]])).ids_are_integers
