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
    ],
)
def test_what_names_no_data_is_refused(config, message):
    with pytest.raises(ValueError) as error:
        load_configured(config)
    assert message in str(error.value)
