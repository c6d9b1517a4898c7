"""Rows of a table as one graph: the scores that the model gives in memory."""

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
from sgat.pruning import Rules, choose_edges

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
    monkeypatch.setattr("sgat.pruning.row_scores.EDGE_LIMIT", 20)
    nodes, ends = row_scores("structure", 0), pairs()
    table = write(edge_table(nodes, ends), tmp_path / "edges.parquet")
    with pytest.raises(
        ValueError, match=rf"`edges` names {len(ends)} different edges.*up to 20 edges;"
    ):
        prune(nodes.task(table, Rules()), tmp_path / "out.parquet")
    assert not (tmp_path / "out.parquet").exists()


def test_an_empty_table_stays_empty(tmp_path):
    nodes = row_scores("structure", 0)
    frame = edge_table(nodes, np.empty((0, 2), dtype=int))
    table = write(frame.astype({"src": "string", "dst": "string"}), tmp_path / "a.csv")
    assert prune(nodes.task(table, Rules()), tmp_path / "out.csv").rows == 0
