from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import torch
from support.tables import nodes, text_nodes

from sgat.data.files import FileOptions, from_tables
from sgat.features import SparseFeatures


def test_features_are_chosen_and_dropped() -> None:
    columns = {"f": [1.0, 2.0, 3.0], "g": [4.0, 5.0, 6.0], "h": [7.0, 8.0, 9.0]}
    assert nodes(columns, features=("h", "f")).data.x.tolist()[0] == [7, 1]
    assert nodes(columns, drop=("g",)).data.x.tolist()[0] == [1, 7]
    none = nodes(columns, features=()).data.x
    assert isinstance(none, SparseFeatures) and none.shape == (3, 3)


def test_a_column_of_far_larger_numbers_is_remarked_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    columns = {"age": [20.0, 40.0, 60.0], "income": [20_000.0, 50_000.0, 20_000.0]}
    found = nodes(columns)
    told = "nodes, column 'income' has a standard deviation of 1.41e+04; `standardise`"
    assert told in caplog.text
    caplog.clear()
    nodes(columns, standardise=True)
    nodes({"age": columns["age"]})
    # A later file is read as the first one was.
    from_tables(found.edges, found.nodes, encoding=found.encoding)
    assert caplog.text == ""


def test_index_written_by_accident_is_no_feature(tmp_path: Path) -> None:
    graph = text_nodes(tmp_path, ",id,f\n0,a,5\n1,b,6\n2,c,7\n")
    assert [each.name for each in graph.encoding.features] == ["f"]


def test_a_later_file_needs_neither_labels_nor_roles() -> None:
    first = nodes(
        {"f": [1.0, 2.0, 3.0], "y": ["p", "q", "p"], "fold": ["train", "val", "test"]},
        label="y",
        split_column="fold",
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


def test_classes_of_one_row_are_remarked_on(caplog: pytest.LogCaptureFixture) -> None:
    ages = {"f": [1.0, 2.0, 3.0], "age": [31, 30, 30]}
    nodes(ages, label="age", features=())
    assert "nodes, column 'age': classes of one row only: 31; a class" in caplog.text
    caplog.clear()
    nodes(ages | {"age": [30, None, 30], "y": ["a", "b", "a"]}, features=())
    assert caplog.text == ""


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
    assert [each.name for each in graph.encoding.features] == ["f"]


@pytest.mark.parametrize("kind", [pa.null(), pa.int64(), pa.list_(pa.int64(), 2)])
def test_a_split_column_without_values_gives_no_roles(kind: pa.DataType) -> None:
    data = nodes({"fold": pa.nulls(3, kind)}, split_column="fold").data
    assert not (data.train | data.val | data.test).any()


def test_split_words_may_be_spelled_differently() -> None:
    data = nodes({"fold": ["Train", " validation ", "test"]}, split_column="fold").data
    masks = torch.stack([data.train, data.val, data.test])
    assert torch.equal(masks, torch.eye(3, dtype=torch.bool))


def test_vectors_of_no_numbers_are_features_of_none() -> None:
    nothing = pa.array([[], [], []], pa.list_(pa.float64(), 0))
    assert nodes({"v": nothing}).data.x.shape == (3, 0)
