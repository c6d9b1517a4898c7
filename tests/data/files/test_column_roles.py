from __future__ import annotations

import logging
from typing import Any

import pyarrow as pa
import pytest
import torch
from support.tables import nodes

from sgat.data.files import FileOptions, from_tables
from sgat.data.files.column_roles import role_lines

SIZE = 12
IDS = [f"n{k}" for k in range(SIZE)]
EDGES = pa.table({"src": IDS, "dst": IDS[1:] + IDS[:1], "since": range(SIZE)})
LABELS = ["p", "q", "r"] * 4


def read(columns: dict[str, Any], **options: Any) -> Any:
    table = pa.table({"id": IDS, **columns, "y": LABELS})
    return from_tables(EDGES, table, options=FileOptions(label="y", **options))


def test_every_column_is_listed_with_what_it_became() -> None:
    graph = nodes(
        {
            "size": [1.0, 2.0, 3.0],
            "colour": ["red", "blue", "red"],
            "joined": ["2024-01-01", "2024-02-01", "2024-03-01"],
            "bio": ["a fish", "two fish", "red fish"],
            **{f"w{k}": [0, 1, k] for k in range(5)},
            "note": ["", "x", "y"],
            "y": ["p", "q", "p"],
            "split": ["train", "val", "test"],
        },
        label="y",
        text=("bio",),
        drop=("note",),
    )
    assert role_lines(graph.roles) == [
        "edges: 2 columns",
        "  src              source",
        "  dst              target",
        "nodes: 13 columns become 1,037 features",
        "  id               node id",
        "  size             number",
        "  colour           2 categories: blue, red",
        "  joined           date: days, place in year and week",
        "  bio              text, its words hashed",
        "  w0 … w4 (5 columns) number",
        "  note             not used; stays in what is written",
        "  y                label of 2 classes",
        "  split            split",
    ]


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ([f"text {k}" for k in range(SIZE)], "is left out of the features: 12 differ"),
        (list(range(SIZE)), "has another whole number in every row, as an id has"),
        ([4.0] * SIZE, "has the value 4.0 in every row, which says nothing"),
        (["x"] * SIZE, "has the value 'x' in every row, which says nothing"),
        ([7, 3, 5] * 4, "has one value for each class of 'y', as if it were the label"),
        (["u", "v", "w"] * 4, "has one value for each class of 'y'"),
        ([0.5 * k for k in range(SIZE)], None),
        ([k * k for k in range(SIZE)], None),
        ([k * k * 100 for k in range(SIZE)], "has a standard deviation of 3.94e+03;"),
        (["u", "v"] * 6, None),
    ],
)
def test_what_looks_wrong_in_a_column_is_told(
    values: list[Any], told: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        graph = read({"f": values, "more": [1, 2] * 6})
    assert (caplog.text == "") if told is None else (told in caplog.text)
    left_out = told is not None and "left out" in told
    assert [each.name for each in graph.encoding.features] == ["f", "more"][left_out:]


def test_a_column_that_names_the_rows_is_kept_where_it_is_named() -> None:
    bio = {"bio": [f"text {k}" for k in range(SIZE)]}
    assert read(bio, categorical=("bio",)).data.num_features == SIZE
    assert read(bio, text=("bio",)).data.num_features == 1024
    with pytest.raises(ValueError, match="12 different values in 12 rows are no"):
        read(bio, features=("bio",))


def test_words_of_a_text_count_alike_in_every_file() -> None:
    texts = ["Red fish", "red fish", "blue whale and red fish", None] * 3
    graph = read({"bio": texts}, text=("bio",))
    x = graph.data.x.to_dense()
    assert torch.equal(x[0], x[1]) and not x[3].any()
    assert float(x[0] @ x[2]) > 0
    again = from_tables(
        pa.table({"src": ["z"], "dst": ["z"]}),
        pa.table({"id": ["z"], "bio": ["FISH, red!"]}),
        encoding=graph.encoding,
    )
    assert float(again.data.x.to_dense()[0] @ x[0]) > 0.6
