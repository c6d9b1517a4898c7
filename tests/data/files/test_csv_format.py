from __future__ import annotations

import gzip
import re
import zlib
from pathlib import Path

import pyarrow as pa
import pytest
import torch
from support.tables import read_text, text_nodes

from sgat.data.files import (
    FileOptions,
    bounds,
    csv_format,
    from_tables,
    read_graph,
    write_graph,
)
from sgat.pruning.stored_table import in_utf8, open_table


def test_byte_order_mark_and_blank_lines_are_skipped(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_bytes(b"\xef\xbb\xbfsrc,dst\r\n\r\na,b\r\n\r\nb,c\r\n")
    assert len(read_graph(tmp_path / "e.csv").edges) == 2


@pytest.mark.parametrize("size", [1 << 24, *range(16, 26)])
def test_a_byte_order_mark_of_joined_files_is_refused(
    size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(csv_format, "BLOCK_SIZE", size)
    (tmp_path / "e.csv").write_text("src,dst\na,b\nb,c\n\ufeffd,e\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"e\.csv, line 4: begins with a byte order"):
        read_graph(tmp_path / "e.csv")
    # In quotes it is a part of the cell, as it is inside a line.
    cells = ["\ufeffa", "x\n\ufeffy", "b\ufeff"]
    graph = from_tables(pa.table({"src": cells, "dst": [*cells[1:], "z"]}))
    write_graph(graph, tmp_path / "e.csv")
    found = read_graph(tmp_path / "e.csv")
    assert found.edges.column("src").to_pylist() == cells


@pytest.mark.parametrize("name", ["e.csv", "e.csv.gz"])
@pytest.mark.parametrize("encoding", ["cp1252", "utf-16"])
def test_tables_of_windows_are_read_by_the_name_of_their_encoding(
    encoding: str, name: str, tmp_path: Path
) -> None:
    text = "src,dst,price\nJürgen,Köln €,5\nKöln €,Jürgen,7\n"
    pack = gzip.compress if name.endswith("gz") else bytes
    (tmp_path / name).write_bytes(pack(text.encode(encoding)))
    # A file in UTF-8 beside it is read as what it is.
    (tmp_path / "n.csv").write_text("id,y\nKöln €,1\nJürgen,0\n", encoding="utf-8")
    options = FileOptions(encoding=encoding)
    found = read_graph(tmp_path / name, tmp_path / "n.csv", options=options)
    assert found.ids.to_pylist() == ["Köln €", "Jürgen"]
    assert found.edges.column("src").to_pylist() == ["Jürgen", "Köln €"]
    with pytest.raises(ValueError, match=r"`encoding`"):
        read_graph(tmp_path / name)


def test_what_is_not_of_the_encoding_is_told_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_bytes(b"src,dst\na,b\nb,\x81\n")
    with pytest.raises(ValueError, match=r"e\.csv: not cp1252 \(.* byte 0x81 "):
        read_graph(tmp_path / "e.csv", options=FileOptions(encoding="cp1252"))
    (tmp_path / "e.csv").write_bytes(b"src,dst\na,\xe9\n")
    for read in (read_graph, open_text):
        with pytest.raises(ValueError, match=r"e\.csv: not utf-16 \(.* BOM\)\.$"):
            read(tmp_path / "e.csv", options=FileOptions(encoding="utf-16"))
    for name in ("windows", "hex", "rot13", "punycode", "undefined", "cp1252\0"):
        what = "hold no NUL" if "\0" in name else ".* such as cp1252"
        said = rf"must {what}, got {re.escape(repr(name))}"
        with pytest.raises(ValueError, match=said):
            FileOptions(encoding=name)


def test_a_packed_table_of_zeros_is_no_copy_of_a_gigabyte(tmp_path: Path) -> None:
    pack = zlib.compressobj(9, wbits=31)
    zeros = b"".join(pack.compress(bytes(1 << 20)) for _ in range(64)) + pack.flush()
    head = gzip.compress("src,dst\ne,f\xe9\n".encode("cp1252"))
    (tmp_path / "e.csv.gz").write_bytes(head + zeros)
    with pytest.raises(ValueError, match=r"e\.csv\.gz: .* bytes would become"):
        table = open_table(tmp_path / "e.csv.gz", encoding="cp1252")
        in_utf8(table, tmp_path)


def open_text(path: Path, options: FileOptions) -> None:
    """As `sgat prune` opens a table."""
    in_utf8(open_table(path, encoding=options.encoding), path.parent)


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


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_compressed_tables_are_read_and_written(suffix: str, tmp_path: Path) -> None:
    graph = read_text(
        tmp_path, "src,dst,weight\na,b,2\nb,c,1\n", "id,f\na,1\nb,2\nc,3\n"
    )
    paths = tmp_path / f"edges.csv{suffix}", tmp_path / f"nodes.TSV{suffix}"
    write_graph(graph, paths[0], nodes=paths[1])
    assert paths[0].read_bytes()[:3] in (b"\x1f\x8b\x08", b"\x28\xb5\x2f")
    again = read_graph(*paths)
    assert again.edges.equals(graph.edges)
    assert torch.equal(again.data.x, graph.data.x)
    assert again.edges_format == "csv"
    with pytest.raises(ValueError, match=rf"edges\.csv{suffix}, line 2, column 'src'"):
        read_graph(paths[0], options=FileOptions(weight="src", src="weight"))


def test_a_compressed_bomb_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounds, "SMALL_SIZE", 1 << 16)
    (tmp_path / "e.csv.gz").write_bytes(gzip.compress(b"a,b\n" * (1 << 16)))
    with pytest.raises(ValueError, match=r"e\.csv\.gz: \d+ bytes would become 262,144"):
        read_graph(tmp_path / "e.csv.gz")


@pytest.mark.parametrize("sign", [";", "\t", "|"])
def test_another_delimiter_is_found_in_the_header(
    sign: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    text = "src,dst,n\na,b,1\nb,c,2\n".replace(",", sign)
    assert read_text(tmp_path, text).edges.num_columns == 3
    assert f"e.csv: the cells are separated by {sign!r}." in caplog.text
    for word in ("tab", "\\t"):
        assert FileOptions(delimiter=word).delimiter == "\t"


@pytest.mark.parametrize(
    ("cells", "options", "expected"),
    [
        (["0,5", "2", "-1,25"], {}, [0.5, 2, -1.25]),
        (["1,500", "2,250", "3,125"], {"decimal": ","}, [1.5, 2.25, 3.125]),
        (["0.5", "2", "3"], {}, [0.5, 2, 3]),
        (["1.930,5", "2.000", "-12"], {}, [1930.5, 2000, -12]),
        (["1.930.000", "2.000", "0,5"], {"decimal": ","}, [1_930_000, 2000, 0.5]),
        (["1.250", "0.75", "3"], {"decimal": ","}, [1.25, 0.75, 3]),
        (["1,930.5", "2,000", "3"], {}, [1930.5, 2000, 3]),
    ],
)
def test_decimal_commas_are_numbers(
    cells: list[str], options: dict[str, str], expected: list[float], tmp_path: Path
) -> None:
    rows = "".join(f"{id};{cell}\n" for id, cell in zip("abc", cells, strict=True))
    graph = text_nodes(tmp_path, "id;f\n" + rows, **options)
    assert graph.data.x.flatten().tolist() == expected
    assert graph.nodes.column("f").to_pylist()[0] in (cells[0], expected[0])


def test_commas_that_leave_a_doubt_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"line 2, column 'f': '1,500' has a comma"):
        text_nodes(tmp_path, "id;f\na;1,500\nb;2\nc;3,125\n")


def test_dots_that_leave_a_doubt_beside_decimal_commas_are_refused(
    tmp_path: Path,
) -> None:
    told = r"line 3, column 'f': '1.100' may have a dot for thousands or for decimals"
    for rows in ("a;2;0,5\nb;1.100;1\nc;3;2\n", "a;2;1,031\nb;1.100;1,5\nc;1,5;2\n"):
        with pytest.raises(ValueError, match=told):
            text_nodes(tmp_path, "id;f;g\n" + rows)
