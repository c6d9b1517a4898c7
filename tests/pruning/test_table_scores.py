"""Rows of a table have the scores that the model gives in memory."""

import numpy as np
import pytest
import torch
from support.prune_tables import (
    NODES,
    edge_table,
    pairs,
    prune,
    read,
    row_scores,
    write,
)

from sgat.graph import Graph
from sgat.models import SGAT
from sgat.pruning import Rules
from sgat.pruning.choice import choose_edges
from sgat.pruning.table_scores import node_scores

RULES = [
    Rules(),
    Rules(keep=0.3),
    Rules(keep=0.4, symmetric="mean"),
    Rules(keep=0.4, min_degree=1, keep_connected=True),
]


def kept_in_memory(nodes, ends, rules, *, undirected=False):
    """Kept pairs of ids, with their scores."""
    graph = Graph.from_edges(
        torch.tensor(ends.T.copy()), NODES, make_undirected=undirected
    )
    src, dst = graph.src.numpy(), graph.dst.numpy()
    log_alpha = nodes.model.log_alpha(nodes.scores.x, graph).detach().numpy()
    threshold = nodes.model.gating.gates.threshold
    choice = choose_edges(log_alpha, graph, rules, threshold=threshold)
    kept = zip(src, dst, choice.score, choice.kept, strict=True)
    return {(nodes.ids[s], nodes.ids[d]): a for s, d, a, k in kept if k}


@pytest.mark.parametrize("scorer", ["structure", "gatv2"])
@pytest.mark.parametrize("rules", RULES, ids=str)
def test_a_table_keeps_what_is_kept_in_memory(rules, scorer, seed, tmp_path):
    nodes, ends = row_scores(scorer, seed), pairs(seed)
    # Rows may be repeated, and name nobody.
    frame = edge_table(nodes, np.concatenate([ends, ends[:1], [[4, 4]]]))
    table = write(frame, tmp_path / "edges.parquet")
    if rules.keep is None:
        prune(nodes.task(table, rules), tmp_path / "out.parquet")
    else:
        # Each row counts towards a share, so this one has none twice.
        table = write(edge_table(nodes, ends), tmp_path / "once.parquet")
        prune(nodes.task(table, rules), tmp_path / "out.parquet")
    found = read(tmp_path / "out.parquet")
    found = found[found["src"] != found["dst"]]
    expected = kept_in_memory(nodes, ends, rules)
    named = list(zip(found["src"], found["dst"], strict=True))
    assert set(named) == set(expected)
    assert np.allclose(found["log_alpha"], [expected[pair] for pair in named])
    assert len(set(found["log_alpha"])) > 5


def test_a_row_for_both_directions_adds_both_to_the_graph(seed, tmp_path):
    nodes = row_scores("structure", seed, symmetric=True)
    ends = pairs(seed)
    ends = ends[ends[:, 0] < ends[:, 1]]
    rules = Rules(keep=0.5, symmetric="max")
    table = write(edge_table(nodes, ends), tmp_path / "edges.csv")
    prune(nodes.task(table, rules, undirected=True), tmp_path / "out.csv")
    found = read(tmp_path / "out.csv")
    expected = kept_in_memory(nodes, ends, rules, undirected=True)
    assert {pair for pair in expected if pair in _named(found)} == _named(found)
    assert len(expected) // 2 == len(found)


def _named(frame):
    return set(zip(frame["src"], frame["dst"], strict=True))


def test_more_rows_than_fit_are_refused(monkeypatch, tmp_path):
    monkeypatch.setattr("sgat.judging.memory.available", lambda device: 1 << 10)
    nodes, ends = row_scores("structure", 0), pairs()
    table = write(edge_table(nodes, ends), tmp_path / "edges.parquet")
    with pytest.raises(
        ValueError,
        match=rf"Judging {len(ends)} edges .* are free; its nodes do not fit",
    ):
        prune(nodes.task(table, Rules()), tmp_path / "out.parquet")
    assert not (tmp_path / "out.parquet").exists()


def test_an_empty_table_stays_empty(tmp_path):
    nodes = row_scores("structure", 0)
    frame = edge_table(nodes, np.empty((0, 2), dtype=int))
    table = write(frame.astype({"src": "string", "dst": "string"}), tmp_path / "a.csv")
    assert prune(nodes.task(table, Rules()), tmp_path / "out.csv").rows == 0


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
