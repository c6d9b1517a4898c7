from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import torch
from support.tables import WEIGHTED, read_text

from sgat.data.files import from_tables, read_graph, write_graph
from sgat.data.files.columns import decoded


def test_vectors_are_spread_over_columns_of_text_formats(tmp_path: Path) -> None:
    vectors = pa.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], pa.list_(pa.float64(), 2))
    graph = from_tables(WEIGHTED, pa.table({"id": [1, 2, 3], "x": vectors}))
    write_graph(graph, tmp_path / "e.csv", nodes=tmp_path / "n.csv")
    assert (tmp_path / "n.csv").read_text().splitlines()[0] == '"id","x_0","x_1"'
    found = read_graph(tmp_path / "e.csv", tmp_path / "n.csv").data.x
    assert torch.equal(found, graph.data.x)


def test_text_columns_become_numbers_only_where_nothing_is_lost(
    tmp_path: Path,
) -> None:
    graph = read_text(
        tmp_path,
        "src,dst,weight,count,code,version,share,gap\n"
        "a,b,0.10,1,007,1.10,0.5,\nb,c,2,-2,008,1.9,1e-07,3\n",
    )
    types = {field.name: str(field.type) for field in graph.edges.schema}
    assert types == {
        "src": "string",
        "dst": "string",
        "weight": "double",
        "count": "int64",
        "code": "string",
        "version": "string",
        "share": "double",
        "gap": "int64",
    }
    assert graph.edges.column("gap").to_pylist() == [None, 3]


def test_types_that_few_functions_of_arrow_take_become_plain_ones() -> None:
    views = pa.array(["a", None]).cast(pa.string_view())
    halves = pa.array([1.5, None], pa.float32()).cast(pa.float16())
    assert decoded(views).equals(pa.array(["a", None]))
    assert decoded(halves).equals(pa.array([1.5, None], pa.float32()))
