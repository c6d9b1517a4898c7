import pandas as pd
import pytest
import torch
from support.small_data import block_graph, several_graphs

from sgat.data.configured import Loaded
from sgat.runs.pruned_file import check_pruned_path, write_pruned_file
from sgat.scored import EdgeScores


def test_trying_to_write_leaves_nothing_and_touches_nothing(tmp_path):
    path = tmp_path / "small.csv"
    check_pruned_path(path, Loaded([block_graph()]))
    assert list(tmp_path.iterdir()) == []
    path.write_text("old")
    check_pruned_path(path, Loaded([block_graph()]))
    assert [file.read_text() for file in tmp_path.iterdir()] == ["old"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("", "`pruned` must be a file, got the folder"),
        ("no/small.csv", "`pruned` must be in a folder that exists, got"),
    ],
)
def test_a_path_that_cannot_be_written_is_refused(tmp_path, name, message):
    with pytest.raises(ValueError, match=message):
        check_pruned_path(tmp_path / name, Loaded([block_graph()]))
    assert list(tmp_path.iterdir()) == []


def test_several_graphs_are_no_file(tmp_path):
    with pytest.raises(ValueError, match="`pruned` writes one graph, got 5; their"):
        check_pruned_path(tmp_path / "small.csv", Loaded(several_graphs()))


def test_the_kept_edges_are_written(tmp_path):
    data = block_graph()
    number = torch.arange(data.graph.num_edges)
    gate = (number % 3 == 0) * 0.5
    scores = EdgeScores(gate, gate, gate, gate > 0)
    write_pruned_file(Loaded([data]), scores, tmp_path / "small.csv")
    table = pd.read_csv(tmp_path / "small.csv")
    assert table["src"].tolist() == data.graph.src[::3].tolist()
    assert table["dst"].tolist() == data.graph.dst[::3].tolist()
    assert set(table["weight"]) == {0.5}
