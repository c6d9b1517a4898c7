from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import torch

from sgat.data import check
from sgat.data.files import Encoding, FileGraph, FileOptions, from_tables, read_graph
from sgat.features import SparseFeatures

EDGES = pa.table({"src": ["a", "b"], "dst": ["b", "c"]})


def nodes(columns: dict[str, Any], **options: Any) -> FileGraph:
    table = pa.table({"id": ["a", "b", "c"], **columns})
    return from_tables(EDGES, table, options=FileOptions(**options))


def text_nodes(folder: Path, text: str, **options: Any) -> FileGraph:
    (folder / "e.csv").write_text("src,dst\na,b\nb,c\n")
    (folder / "n.csv").write_text(text)
    return read_graph(
        folder / "e.csv", folder / "n.csv", options=FileOptions(**options)
    )


def test_readme_example_trains_on_string_ids(tmp_path: Path) -> None:
    graph = text_nodes(
        tmp_path, "id,age,y,split\nb,3,no,val\na,1,yes,train\nc,2,,\n", label="y"
    )
    check([graph.data])
    assert list(graph.data.node_ids) == ["b", "a", "c"]
    assert graph.data.classes == ("no", "yes")
    assert graph.data.y.tolist() == [0, 1, -1]
    assert graph.data.train.tolist() == [False, True, False]
    assert graph.data.val.tolist() == [True, False, False]
    assert not graph.data.test.any()
    assert graph.data.x.tolist() == [[3], [1], [2]]


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
    assert graph.encoding.feature_names == (
        "size",
        "colour=blue",
        "colour=red",
        "old=False",
        "old=True",
        "shape=x",
        "shape=y",
        "vector_0",
        "vector_1",
    )
    assert graph.data.x.tolist() == [
        [1, 0, 1, 0, 1, 1, 0, 1, 2],
        [2, 1, 0, 1, 0, 0, 1, 3, 4],
        [3, 0, 1, 0, 1, 1, 0, 5, 6],
    ]


def test_numbers_are_categories_where_told() -> None:
    graph = nodes({"zone": [10, 2, 10]}, categorical=("zone",))
    assert graph.encoding.feature_names == ("zone=2", "zone=10")
    assert graph.data.x.tolist() == [[0, 1], [1, 0], [0, 1]]


def test_features_are_chosen_and_dropped() -> None:
    columns = {"f": [1.0, 2.0, 3.0], "g": [4.0, 5.0, 6.0], "h": [7.0, 8.0, 9.0]}
    assert nodes(columns, features=("h", "f")).data.x.tolist()[0] == [7, 1]
    assert nodes(columns, drop=("g",)).data.x.tolist()[0] == [1, 7]
    none = nodes(columns, features=()).data.x
    assert isinstance(none, SparseFeatures) and none.shape == (3, 3)


def test_index_written_by_accident_is_no_feature(tmp_path: Path) -> None:
    graph = text_nodes(tmp_path, ",id,f\n0,a,5\n1,b,6\n2,c,7\n")
    assert graph.encoding.feature_names == ("f",)


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


def test_a_later_file_needs_neither_labels_nor_roles() -> None:
    first = nodes(
        {"f": [1.0, 2.0, 3.0], "y": ["p", "q", "p"], "fold": ["train", "val", "test"]},
        label="y",
        split="fold",
    )
    loop = pa.table({"src": ["z"], "dst": ["z"]})
    table = pa.table({"id": ["z"], "f": [5.0]})
    later = from_tables(loop, table, options=first.options, encoding=first.encoding)
    assert later.data.x.tolist() == [[5.0]]
    assert later.data.y.tolist() == [-1] and later.data.classes == ("p", "q")
    assert not later.data.train.any()
    with pytest.raises(ValueError, match="no column 'y' for the label"):
        from_tables(loop, table, options=FileOptions(label="y"))
    options = FileOptions(labels=("u", "v"))
    some = pa.table({"id": ["z"], "f": [5.0], "u": [1]})
    with pytest.raises(ValueError, match="no column 'v' for a label"):
        from_tables(loop, some, options=options, encoding=first.encoding)


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


@pytest.mark.parametrize(
    ("labels", "classes", "y"),
    [
        ([10, 9, 10], (9, 10), [1, 0, 1]),
        (["10", "9", "10"], ("10", "9"), [0, 1, 0]),
        ([True, False, None], (False, True), [1, 0, -1]),
        ([0.5, float("nan"), 0.25], (0.25, 0.5), [1, -1, 0]),
        (["é", "", "z"], ("z", "é"), [1, -1, 0]),
    ],
)
def test_labels_of_any_type_become_sorted_classes(
    labels: Any, classes: Any, y: list[int]
) -> None:
    data = nodes({"y": labels}, label="y", features=()).data
    assert data.classes == classes
    assert data.y.tolist() == y


@pytest.mark.parametrize(
    ("text", "classes"),
    [("10 9 10", (9, 10)), ("07 9 07", ("07", "9")), ("1.0 2.0 1.0", ("1.0", "2.0"))],
)
def test_text_labels_are_integers_only_if_written_so(
    tmp_path: Path, text: str, classes: Any
) -> None:
    rows = "".join(f"{i},{y}\n" for i, y in zip("abc", text.split(), strict=True))
    assert text_nodes(tmp_path, f"id,y\n{rows}", label="y").data.classes == classes


def test_several_label_columns_make_a_multi_label_matrix(tmp_path: Path) -> None:
    graph = text_nodes(
        tmp_path, "id,u,v,f\na,0,true,1\nb,1,False,2\nc,1,1,3\n", labels=("v", "u")
    )
    assert graph.data.is_multilabel and graph.data.classes == ("v", "u")
    assert graph.data.y.tolist() == [[1, 0], [0, 1], [1, 1]]
    assert graph.encoding.feature_names == ("f",)


def test_split_words_may_be_spelled_differently() -> None:
    data = nodes({"fold": ["Train", " validation ", "test"]}, split="fold").data
    masks = torch.stack([data.train, data.val, data.test])
    assert torch.equal(masks, torch.eye(3, dtype=torch.bool))


def test_wide_sparse_features_stay_sparse() -> None:
    size = 300
    ids = [f"n{i}" for i in range(size)]
    table = pa.table({"id": ids, "word": ids})
    edges = pa.table({"src": ids[:1], "dst": ids[1:2]})
    data = from_tables(edges, table).data
    assert isinstance(data.x, SparseFeatures)
    words = sorted(ids)
    assert data.x.to_dense()[7].nonzero().item() == words.index("n7")


def test_wide_tables_of_numbers_that_are_mostly_zero_stay_sparse() -> None:
    words = np.zeros((3, 257), np.float32)
    words[0, 5], words[1, 256], words[2, 0] = 1, 2, 3
    data = nodes({f"w{k}": words[:, k] for k in range(257)}).data
    assert isinstance(data.x, SparseFeatures)
    assert np.array_equal(data.x.to_dense().numpy(), words)


def test_data_frames_are_read_too() -> None:
    edges = pd.DataFrame({"src": [5, -3], "dst": [-3, 2**60]})
    frame = pd.DataFrame({"id": [2**60, -3, 5], "f": [1.0, 2.0, 3.0]})
    data = from_tables(edges, frame).data
    assert np.array_equal(data.node_ids, [2**60, -3, 5])
    assert data.graph.edge_index.tolist() == [[1, 2], [0, 1]]
