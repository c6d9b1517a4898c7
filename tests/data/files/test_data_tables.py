from __future__ import annotations

import pyarrow as pa
import pytest
import torch

from sgat.data.files import FileOptions, from_tables, prediction_table

EDGES = pa.table({"src": ["a"], "dst": ["b"]})


def test_predictions_join_back_on_the_ids() -> None:
    nodes = pa.table(
        {"id": ["b", "a"], "y": ["no", None], "split": ["train", None], "f": [1, 2]}
    )
    nodes = pa.concat_tables([nodes, nodes.slice(0, 1).set_column(0, "id", [["c"]])])
    nodes = nodes.set_column(1, "y", [["no", None, "yes"]])
    data = from_tables(EDGES, nodes, options=FileOptions(label="y")).data
    table = prediction_table(data, torch.tensor([[0.25, 0.75], [1, 0], [0, 1]]))
    assert table.to_pydict() == {
        "id": ["b", "a", "c"],
        "prediction": ["yes", "no", "yes"],
        "label": ["no", None, "yes"],
        "split": ["train", None, "train"],
        "probability_no": [0.25, 1, 0],
        "probability_yes": [0.75, 0, 1],
    }


def test_each_of_several_labels_has_its_columns() -> None:
    nodes = pa.table({"id": ["a", "b"], "u": [0, 1], "v": [1, 1]})
    data = from_tables(EDGES, nodes, options=FileOptions(labels=("u", "v"))).data
    table = prediction_table(data, torch.tensor([[0.75, 0.5], [0.25, 1.0]]))
    assert table.column("prediction_u").to_pylist() == [True, False]
    assert table.column("label_v").to_pylist() == [True, True]
    assert table.column("probability_v").to_pylist() == [0.5, 1.0]
    assert table.column("split").to_pylist() == [None, None]


def test_probabilities_of_other_nodes_are_refused() -> None:
    data = from_tables(EDGES).data
    with pytest.raises(ValueError, match=r"must have shape \[2, 0\], got \[3, 2\]"):
        prediction_table(data, torch.zeros(3, 2))
