from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from support.tables import WEIGHTED

from sgat.data.files import (
    FileOptions,
    from_tables,
    read_graph,
    write_graph,
    write_table,
)


@pytest.mark.parametrize("format", ["csv", "graphml", "npz"])
def test_nan_and_infinity_survive(tmp_path: Path, format: str) -> None:
    table = WEIGHTED.append_column("f", pa.array([float("inf"), float("nan"), None]))
    write_graph(from_tables(table), tmp_path / f"e.{format}")
    found = read_graph(tmp_path / f"e.{format}").edges.column("f").to_pylist()
    assert [float(found[0]), *map(str, found[1:])] in (
        [float("inf"), "None", "None"],
        [float("inf"), "nan", "nan"],
    )


def test_weights_that_are_text_are_numbers_in_matrix_market(tmp_path: Path) -> None:
    edges = pa.table({"src": [1, 2], "dst": [2, 1], "weight": ["0.5", "2"]})
    graph = from_tables(edges, options=FileOptions(undirected=True))
    write_graph(graph, tmp_path / "e.mtx")
    back = read_graph(tmp_path / "e.mtx").edges
    assert back.column("weight").to_pylist() == [2.0]


@pytest.mark.parametrize("format", ["xlsx", "pt", "graphml"])
def test_table_in_a_format_that_is_not_one_is_refused(
    tmp_path: Path, format: str
) -> None:
    with pytest.raises(ValueError, match="choose one of csv, npz, parquet, tsv"):
        write_table(WEIGHTED, tmp_path / f"t.{format}")
    assert not list(tmp_path.iterdir())


def test_failed_write_leaves_the_earlier_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "t.npz"
    write_table(WEIGHTED, path)
    before = path.read_bytes()
    bad = pa.table({"a": pa.array([[1], [1, 2]])})
    with pytest.raises(ValueError, match="NPZ cannot hold list"):
        write_table(bad, path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_path_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    for path in (tmp_path / "no" / "t.csv", tmp_path / "folder.csv"):
        (tmp_path / "folder.csv").mkdir(exist_ok=True)
        with pytest.raises(OSError) as found:
            write_table(WEIGHTED, path)
        assert found.value.filename == str(path)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["folder.csv"]


def test_a_folder_with_other_files_is_not_replaced(tmp_path: Path) -> None:
    folder = tmp_path / "papers"
    folder.mkdir()
    (folder / "thesis.txt").write_text("mine")
    with pytest.raises(ValueError, match=r"papers holds thesis\.txt; choose another"):
        write_table(WEIGHTED, folder)
    assert [file.name for file in folder.iterdir()] == ["thesis.txt"]


def test_link_is_followed_when_written(tmp_path: Path) -> None:
    (tmp_path / "link.csv").symlink_to(tmp_path / "real.csv")
    write_table(pa.table({"a": [1]}), tmp_path / "link.csv")
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "real.csv").read_text() == '"a"\n1\n'
