from __future__ import annotations

from pathlib import Path

import pytest

from sgat.data.files import FileOptions, read_graph


def test_byte_order_mark_and_blank_lines_are_skipped(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_bytes(b"\xef\xbb\xbfsrc,dst\r\n\r\na,b\r\n\r\nb,c\r\n")
    assert len(read_graph(tmp_path / "e.csv").edges) == 2


def test_line_of_a_fault_counts_lines_inside_quotes(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text('src,dst,weight\na,"two\nlines",1\n\nb,c,-1\n')
    with pytest.raises(ValueError, match=r"e\.csv, line 5, column 'weight'"):
        read_graph(tmp_path / "e.csv")


def test_quoted_empty_cell_is_not_a_missing_one(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text('src,dst,k\na,b,""\nb,c,\n')
    assert read_graph(tmp_path / "e.csv").edges.column("k").to_pylist() == ["", None]


def test_long_row_fits(tmp_path: Path) -> None:
    width = 300
    names = ",".join(f"column{i}" for i in range(width))
    (tmp_path / "e.csv").write_text("src,dst\na,b\n")
    # Two and a half million characters; a block of Arrow's has a million by default.
    values = ",".join("1234567.125" if i == 7 else "x" * 8000 for i in range(width))
    (tmp_path / "n.csv").write_text(f"id,{names}\na,{values}\nb,{values}\n")
    paths = tmp_path / "e.csv", tmp_path / "n.csv"
    options = FileOptions(features=("column7",))
    assert read_graph(*paths, options=options).data.x.tolist() == [[1234567.125]] * 2
    with pytest.raises(ValueError, match=r"'column18' and 281 more\.$"):
        read_graph(*paths, options=FileOptions(features=("missing",)))
