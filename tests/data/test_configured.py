from pathlib import Path

import pytest

from sgat.config import DataConfig
from sgat.data.configured import load_configured


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
    loaded = load_configured(DataConfig(**files, options={"label": "y"}), seed=3)
    (data,) = loaded.graphs
    assert [int(m.sum()) for m in (data.train, data.val, data.test)] == [12, 4, 4]
    assert "no split column" in loaded.notes[0]
    assert loaded.files.data is data


def test_a_split_that_is_asked_for_beats_the_column(files):
    config = DataConfig(**files, split="uniform-50-25-25", options={"label": "y"})
    loaded = load_configured(config)
    assert int(loaded.graphs[0].train.sum()) == 10 and loaded.notes == ()
    Path(files["edges"]).write_text("src,dst\n")
    assert load_configured(config).notes == (
        "e.csv has no edges: every node is judged by itself",
    )


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (DataConfig(), "Name a data set"),
        (DataConfig("karate", edges="e.csv"), "by name or `edges`, not both"),
        (DataConfig(edges="e.csv"), "Say which column of the node file is the label"),
        (
            DataConfig(edges="e.csv", options={"lable": "y"}),
            "Unknown file option 'lable'; known are categorical,",
        ),
        (
            DataConfig("karate", options={"foo": 1}),
            "Unknown option of a named data set 'foo'; known are largest_component,"
            " normalise_features, root.",
        ),
        (
            DataConfig("karate", options={"seed": 3}),
            "Unknown option of a named data set 'seed'; known are",
        ),
        (
            DataConfig("karate", options={"largest_component": "no"}),
            "The option of a named data set 'largest_component' must be true or false,"
            " got 'no'.",
        ),
        (
            DataConfig(edges="e.csv", options={"label": "y"}),
            "`label` needs `nodes`, the file with that column.",
        ),
        (
            DataConfig(edges="e.mtx", options={"labels": ["a", "b"]}),
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
        (
            {"max_categories": "a"},
            "The file option 'max_categories' must be a whole number, got 'a'.",
        ),
        ({"max_categories": True}, "'max_categories' must be a whole number, got True"),
        ({"drop": 3}, "The file option 'drop' must be a list of strings, got 3."),
        ({"drop": [3]}, "The file option 'drop' must be a list of strings, got [3]."),
        ({"undirected": "no"}, "'undirected' must be true or false, got 'no'."),
        ({"features": "f1"}, "'features' must be a list of strings, got 'f1'."),
        ({"fill_missing": "x"}, "'fill_missing' must be 'zero' or 'mean', got 'x'."),
        ({"src": 1}, "The file option 'src' must be a string, got 1."),
        ({"features": ["y"]}, "`features` must not name 'y', the label."),
        ({"features": ["id", "size"]}, "`features` must not name 'id', the id."),
        (
            {"features": ["size", "size"]},
            "`features` must name each column once, got 'size'.",
        ),
        ({"drop": ["a", "a"]}, "`drop` must name each column once, got 'a'."),
    ],
)
def test_options_of_files_are_checked(files, options, message):
    with pytest.raises(ValueError) as error:
        load_configured(DataConfig(**files, options={"label": "y", **options}))
    assert message in str(error.value)


def test_no_features_can_be_asked_for(files):
    options = {"label": "y", "features": []}
    loaded = load_configured(DataConfig(**files, options=options))
    assert loaded.graphs[0].num_features == 20


def test_an_empty_split_column_is_told_as_such(files, tmp_path):
    path = tmp_path / "n.csv"
    lines = path.read_text().splitlines()
    path.write_text("\n".join([lines[0] + ",split", *(f"{row}," for row in lines[1:])]))
    loaded = load_configured(DataConfig(**files, options={"label": "y"}))
    assert loaded.notes[0].startswith("the split column 'split' is empty: nodes are")
    dropped = {"label": "y", "drop": ["split"]}
    loaded = load_configured(DataConfig(**files, options=dropped))
    assert "no split column" in loaded.notes[0]


def test_the_folder_of_the_data_sets_may_stand_in_the_options(tmp_path, monkeypatch):
    seen = []

    def load(name, *, root, **options):
        seen.append((root, options["largest_component"]))
        return []

    monkeypatch.setattr("sgat.data.load", load)
    config = DataConfig("cora", options={"root": "/a", "largest_component": True})
    load_configured(config)
    load_configured(config, root="/b")
    assert seen == [("/a", True), ("/b", True)]
