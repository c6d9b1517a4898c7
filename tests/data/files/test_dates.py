from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch
from support.tables import nodes

from sgat.data.files import Encoding, FileOptions, from_tables
from sgat.data.files.dates import date_order, days
from sgat.data.files.source import Source

DAY = 19_723  # 2024-01-01 in days since 1970-01-01


def source(values: Any) -> Source:
    table = pa.table({"f": pa.array(values)})
    return Source(table, "nodes", "csv", frozenset({"f"}))


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["2024-01-02", "2024-1-3", "2024/01/02 12:00"], [1, 2, 1.5]),
        (["2.1.2024", "03.01.2024", ""], [1, 2, np.nan]),
        (["13/01/2024", "02/01/2024", None], [12, 1, np.nan]),
        (["01/13/2024", "01/02/2024 06:00", "NA"], [12, 1.25, np.nan]),
        (["2024-01-02T00:00:00Z", "2024-01-02T01:00:00+01:00", None], [1, 1, np.nan]),
        (["9:30", "18:00:00", "00:00"], [9.5 / 24 - DAY, 0.75 - DAY, -DAY]),
        ([datetime.date(2024, 1, 2), None, datetime.date(9999, 12, 31)], None),
        ([datetime.time(6), None, datetime.time(12)], [0.25 - DAY, np.nan, 0.5 - DAY]),
    ],
)
def test_dates_are_days(values: list[Any], expected: list[float] | None) -> None:
    given = source(values)
    found = days(given, "f", date_order(given, "f")) - DAY
    expected = [1, np.nan, 2_913_173] if expected is None else expected
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_dates_are_scaled_days_and_places_in_periods() -> None:
    moments = [datetime.datetime(2024, 1, day, 6) for day in (1, 8, 22)]
    graph = nodes({"joined": pa.array(moments, pa.timestamp("ms"))})
    (column,) = graph.encoding.features
    assert (column.kind, column.categories, column.width) == (
        "date",
        ("year", "week", "day"),
        7,
    )
    x = graph.data.x
    torch.testing.assert_close(x[:, 0].mean(), torch.tensor(0.0), atol=1e-6, rtol=0)
    # Three Mondays at six o'clock.
    assert torch.allclose(x[0, 3:], x[2, 3:], atol=1e-5)
    assert x[:, 5].tolist() == pytest.approx([1.0] * 3, abs=1e-5)
    encoding = Encoding.from_json(graph.encoding.to_json())
    again = from_tables(graph.edges, graph.nodes, encoding=encoding)
    assert torch.equal(again.data.x, x)


def test_the_order_of_the_first_file_holds_for_others() -> None:
    first = nodes({"on": ["31/12/2023", "01/01/2024", "02/01/2024"]}).encoding
    edges = pa.table({"src": ["z"], "dst": ["z"]})
    table = pa.table({"id": ["z"], "on": ["02/01/2024"]})
    same = pa.table({"id": ["z"], "on": ["2024-01-02"]})
    found = [from_tables(edges, each, encoding=first).data.x for each in (table, same)]
    assert torch.equal(*found)


def test_missing_dates_are_refused_or_filled_with_zeros() -> None:
    columns = {"on": ["2024-01-01", None, "2024-01-03"]}
    with pytest.raises(ValueError, match="row 1, column 'on': a value is needed"):
        nodes(columns)
    assert nodes(columns, fill_missing="mean").data.x[1].tolist() == [0] * 5


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            ["01/02/2024", "02/03/2024"],
            "row 0, column 'f': '01/02/2024' may b",
        ),
        (["2024-01-02", "2024-02-30"], "row 1, column 'f': must be a date such as"),
        (["2024-01-02", "2024-01-03 3:04 PM"], "row 1, column 'f': must be a date"),
    ],
)
def test_dates_that_leave_a_doubt_are_refused(values: list[str], message: str) -> None:
    given = source(values)
    with pytest.raises(ValueError, match=message):
        days(given, "f", date_order(given, "f"))
    assert FileOptions(drop=("f",)).drop == ("f",)


@pytest.mark.parametrize(
    "column",
    [
        pa.array([0, None, 2**31 - 1, 0], pa.date32()),
        pa.array([0, None, 2**60, 0], pa.timestamp("s", "+25:99")),
        pa.array([0, None, -(2**60), 0], pa.timestamp("ms")).dictionary_encode(),
    ],
    ids=["days", "zone", "dictionary"],
)
def test_years_that_python_cannot_show_are_refused(column: Any) -> None:
    ends = pa.array(["a", "b", "c", "a"])
    edges = pa.table({"src": ends, "dst": ends, "on": column})
    said = "edges, row 2, column 'on': must be in the years 1 to 9999."
    with pytest.raises(ValueError, match=f"^{said}$"):
        from_tables(edges)
    assert len(from_tables(edges.slice(0, 2)).edges) == 2


def test_durations_are_no_dates() -> None:
    table = pa.table({"id": [0, 1], "f": pa.array([1, None], pa.duration("ns"))})
    with pytest.raises(ValueError, match=r"'f': duration\[ns\] cannot be a feature"):
        from_tables(pa.table({"src": [0], "dst": [1]}), table)
