import gzip

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sgat.data.files import csv_format
from sgat.data.files.atomic import overlaps
from sgat.pruning.stored_table import Destination, open_table


def test_columns_and_kinds_of_every_format(tmp_path):
    frame = pd.DataFrame({"src": ["a"], "dst": [1], "weight": [0.5]})
    frame.to_parquet(tmp_path / "e.pq")
    frame.to_csv(tmp_path / "e.csv", index=False)
    frame.to_csv(tmp_path / "e.tsv.gz", index=False, sep="\t")
    for name in ("e.pq", "e.csv", "e.tsv.gz"):
        table = open_table(tmp_path / name)
        assert table.columns == ("src", "dst", "weight")
        kinds = [table.kind("src"), table.kind("dst")]
        assert kinds == (["string", "integer"] if name == "e.pq" else ["text"] * 2)
    assert table.delimiter == "\t"
    with pytest.raises(ValueError, match="ids must be integers or strings, got double"):
        open_table(tmp_path / "e.pq").kind("weight")
    coded = pa.table({"src": pa.array(["a"]).dictionary_encode()})
    pq.write_table(coded, tmp_path / "coded.parquet")
    assert open_table(tmp_path / "coded.parquet").kind("src") == "string"


def test_a_byte_order_mark_is_skipped(tmp_path):
    path = tmp_path / "e.csv"
    path.write_bytes("\ufeffsrc,dst\n1,2\n".encode())
    assert open_table(path).columns == ("src", "dst")


def test_folders_list_their_files_and_leave_hidden_ones_out(tmp_path):
    frame = pd.DataFrame({"src": [1], "dst": [2]})
    for name in ("b.parquet", "a.parquet", "_temporary.parquet", ".x.parquet"):
        frame.to_parquet(tmp_path / name)
    table = open_table(tmp_path)
    assert [file.name for file in table.files] == ["a.parquet", "b.parquet"]


def test_a_column_that_names_of_folders_would_replace_is_refused(tmp_path):
    (tmp_path / "src=7").mkdir()
    frame = pd.DataFrame({"src": [1], "dst": [2]})
    frame.to_parquet(tmp_path / "src=7" / "a.parquet")
    with pytest.raises(ValueError, match="'src' is in the files and in the names of"):
        open_table(tmp_path)


def test_a_small_file_that_asks_an_engine_for_much_memory_is_refused(tmp_path):
    place = pa.array([0] * 30_000, pa.int32())
    text = pa.DictionaryArray.from_arrays(place, pa.array(["x" * 100_000]))
    pq.write_table(pa.table({"src": [1] * 30_000, "x": text}), tmp_path / "e.parquet")
    assert (tmp_path / "e.parquet").stat().st_size < 200_000
    with pytest.raises(ValueError, match=r"e\.parquet: .* bytes would become"):
        open_table(tmp_path / "e.parquet")


def test_a_header_without_end_is_read_in_part(tmp_path, monkeypatch):
    monkeypatch.setattr(csv_format, "BLOCK_SIZE", 100)
    path = tmp_path / "e.csv.gz"
    with gzip.open(path, "wb") as file:
        file.write(b"x" * 10**6)
    assert open_table(path).columns == ("x" * 100,)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("e.txt", b"x", r"cannot use the suffix '.txt' here; choose .parquet"),
        ("e.parquet.gz", b"x", r"cannot use the suffix '.gz'"),
        ("e.csv", b"", "the file is empty"),
        ("e.csv", b"\n\n", "no header line"),
        ("e.csv", b"\nsrc,dst\na,b\n", "no header line"),
        ("e.csv", b"a,b,a\n", "column 'a' occurs more than once"),
        (
            "e.csv",
            ",".join(map(str, range(10_001))).encode(),
            "must have 1 to 10,000 columns, each",
        ),
        ("e.csv", b"src,SRC\n", "'src' and 'SRC' differ by case alone"),
        ("e.csv", b"\xff\xfe\n", "line 1: not UTF-8"),
        ("e.parquet", b"PAR1xxPAR1", "cut short or damaged"),
        ("e.csv.gz", b"no gzip", "not a readable text table"),
        ("e.csv.gz", b"\x1f\x8b\x08" + bytes(20), "not a readable text table"),
    ],
)
def test_what_is_no_table_is_refused(name, content, message, tmp_path):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(ValueError, match=message):
        open_table(path)


@pytest.mark.parametrize("names", [[], ["src", "dst", ""]])
def test_columns_without_a_name_are_refused(names, tmp_path):
    """A database calls them a syntax error."""
    table = pa.table([[0]] * len(names), names=names)
    pq.write_table(table, tmp_path / "e.parquet")
    with pytest.raises(ValueError, match=r"e\.parquet: must have 1 to 10,000 columns,"):
        open_table(tmp_path / "e.parquet")


def test_a_folder_without_tables_is_refused(tmp_path):
    with pytest.raises(ValueError, match="the folder holds no Parquet file"):
        open_table(tmp_path)
    with pytest.raises(OSError, match="No such file"):
        open_table(tmp_path / "gone.csv")


@pytest.mark.parametrize(
    ("name", "format", "is_folder", "compression"),
    [
        ("o.parquet", "parquet", False, None),
        ("o.CSV", "csv", False, None),
        ("o.tsv.gz", "tsv", False, "gzip"),
        ("o.csv.zst", "csv", False, "zstd"),
        ("out", "parquet", True, None),
    ],
)
def test_destinations_go_by_their_names(name, format, is_folder, compression, tmp_path):
    found = Destination.from_path(tmp_path / name)
    between = "\t" if format == "tsv" else ","
    expected = tmp_path / name, format, is_folder, compression, between
    assert found == Destination(*expected)
    chosen = Destination.from_path(tmp_path / name, delimiter=";")
    assert (chosen.delimiter == ";") == (not is_folder)


def test_paths_that_overlap(tmp_path):
    (tmp_path / "a.csv").write_text("x")
    (tmp_path / "b.csv").hardlink_to(tmp_path / "a.csv")
    (tmp_path / "c.csv").symlink_to(tmp_path / "a.csv")
    assert overlaps(tmp_path / "a.csv", tmp_path / "b.csv")
    assert overlaps(tmp_path / "a.csv", tmp_path / "c.csv")
    assert overlaps(tmp_path / "new", tmp_path / "new" / "part.parquet")
    assert not overlaps(tmp_path / "a.csv", tmp_path / "d.csv")


def test_text_under_gzip_is_read_to_its_header(tmp_path):
    with gzip.open(tmp_path / "e.csv.gz", "wt") as file:
        file.write('"a ""b""",dst\n')
    assert open_table(tmp_path / "e.csv.gz").columns == ('a "b"', "dst")
