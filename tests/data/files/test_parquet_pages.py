"""What Parquet files say they unpack to, told before anything is unpacked."""

import struct

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sgat.data.files import read_graph
from sgat.data.files.parquet_pages import chunks
from sgat.pruning.stored_table import open_table


def varint(number: int, length: int = 0) -> bytes:
    """An integer as Thrift writes it, maybe longer than it has to be."""
    found, left = bytearray(), 2 * number
    while left or len(found) < max(length, 1):
        found.append(left & 127 | 128)
        left >>= 7
    found[-1] &= 127
    return bytes(found)


def replaced(content: bytes, old: int, new: int) -> bytes:
    """The file with another number in its table of parts."""
    start = len(content) - 8 - struct.unpack("<I", content[-8:-4])[0]
    wanted = varint(old)
    footer = content[start:].replace(wanted, varint(new, len(wanted)))
    assert footer != content[start:]
    return content[:start] + footer


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("is_dictionary", [True, False])
def test_each_part_has_its_column_its_rows_and_its_bytes(
    version, is_dictionary, tmp_path
):
    table = {
        "a": np.arange(997),
        "b": [f"word {k % 7}" for k in range(997)],
        "c": [None] * 997,
        "d": [[1.0, 2.0]] * 997,
        "e": [k % 3 == 0 for k in range(997)],
    }
    path = tmp_path / "[a]*.parquet"
    given = {"use_dictionary": is_dictionary, "data_page_version": version}
    given |= {"row_group_size": 500, "data_page_size": 300, "write_batch_size": 31}
    pq.write_table(pa.table(table), path, **given)
    found, metadata = [*chunks(path)], pq.read_metadata(path)
    assert [part[0] for part in found] == [0, 1, 2, 3, 4] * 2
    assert [part[2] for part in found[5:]] == [497, 497, 497, 994, 497]
    assert {part[3] for part in found} == {500, 497}
    for place, (column, kind, _, _, unpacked) in enumerate(found):
        part = metadata.row_group(place // 5).column(column)
        assert part.physical_type == kind
        # The table counts the headers, too.
        assert unpacked <= part.total_uncompressed_size <= unpacked + 5000


@pytest.mark.parametrize("is_honest", [True, False])
def test_a_long_string_is_refused_before_it_is_unpacked(
    is_honest, tmp_path, monkeypatch
):
    path = tmp_path / "e.parquet"
    table = pa.table({"src": [1], "dst": [2], "x": ["x" * (1 << 26)]})
    pq.write_table(table, path, compression="zstd", use_dictionary=False)
    size = pq.read_metadata(path).row_group(0).column(2).total_uncompressed_size
    assert size > 1 << 26 and path.stat().st_size < 10_000
    if not is_honest:
        path.write_bytes(replaced(path.read_bytes(), size, 100))
        told = pq.read_metadata(path).row_group(0).column(2).total_uncompressed_size
        assert told == 100

    def unpack(*_, **__):
        raise AssertionError

    monkeypatch.setattr(pq.ParquetFile, "iter_batches", unpack)
    for read in (read_graph, open_table):
        with pytest.raises(ValueError, match=r"e\.parquet: .* bytes would become"):
            read(path)


def test_a_large_file_is_asked_too_what_its_strings_unpack_to(tmp_path):
    rows = 30_000
    noise = np.random.default_rng(0).integers(2**62, size=(5, rows))
    text = pa.DictionaryArray.from_arrays(
        np.zeros(rows, np.int32), pa.array(["x" * 100_000])
    )
    table = dict(zip("abcde", noise, strict=True)) | {"src": noise[0], "x": text}
    pq.write_table(pa.table(table), tmp_path / "e.parquet")
    assert (tmp_path / "e.parquet").stat().st_size > 1 << 20
    with pytest.raises(ValueError, match=r"e\.parquet: .* bytes would become"):
        open_table(tmp_path / "e.parquet")


@pytest.mark.parametrize(
    "kind", ["nested", "backwards", "endless", "past the end", "a number", "a word"]
)
def test_the_header_of_a_page_that_cannot_be_is_refused(kind, tmp_path):
    path = tmp_path / "e.parquet"
    table = pa.table({"src": ["x" * 5000], "dst": ["y"]})
    pq.write_table(table, path, use_dictionary=False, compression="none")
    content = path.read_bytes()
    made = {
        "nested": b"\x1c" * 3000,
        # Kind 0, bytes 1, compressed bytes -1.
        "backwards": b"\x15\x00\x15\x02\x15\x01\x00",
        # An integer where the sizes of the page are, and bytes where an integer is.
        "a number": b"\x15\x00\x15\x02\x15\x02\x25\x02\x00",
        "a word": b"\x15\x00\x18\x01x\x15\x02\x00",
        "endless": b"\x15" + b"\x80" * 100,
        "past the end": b"\x15\x00\x15\x02\x15" + varint(2**31 - 1) + b"\x00",
    }[kind]
    path.write_bytes(b"PAR1" + made + content[4 + len(made) :])
    with pytest.raises(ValueError, match=r"e\.parquet: the Parquet file is cut short"):
        read_graph(path)
