"""Columns of an edge table become numbers of its edges, read alike in every table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import torch

from sgat.config import DataConfig
from sgat.data.configured import load_configured
from sgat.data.files import Encoding, FileGraph, FileOptions, from_tables, read_graph
from sgat.data.files.column_roles import role_lines

TABLE = {
    "src": ["a", "b", "c", "c"],
    "dst": ["b", "c", "a", "b"],
    "amount": [1.0, 2.0, 3.0, 6.0],
    "kind": ["gift", "sale", "sale", "loan"],
    "when": ["2024-01-01", "2024-01-02", "2024-01-03", "2024-01-04"],
}
NODES = pa.table({"id": ["a", "b", "c"], "f": [1.0, 2.0, 3.0]})


def read(
    table: dict[str, Any] | None = None,
    *columns: str,
    encoding: Encoding | None = None,
    **options: Any,
) -> FileGraph:
    given = pa.table(TABLE if table is None else table)
    how = FileOptions(edge_columns=columns, **options)
    return from_tables(given, NODES, options=how, encoding=encoding)


def by_ends(graph: FileGraph) -> dict[tuple[str, str], list[float]]:
    """The numbers of each edge, by the ids of its ends."""
    edges, ids = graph.data.graph, graph.data.ids
    assert edges.edge_attr is not None
    ends = zip(ids[edges.src.numpy()], ids[edges.dst.numpy()], strict=True)
    return dict(zip(ends, edges.edge_attr.tolist(), strict=True))


def test_numbers_are_standardised_and_categories_one_hot() -> None:
    found = by_ends(read(None, "kind", "amount"))
    amount = np.array(TABLE["amount"])
    scaled = (amount - amount.mean()) / amount.std()
    one_hot = {"gift": [1, 0, 0], "loan": [0, 1, 0], "sale": [0, 0, 1]}
    ends = zip(TABLE["src"], TABLE["dst"], TABLE["kind"], scaled, strict=True)
    assert len(found) == len(TABLE["src"])
    for src, dst, kind, value in ends:
        assert found[src, dst] == pytest.approx([*one_hot[kind], value], abs=1e-6)


def test_dates_are_read_as_those_of_nodes() -> None:
    edges = read(None, "when")
    dates = pa.table({"id": ["a", "b", "c", "d"], "when": TABLE["when"]})
    nodes = from_tables(pa.table({"src": ["a"], "dst": ["b"]}), dates)
    assert edges.encoding.edges == nodes.encoding.features
    rows = zip(TABLE["src"], TABLE["dst"], nodes.data.x.tolist(), strict=True)
    assert by_ends(edges) == {(src, dst): row for src, dst, row in rows}


@pytest.mark.parametrize("undirected", [False, True])
def test_duplicates_get_their_mean_and_loops_nothing(undirected: bool) -> None:
    table = {
        "src": ["a", "a", "b", "c", "b"],
        "dst": ["b", "b", "a", "c", "c"],
        "amount": [1.0, 3.0, 8.0, 1000.0, 5.0],
    }
    found = by_ends(read(table, "amount", undirected=undirected))
    amount = np.array(table["amount"])
    scaled = (amount - amount.mean()) / amount.std()
    if undirected:
        pair, other = scaled[:3].mean(), scaled[4]
        expected = {("a", "b"): pair, ("b", "a"): pair}
        expected |= {("b", "c"): other, ("c", "b"): other}
    else:
        expected = {("a", "b"): scaled[:2].mean(), ("b", "a"): scaled[2]}
        expected |= {("b", "c"): scaled[4]}
    assert found.keys() == expected.keys()
    for ends, value in expected.items():
        assert found[ends] == pytest.approx([value], abs=1e-6)


def test_another_table_is_read_as_the_first_one() -> None:
    first = read(None, "amount", "kind", "when")
    encoding = Encoding.from_json(first.encoding.to_json())
    assert encoding == first.encoding and len(encoding.edges) == 3
    # In another order, and whatever the options say.
    table = {name: TABLE[name][1:3] for name in reversed(TABLE)}
    later = read(table, encoding=encoding)
    assert later.data.edge_columns == first.data.edge_columns
    expected = by_ends(first)
    assert by_ends(later) == {ends: expected[ends] for ends in by_ends(later)}
    assert len(by_ends(later)) == 2


def test_an_unseen_category_is_refused_or_counts_as_none() -> None:
    encoding = read(None, "kind").encoding
    table = {**TABLE, "kind": ["gift", "theft", "sale", "loan"]}
    with pytest.raises(ValueError) as error:
        read(table, encoding=encoding)
    assert str(error.value) == (
        "edges, row 1, column 'kind': 'theft' is not among the 3 categories of the"
        " encoding; `unknown_category` can make it zeros."
    )
    found = by_ends(read(table, encoding=encoding, unknown_category="zero"))
    assert found["b", "c"] == [0, 0, 0] and found["a", "b"] == [1, 0, 0]


def test_nothing_changes_where_no_column_is_named() -> None:
    graph = read()
    assert graph.data.graph.edge_attr is None and graph.data.edge_columns == ()
    assert "edges" not in graph.encoding.to_json()
    older = '{"features": [], "classes": []}'
    assert Encoding.from_json(older).edges == ()


def test_what_columns_become_is_listed() -> None:
    assert role_lines(read(None, "amount", "kind").roles)[:6] == [
        "edges: 5 columns become 4 features",
        "  src              source",
        "  dst              target",
        "  amount           number",
        "  kind             3 categories: gift, loan, sale",
        "  when             not used; stays in what is written",
    ]


def csv(folder: Path, **changes: Any) -> None:
    size = 30
    table = pd.DataFrame({"src": range(size), "dst": [*range(1, size), 0]})
    table["amount"] = np.arange(size) / 7
    table["name"] = [f"trade {n}" for n in range(size)]
    for name, (row, value) in changes.items():
        table[name] = table[name].astype(object)
        table.loc[row, name] = value
    table.to_csv(folder / "e.csv", index=False)


@pytest.mark.parametrize(
    ("columns", "changes", "sentence"),
    [
        (
            ("amuont",),
            {},
            "e.csv: no column 'amuont' for the judge and gates (`edge_columns`); did"
            " you mean 'amount'? The columns are 'src', 'dst', 'amount', 'name'.",
        ),
        (
            ("name",),
            {},
            "e.csv, column 'name': 30 different values in 30 rows are no categories;"
            " `text` reads its words, `categorical` takes them as categories.",
        ),
        (
            ("amount",),
            {"amount": (4, None)},
            "e.csv, line 6, column 'amount': a value is needed, got nothing;"
            " `fill_missing` mean or zero fills it.",
        ),
        (
            ("amount",),
            {"amount": (4, "much")},
            "e.csv, line 6, column 'amount': must be a number like other values of the"
            " column, got 'much'; or name the column in `categorical`.",
        ),
        (
            ("amount",),
            {"amount": (4, "inf")},
            "e.csv, line 6, column 'amount': must be finite, got inf.",
        ),
        (("amount", "amount"), {}, "`edge_columns` must name each column once, got"),
    ],
)
def test_what_cannot_be_read_is_refused_in_one_sentence(
    columns: tuple[str, ...], changes: Any, sentence: str, tmp_path: Path
) -> None:
    csv(tmp_path, **changes)
    edges = str(tmp_path / "e.csv")
    config = DataConfig(edges=edges, files=FileOptions(edge_columns=columns))
    with pytest.raises(ValueError) as error:
        load_configured(config, for_training=False)
    told = str(error.value).replace(f"{tmp_path}/", "")
    assert told.startswith(sentence) and "\n" not in told


def test_missing_numbers_are_filled_on_request_and_words_are_read(
    tmp_path: Path,
) -> None:
    csv(tmp_path, amount=(4, None))
    options = FileOptions(
        edge_columns=("amount", "name"), fill_missing="mean", text=("name",)
    )
    attr = read_graph(tmp_path / "e.csv", options=options).data.graph.edge_attr
    assert attr is not None and attr.shape == (30, 1 + 1024)
    # The mean is 0 where numbers have the mean 0.
    assert attr[:, 0].abs().min() < 1e-6
    assert torch.allclose(attr[:, 1:].norm(dim=1), torch.ones(30))
