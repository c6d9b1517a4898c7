"""The scored graphs of a run, read back from its tables."""

import numpy as np
import pandas as pd
import pytest
import torch
from support.settings import request_for
from support.small_data import block_graph, several_graphs
from support.small_run import finished

from sgat.runs import stored_graph
from sgat.runs.finished_run import open_run
from sgat.runs.request import start_run
from sgat.runs.run import run
from sgat.scored import score_graphs

SIZE = 37


def fit_files(folder, *, ids, undirected=False, **options):
    """A short run on random rows with loops, duplicates and weights."""
    random = np.random.default_rng(3)
    ends = random.integers(SIZE, size=(2, 150))
    edges = pd.DataFrame({"to": ids[ends[1]], "from": ids[ends[0]]})
    edges = pd.concat([edges, edges[:20]], ignore_index=True)
    edges["w"] = random.uniform(0.5, 2, len(edges)).round(2)
    nodes = pd.DataFrame({"id": ids, "size": random.normal(size=SIZE)})
    nodes["y"] = np.where(nodes["size"] > 0, "big", "small")
    nodes.loc[30:, "y"] = None
    edges.to_csv(folder / "e.csv", index=False)
    nodes.to_csv(folder / "n.csv", index=False)
    given = {"edges": folder / "e.csv", "nodes": folder / "n.csv", "label": "y"}
    given |= {"src": "from", "dst": "to", "weight": "w", "out": folder / "run"}
    given |= {"epochs": 3, "hidden": 5, "keep": 0.5, "undirected": undirected}
    run(*start_run(request_for(given | options), overwrite=False))
    return open_run(folder / "run")


def assert_same(found, wanted, *, with_data):
    """The same graph and scores; from the tables alone without weights."""
    assert torch.equal(found.data.graph.edge_index, wanted.data.graph.edge_index)
    assert torch.equal(found.data.graph.row_ptr, wanted.data.graph.row_ptr)
    names = ["log_alpha", "probability", "gate", "kept"]
    for name in [*names, "attention", "loop_attention"] if with_data else names:
        one, other = getattr(found.edges, name), getattr(wanted.edges, name)
        assert one is other is None or torch.equal(one, other), name
    assert torch.equal(found.prediction, wanted.prediction)
    assert torch.equal(found.probability, wanted.probability.float())
    for name in ("y", "train", "val", "test"):
        assert torch.equal(getattr(found.data, name), getattr(wanted.data, name))
    assert found.data.name == wanted.data.name
    assert found.data.classes == wanted.data.classes
    assert found.data.has_directions == wanted.data.has_directions


@pytest.mark.parametrize("undirected", [False, True])
@pytest.mark.parametrize("ids", ["text", "numbers", "in order"])
def test_scores_of_files_are_those_of_the_model(ids, undirected, tmp_path, monkeypatch):
    monkeypatch.setattr(stored_graph, "ROWS_AT_ONCE", 41)
    numbers = np.arange(SIZE)
    given = {"text": np.array([f"n{k}" for k in numbers]), "numbers": 5 * numbers + 3}
    given = given.get(ids, numbers)
    # Edges are judged again for every look at them, which takes time.
    scorer = "evidence" if undirected or ids == "text" else "additive"
    opened = fit_files(tmp_path, ids=given, undirected=undirected, scorer=scorer)
    (wanted,) = score_graphs(opened.model, opened.graphs)
    assert len(wanted.edges.kept) < 170 * (1 + undirected)
    assert_same(opened.scored[0], wanted, with_data=True)
    (found,) = opened.stored()
    assert_same(found, wanted, with_data=False)
    if ids == "in order":
        assert found.data.node_ids is None
    else:
        assert found.data.node_ids.tolist() == given.tolist()


def test_rows_with_one_of_two_scores_are_not_enough(tmp_path):
    ids = np.arange(SIZE)
    opened = fit_files(tmp_path, ids=ids, undirected=True, symmetric=False)
    (wanted,) = score_graphs(opened.model, opened.graphs)
    for found in (opened.scored[0], opened.stored()[0]):
        assert torch.equal(found.edges.log_alpha, wanted.edges.log_alpha)


def test_several_graphs_with_several_labels_come_back_apart(tmp_path):
    graphs = several_graphs()
    folder, _, result, _ = finished(tmp_path / "r", graphs, keep=0.5)
    scored = score_graphs(result.sgat, graphs)
    for found, wanted in zip(open_run(folder.path).stored(), scored, strict=True):
        assert_same(found, wanted, with_data=False)


def test_a_table_without_a_column_is_named(tmp_path):
    folder, *_ = finished(tmp_path / "r", [block_graph()])
    pd.read_parquet(folder.edges).drop(columns="log_alpha").to_parquet(folder.edges)
    with pytest.raises(ValueError, match=r"edges\.parquet is damaged or was not"):
        open_run(folder.path).stored()


def test_tables_that_do_not_fit_each_other_are_refused(tmp_path):
    opened = fit_files(tmp_path, ids=np.arange(SIZE))
    edges = pd.read_parquet(opened.folder.edges)
    edges[1:].to_parquet(opened.folder.edges)
    with pytest.raises(ValueError, match=r"edges\.parquet is damaged: rows are miss"):
        opened.scored  # noqa: B018  # it reads the tables
    for wrong in (-1, SIZE):
        edges.assign(to=[wrong, *edges["to"][1:]]).to_parquet(opened.folder.edges)
        with pytest.raises(ValueError, match=r"that is not in nodes\.parquet"):
            opened.stored()


@pytest.mark.parametrize("size", [0, 1, 500])
def test_edges_are_put_in_order_some_targets_at_a_time(size: int, monkeypatch):
    random = np.random.default_rng(5)
    keys = random.permutation(31 * 31)[:size]
    src, dst = (part.astype(np.int32) for part in (keys % 31, keys // 31))
    dst[: size // 3] = 7  # more edges than a thread takes at a time
    value = random.random(size, dtype=np.float32)
    monkeypatch.setattr(stored_graph, "BUCKET", 64)
    monkeypatch.setattr(stored_graph, "ROWS_AT_ONCE", 50)
    found = stored_graph._ordered(src, dst, value, 31)
    order = np.lexsort([src, dst])
    for column, part in zip((src, dst), found, strict=False):
        assert (part == column[order]).all()
    # Of one edge that is there twice, either may come first.
    assert sorted(zip(*found, strict=True)) == sorted(zip(src, dst, value, strict=True))
    edges = set(zip(src.tolist(), dst.tolist(), strict=True))
    is_plain = len(edges) == size and not (src == dst).any()
    assert stored_graph._is_ordered(*found[:2]) == is_plain
