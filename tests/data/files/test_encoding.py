from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch
from support.tables import EDGES, nodes, text_nodes

from sgat.data.files import Encoding, FileOptions, from_tables
from sgat.features import SparseFeatures


def test_categories_are_one_hot_and_numbers_stay() -> None:
    graph = nodes(
        {
            "size": [1, 2, 3],
            "colour": ["red", "blue", "red"],
            "old": [True, False, True],
            "shape": pa.array(["x", "y", "x"]).dictionary_encode(),
            "vector": pa.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]),
        }
    )
    columns = graph.encoding.features
    assert [(each.name, each.width, each.categories) for each in columns] == [
        ("size", 1, ()),
        ("colour", 2, ("blue", "red")),
        ("old", 2, (False, True)),
        ("shape", 2, ("x", "y")),
        ("vector", 2, ()),
    ]
    assert graph.data.x.tolist() == [
        [1, 0, 1, 0, 1, 1, 0, 1, 2],
        [2, 1, 0, 1, 0, 0, 1, 3, 4],
        [3, 0, 1, 0, 1, 1, 0, 5, 6],
    ]


def test_numbers_are_categories_where_told() -> None:
    graph = nodes({"zone": [10, 2, 10]}, categorical=("zone",))
    assert graph.encoding.features[0].categories == (2, 10)
    assert graph.data.x.tolist() == [[0, 1], [1, 0], [0, 1]]


@pytest.mark.parametrize(
    ("fill", "expected"),
    [("zero", [[1, 0, 1], [0, 0, 0], [5, 1, 0]]), ("mean", [[1, 0, 1], [3, 0, 0]])],
)
def test_missing_values_are_filled_on_request(
    tmp_path: Path, fill: Any, expected: list[list[float]]
) -> None:
    graph = text_nodes(tmp_path, "id,f,k\na,1,v\nb,NA,\nc,5,u\n", fill_missing=fill)
    assert graph.data.x.tolist()[: len(expected)] == expected


def test_standardised_columns_have_mean_0_and_deviation_1() -> None:
    graph = nodes(
        {"f": [1.0, 2.0, 6.0], "same": [4, 4, 4], "k": ["u", "v", "u"]},
        standardise=True,
    )
    x = graph.data.x
    torch.testing.assert_close(x[:, 0].mean(), torch.tensor(0.0), atol=1e-6, rtol=0)
    torch.testing.assert_close(x[:, 0].std(correction=0), torch.tensor(1.0))
    assert x[:, 1].tolist() == [0, 0, 0]
    assert x[:, 2:].tolist() == [[1, 0], [0, 1], [1, 0]]


def test_another_file_is_read_with_the_first_one_s_encoding() -> None:
    first = nodes(
        {"f": [0.0, 2.0, 4.0], "k": ["u", "v", "w"], "y": ["p", "q", "r"]},
        label="y",
        standardise=True,
    )
    encoding = Encoding.from_json(first.encoding.to_json())
    assert encoding == first.encoding
    table = pa.table({"id": ["z"], "k": ["v"], "f": [2.0], "y": ["r"]})
    loop = pa.table({"src": ["z"], "dst": ["z"]})
    options = FileOptions(label="y")
    data = from_tables(loop, table, options=options, encoding=encoding).data
    assert data.x.tolist() == [[0, 0, 1, 0]]
    assert data.y.tolist() == [2] and data.classes == ("p", "q", "r")


def test_unknown_category_or_class_is_refused_or_made_zero() -> None:
    first = nodes({"k": ["u", "v", "u"], "y": [1, 2, 1]}, label="y").encoding
    loop = pa.table({"src": ["z"], "dst": ["z"]})
    table = pa.table({"id": ["z"], "k": ["new"], "y": [3]})
    with pytest.raises(
        ValueError, match="nodes, row 0, column 'k': 'new' is not among the 2 categor"
    ):
        from_tables(loop, table, encoding=first)
    options = FileOptions(unknown_category="zero")
    assert from_tables(loop, table, options=options, encoding=first).data.x.sum() == 0
    with pytest.raises(ValueError, match="column 'y': '3' is not among the classes"):
        from_tables(
            loop,
            table,
            options=FileOptions(label="y", unknown_category="zero"),
            encoding=first,
        )


@pytest.mark.parametrize("values", [[True, False, True], [2, 10, 2], ["u", "v", "u"]])
def test_encoding_fits_the_file_it_came_from(values: list[Any]) -> None:
    columns = {"k": values, "y": values}
    options = FileOptions(label="y", categorical=("k",))
    table = pa.table({"id": ["a", "b", "c"], **columns})
    first = from_tables(EDGES, table, options=options)
    encoding = Encoding.from_json(first.encoding.to_json())
    again = from_tables(EDGES, table, options=options, encoding=encoding)
    assert torch.equal(again.data.x, first.data.x)
    assert torch.equal(again.data.y, first.data.y)


def test_wide_sparse_features_stay_sparse() -> None:
    size = 300
    ids = [f"n{i}" for i in range(size)]
    table = pa.table({"id": ids, "word": ids})
    edges = pa.table({"src": ids[:1], "dst": ids[1:2]})
    options = FileOptions(categorical=("word",))
    data = from_tables(edges, table, options=options).data
    assert isinstance(data.x, SparseFeatures)
    words = sorted(ids)
    assert data.x.to_dense()[7].nonzero().item() == words.index("n7")


def test_wide_tables_of_numbers_that_are_mostly_zero_stay_sparse() -> None:
    words = np.zeros((3, 257), np.float32)
    words[0, 5], words[1, 256], words[2, 0] = 1, 2, 3
    data = nodes({f"w{k}": words[:, k] for k in range(257)}).data
    assert isinstance(data.x, SparseFeatures)
    assert np.array_equal(data.x.to_dense().numpy(), words)


def test_dates_are_categories_where_they_are_named_so():
    days = ["2024-01-02", "2024-01-03"]
    nodes = pa.table({"id": ["a", "b"], "day": days})
    edges = pa.table({"src": ["a"], "dst": ["b"]})
    graph = from_tables(edges, nodes, options=FileOptions(categorical=("day",)))
    assert graph.encoding.features[0].categories == tuple(days)
