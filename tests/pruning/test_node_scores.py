import dataclasses

import numpy as np
import pandas as pd
import pytest

import sgat
from sgat.pruning.node_scores import NodeScores
from sgat.runs.finished_run import open_run
from sgat.runs.folder import RunFolder
from sgat.runs.request import Request
from sgat.runs.run import run
from sgat.runs.start import start_run


def finished(csv_files, **options):
    names = [name.removeprefix("--") for name in csv_files[::2]]
    files = dict(zip(names, csv_files[1::2], strict=True))
    given = {**files, "out": "mine", "epochs": 3, "gate_bias": True, **options}
    folder, settings = start_run(Request.from_options(given), overwrite=False)
    run(folder, settings)
    return open_run("mine")


@pytest.fixture(autouse=True)
def in_a_new_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("undirected", [False, True])
def test_the_scores_of_ends_add_up_to_those_of_edges(csv_files, undirected):
    opened = finished(csv_files, undirected=undirected, scorer="additive")
    scores = NodeScores.of_run(opened)
    graph = opened.graphs[0].graph
    found = scores.dst[graph.dst.numpy()] + scores.src[graph.src.numpy()]
    assert np.array_equal(found, opened.scores[0].log_alpha.numpy())
    table = scores.table()
    assert table.column_names == ["id", "node", "s", "t"]
    assert table["id"].to_pylist() == list(opened.graphs[0].node_ids)
    assert scores.ids_are_text and not scores.ids_are_integers


@pytest.mark.parametrize("scorer", ["cosine", "bilinear"])
@pytest.mark.parametrize("undirected", [False, True])
def test_products_of_vectors_add_to_the_scores_of_ends(csv_files, scorer, undirected):
    opened = finished(csv_files, scorer=scorer, rank=3, undirected=undirected)
    scores = NodeScores.of_run(opened)
    graph = opened.graphs[0].graph
    src, dst = graph.src.numpy(), graph.dst.numpy()
    product = (scores.query[dst] * scores.key[src]).sum(axis=1)
    found = scores.dst[dst] + scores.src[src] + product
    assert np.allclose(found, opened.scores[0].log_alpha.numpy(), atol=1e-5)
    assert product.std() > 1e-3
    assert scores.rank == (6 if scorer == "bilinear" and undirected else 3)
    names = scores.table().column_names
    assert names[:6] == ["id", "node", "s", "t", "q0", "k0"]
    assert len(names) == 4 + 2 * scores.rank


@pytest.mark.parametrize("scorer", ["evidence", "gatv2", "structure"])
def test_gates_that_see_more_than_two_ends_need_the_graph(csv_files, scorer):
    scores = NodeScores.of_run(finished(csv_files, scorer=scorer))
    assert scores.needs_graph
    assert scores.table().column_names == ["id", "node", "s", "t"]


def test_features_of_a_file_are_encoded_as_in_the_run(csv_files):
    opened = finished(csv_files)
    nodes = pd.read_csv("nodes.csv")
    nodes[["colour", "id", "size"]].iloc[::-1].to_parquet("other.parquet")
    classifier = sgat.load("mine")
    read = (RunFolder(opened.folder.path), classifier.model_, classifier.config_)
    found = NodeScores.of_file(*read, opened.folder.path.parent / "other.parquet")
    own = NodeScores.of_run(opened)
    assert list(found.ids) == list(own.ids[::-1])
    assert np.allclose(found.dst[::-1], own.dst, atol=1e-6)
    assert not found.ids_are_text
    for column, value, message in (
        ("colour", "pink", r"'pink' is not among the 3 categories"),
        ("size", None, "a value is needed, got nothing"),
        ("id", "n29", "the id 'n29' occurs more than once"),
    ):
        bad = nodes.copy()
        bad[column] = bad[column].astype(object)
        bad.loc[2, column] = value
        bad.to_csv("bad.csv", index=False)
        with pytest.raises(ValueError, match=message):
            NodeScores.of_file(*read, opened.folder.path.parent / "bad.csv")


def test_a_run_with_several_graphs_needs_to_be_told_the_nodes(csv_files):
    opened = finished(csv_files)
    loaded = opened.loaded._replace(graphs=opened.graphs * 2)
    with pytest.raises(
        ValueError, match="mine has 2 graphs, whose ids may be the same"
    ):
        NodeScores.of_run(dataclasses.replace(opened, loaded=loaded))


def test_ids_that_are_neither_numbers_nor_strings_become_strings(csv_files):
    opened = finished(csv_files)
    ids = np.empty(30, dtype=object)
    ids[:] = [(k, "x") for k in range(30)]
    data = dataclasses.replace(opened.graphs[0], node_ids=ids)
    loaded = opened.loaded._replace(graphs=[data])
    found = NodeScores.of_run(dataclasses.replace(opened, loaded=loaded))
    assert found.ids[3] == "(3, 'x')"
