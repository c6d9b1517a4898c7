from pathlib import Path

import networkx as nx
import pytest

from sgat.config import DataConfig, FileOptions
from sgat.data.configured import load_configured
from sgat.data.node_data import ONE_WAY


@pytest.fixture
def files(tmp_path):
    edges, nodes = tmp_path / "e.csv", tmp_path / "n.csv"
    rows = [f"n{i},n{(i + 1) % 20}" for i in range(20)]
    edges.write_text("src,dst\n" + "\n".join(rows))
    rows = [f"n{i},{i % 2},{i}" for i in range(20)]
    nodes.write_text("id,y,size\n" + "\n".join(rows))
    return {"edges": str(edges), "nodes": str(nodes)}


def test_a_name_loads_the_data_set():
    loaded = load_configured(DataConfig("karate"))
    assert loaded.graphs[0].num_nodes == 34 and loaded.files is None


def test_files_without_a_split_get_one_by_class_and_say_so(files):
    loaded = load_configured(DataConfig(**files, files=FileOptions(label="y")), seed=3)
    (data,) = loaded.graphs
    assert [int(m.sum()) for m in (data.train, data.val, data.test)] == [12, 4, 4]
    assert "no split column" in loaded.notes[0]
    assert loaded.files.data is data


def test_what_is_not_for_training_needs_neither_labels_nor_a_split(files):
    loaded = load_configured(DataConfig(**files), for_training=False)
    (data,) = loaded.graphs
    assert loaded.files is not None and loaded.files.data is data
    assert not (data.train | data.val | data.test).any()
    assert (loaded.notes, loaded.drew_split) == ((), False)
    wrong = DataConfig(edges=files["edges"], files=FileOptions(label="y"))
    with pytest.raises(ValueError, match="`label` needs `nodes`"):
        load_configured(wrong, for_training=False)


def test_labels_that_are_too_few_for_a_test_are_a_note(files):
    rows = [f"n{i},{i if i < 2 else ''},{i}" for i in range(20)]
    Path(files["nodes"]).write_text("id,y,size\n" + "\n".join(rows))
    loaded = load_configured(DataConfig(**files, files=FileOptions(label="y")))
    assert loaded.notes[1] == "there are too few labels to hold some out for a test"


def test_edges_that_go_one_way_are_a_note_of_training(files, tmp_path):
    def notes(for_training=True, edges=files["edges"], **options):
        named = FileOptions(label="y", **options)
        config = DataConfig(edges=edges, nodes=files["nodes"], files=named)
        return load_configured(config, for_training=for_training).notes[1:]

    assert notes() == ()
    rows = [f"n{i},n{j}" for i in range(20) for j in range(i)]
    Path(files["edges"]).write_text("\n".join(["src,dst", *rows]))
    assert notes() == (ONE_WAY % 0,)
    assert notes(undirected=True) == () == notes(for_training=False)
    # GraphML says whether its edges have directions.
    made = nx.DiGraph([row.split(",") for row in rows])
    nx.write_graphml(made, tmp_path / "e.graphml")
    assert notes(edges=str(tmp_path / "e.graphml")) == ()


def test_a_split_that_is_asked_for_beats_the_column(files):
    config = DataConfig(**files, split="uniform-50-25-25", files=FileOptions(label="y"))
    loaded = load_configured(config)
    assert int(loaded.graphs[0].train.sum()) == 10 and loaded.notes == ()
    Path(files["edges"]).write_text("src,dst\nn1,n1\n")
    assert load_configured(config).notes == (
        "e.csv has no edges: every node is judged by itself",
    )


def test_training_needs_edges(files):
    config = DataConfig(**files, files=FileOptions(label="y"))
    Path(files["edges"]).write_text("src,dst\n")
    with pytest.raises(ValueError, match=r"e\.csv: the edge table has no rows; train"):
        load_configured(config)
    assert len(load_configured(config, for_training=False).graphs) == 1


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (DataConfig(), "Name a data set"),
        (DataConfig("karate", edges="e.csv"), "by name or `edges`, not both"),
        (DataConfig(edges="e.csv"), "Say which column of the node file is the label"),
        (
            DataConfig(edges="e.csv", files=FileOptions(label="y")),
            "`label` needs `nodes`, the file with that column.",
        ),
        (
            DataConfig(edges="e.mtx", files=FileOptions(labels=("a", "b"))),
            "`labels` needs `nodes`, the file with that column.",
        ),
    ],
)
def test_what_names_no_data_is_refused(config, message):
    with pytest.raises(ValueError) as error:
        load_configured(config)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"features": ["y"]}, "`features` must not name 'y', the label."),
        ({"features": ["id", "size"]}, "`features` must not name 'id', the id."),
        (
            {"features": ["size", "size"]},
            "`features` must name each column once, got 'size'.",
        ),
        (
            {"drop": ["a"], "text": ["a"]},
            "`text` and `categorical` or `drop` both name",
        ),
        ({"drop": ["a", "a"]}, "`drop` must name each column once, got 'a'."),
        (
            {"edge_columns": ["src"]},
            "`edge_columns` must not name 'src', an end of the edges.",
        ),
        (
            {"edge_columns": ["a"], "drop": ["a"]},
            "`edge_columns` must not name 'a', which `drop` leaves out.",
        ),
    ],
)
def test_columns_have_one_meaning(files, options, message):
    with pytest.raises(ValueError) as error:
        load_configured(DataConfig(**files, files={"label": "y", **options}))
    assert message in str(error.value)


def test_no_features_can_be_asked_for(files):
    options = FileOptions(label="y", features=())
    loaded = load_configured(DataConfig(**files, files=options))
    assert loaded.graphs[0].num_features == 20


def test_an_empty_split_column_is_told_as_such(files, tmp_path):
    path = tmp_path / "n.csv"
    lines = path.read_text().splitlines()
    path.write_text("\n".join([lines[0] + ",split", *(f"{row}," for row in lines[1:])]))
    loaded = load_configured(DataConfig(**files, files=FileOptions(label="y")))
    assert loaded.notes[0].startswith("the split column 'split' is empty: nodes are")
    dropped = FileOptions(label="y", drop=("split",))
    loaded = load_configured(DataConfig(**files, files=dropped))
    assert "no split column" in loaded.notes[0]


def test_the_folder_of_the_data_sets_may_stand_in_the_config(tmp_path, monkeypatch):
    seen = []

    def load(name, *, root, **options):
        seen.append((root, options["largest_component"]))
        return []

    monkeypatch.setattr("sgat.data.load", load)
    config = DataConfig("cora", root="/a", largest_component=True)
    load_configured(config)
    load_configured(config, root="/b")
    assert seen == [("/a", True), ("/b", True)]


@pytest.mark.parametrize("key", ["drop", "categorical"])
def test_a_column_that_neither_file_has_is_refused(files, key):
    options = FileOptions(label="y", **{key: ("sise",)})
    with pytest.raises(ValueError) as error:
        load_configured(DataConfig(**files, files=options))
    columns = "'src', 'dst', 'id', 'y', 'size'"
    assert str(error.value) == f"`{key}` must name columns of {columns}, got 'sise'."
