"""Any graph survives being written and read again, in every format."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sgat.data.files import FileGraph, FileOptions, from_tables, read_graph, write_graph
from sgat.features import SparseFeatures

# In XML and in text tables control characters have no place.
LETTERS = st.characters(
    exclude_categories=("Cs", "Cc"), exclude_characters="\ufffe\uffff"
)
TRICKY = [
    "007",
    "7",
    "-0",
    "+1",
    "1e3",
    'say "hi"',
    "a,b",
    "a\tb",
    "a;b",
    "line\nbreak",
    "carriage\rreturn",
    " padded ",
    "NA",
    "nan",
    "null",
    "é",
    "e\u0301",
    "日本",
    "🦉",
    "<&>",
    "%",
    "#",
    "'",
    "\\",
    "\ufeff",
    "True",
    "9" * 30,
]
STRINGS = st.one_of(st.sampled_from(TRICKY), st.text(LETTERS, min_size=1, max_size=6))
INTEGERS = st.integers(-(2**63), 2**63 - 1)
NUMBERS = st.floats(-1e6, 1e6, width=32)


@st.composite
def graphs(draw: Any) -> tuple[pa.Table, pa.Table, FileOptions]:
    """Tables of nodes and edges: loops, duplicates, isolated nodes, gaps."""
    kind = draw(st.sampled_from([STRINGS, INTEGERS]))
    ids = draw(st.lists(kind, min_size=1, max_size=7, unique=True))
    ends = st.tuples(st.sampled_from(ids), st.sampled_from(ids))
    pairs = draw(st.lists(ends, max_size=11))
    type_ = pa.string() if kind is STRINGS else pa.int64()

    def column(values: Any, size: int) -> list[Any]:
        return draw(st.lists(values, min_size=size, max_size=size))

    edges = {
        "src": pa.array([pair[0] for pair in pairs], type_),
        "dst": pa.array([pair[1] for pair in pairs], type_),
    }
    if draw(st.booleans()):
        weights = column(st.floats(0, 1e6).filter(bool), len(pairs))
        edges["weight"] = pa.array(weights, pa.float64())
    nodes = {
        "id": pa.array(ids, type_),
        "size": pa.array(column(NUMBERS, len(ids)), pa.float64()),
        "colour": pa.array(column(st.sampled_from(["red", "a,b", '"']), len(ids))),
        "y": pa.array(column(st.sampled_from(["p", "q", None]), len(ids)), pa.string()),
    }
    present = {value for value in nodes["y"].to_pylist() if value}
    options = FileOptions(
        label="y" if len(present) == 2 else None,
        drop=() if len(present) == 2 else ("y",),
        undirected=draw(st.booleans()),
    )
    return pa.table(edges), pa.table(nodes), options


def as_text(ids: Any) -> list[str]:
    return [str(value) for value in ids]


def dense(x: Any) -> torch.Tensor:
    return x.to_dense() if isinstance(x, SparseFeatures) else x


def assert_same(found: FileGraph, expected: FileGraph, *, typed: bool) -> None:
    """The same data; ids in formats without types are compared as text."""
    a, b = found.data, expected.data
    if typed:
        assert a.node_ids is not None and b.node_ids is not None
        assert a.node_ids.dtype == b.node_ids.dtype
        assert found.edges.equals(expected.edges)
    assert as_text(a.node_ids) == as_text(b.node_ids)
    for end in ("src", "dst"):
        given, wanted = found.edges.column(end), expected.edges.column(end)
        if not (found.edges_format == "mtx" and found.undirected):
            assert as_text(given.to_pylist()) == as_text(wanted.to_pylist())
    assert a.graph.num_nodes == b.graph.num_nodes
    # A symmetric matrix has its weights added before they are rounded.
    tolerance = 1e-6 if found.edges_format == "mtx" else 0
    for name in ("src", "dst", "edge_weight", "loop_weights"):
        given, wanted = getattr(a.graph, name), getattr(b.graph, name)
        torch.testing.assert_close(given, wanted, rtol=tolerance, atol=0)
    assert torch.equal(dense(a.x), dense(b.x))
    assert torch.equal(a.y, b.y)
    assert a.classes == b.classes


def check_round_trip(graph: Any, format: str, nodes_format: str | None) -> None:
    edges, nodes, options = graph
    expected = from_tables(edges, nodes, options=options)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"edges.{format}"
        nodes_path = nodes_format and Path(folder) / f"nodes.{nodes_format}"
        write_graph(expected, path, nodes=nodes_path)
        found = read_graph(path, nodes_path, options=options)
        typed = {format, nodes_format} <= {"parquet", "npz"}
        assert_same(found, expected, typed=typed)
        # What was read can be written once more, and nothing changes any further. (In
        # a text file the first reading may find that ids given as text are numbers.)
        again, third = (
            Path(folder) / f"{name}.{format}" for name in ("again", "third")
        )
        write_graph(found, again, nodes=nodes_path)
        write_graph(
            read_graph(again, nodes_path, options=options), third, nodes=nodes_path
        )
        assert third.read_bytes() == again.read_bytes()
        left = sorted(file.name for file in Path(folder).iterdir())
        assert left == sorted(
            file.name for file in (path, again, third, nodes_path) if file is not None
        )


FORMATS = pytest.mark.parametrize(
    ("format", "nodes_format"),
    [
        ("csv", "csv"),
        ("tsv", "tsv"),
        ("parquet", "parquet"),
        ("npz", "npz"),
        ("mtx", "parquet"),
        ("graphml", None),
    ],
)


def quiet(max_examples: int) -> Any:
    return settings(
        max_examples=max_examples,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )


@FORMATS
@quiet(12)
@given(graph=graphs())
def test_graph_survives_writing_and_reading(
    graph: Any, format: str, nodes_format: str | None
) -> None:
    check_round_trip(graph, format, nodes_format)


@pytest.mark.slow
@FORMATS
@quiet(1000)
@given(graph=graphs())
def test_a_thousand_graphs_survive_writing_and_reading(
    graph: Any, format: str, nodes_format: str | None
) -> None:
    check_round_trip(graph, format, nodes_format)


@pytest.mark.parametrize("format", ["csv", "tsv", "parquet", "npz", "mtx", "graphml"])
def test_graph_without_edges_keeps_its_isolated_nodes(
    tmp_path: Path, format: str
) -> None:
    edges = pa.table(
        {"src": pa.array([], pa.string()), "dst": pa.array([], pa.string())}
    )
    nodes = pa.table({"id": ["b", "a", "007"]})
    nodes_path = tmp_path / "nodes.parquet"
    write_graph(from_tables(edges, nodes), tmp_path / f"e.{format}", nodes=nodes_path)
    data = read_graph(tmp_path / f"e.{format}", nodes_path).data
    assert data.graph.num_edges == 0
    assert list(np.asarray(data.node_ids)) == ["b", "a", "007"]
