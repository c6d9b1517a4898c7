"""Rows of files judged in batches, against the same tables judged in memory."""

import gzip
import os
import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sgat
from sgat.cli import main
from sgat.data.files import binary_format, csv_format, stored_edges
from sgat.judging import judged_rows, matrices, memory, signals
from sgat.ops import blocks
from sgat.ops.cpu import common_neighbours

ROWS = 401


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    """Every file has several batches."""
    monkeypatch.setattr(stored_edges, "ROWS", 67)
    monkeypatch.setattr(csv_format, "BLOCK_SIZE", 2048)


def made(ids=int) -> pd.DataFrame:
    """Edges with repeats, both directions and loops, and columns of every type."""
    rng = np.random.default_rng(0)
    block = np.arange(60) % 3
    src, dst = rng.integers(0, 60, (2, 9 * ROWS))
    kept = (block[src] == block[dst]) | (rng.random(9 * ROWS) < 0.05)
    src, dst = src[kept][:ROWS], dst[kept][:ROWS]
    src[7], dst[300:310] = dst[7], src[300:310]
    name = {int: lambda v: v, str: lambda v: [f"n{k:x}" for k in v]}
    name["wide"] = lambda v: v * 10**12 - 3
    columns = {"src": name[ids](src), "dst": name[ids](dst)}
    columns |= {"weight": rng.random(ROWS), "code": [f"{k:03d}" for k in range(ROWS)]}
    columns["late"] = [*range(ROWS - 1), 0.5]
    return pd.DataFrame(
        columns | {"size": range(ROWS), "word": ["a", None] * 200 + [""]}
    )


def write(table: pd.DataFrame, path) -> None:
    if path.suffix == ".parquet":
        table.to_parquet(path, row_group_size=100)
    else:
        table.to_csv(path, index=False, sep="\t" if ".tsv" in path.name else ",")


def judged(path, *words: str) -> pa.Table:
    out = path.parent / "judged.parquet"
    given = ["--edges", str(path), "--out", str(out), "--quiet", "--overwrite"]
    assert main(["judge", *given, *words]) == 0
    return pq.read_table(out)


@pytest.mark.parametrize("ids", [int, str, "wide"])
@pytest.mark.parametrize("name", ["e.csv", "e.tsv", "e.csv.gz", "e.parquet"])
@pytest.mark.parametrize("undirected", [True, False])
def test_batches_give_what_a_table_in_memory_gives(tmp_path, ids, name, undirected):
    path = tmp_path / name
    write(made(ids), path)
    words = ["--undirected"] * undirected
    found = judged(path, "--at-most-wrong", "0.3", *words)
    whole = sgat.judge(path, undirected=undirected)
    wanted = whole.table(whole.choose(at_most_wrong=0.3))
    assert found.schema.equals(wanted.schema) and len(found) == ROWS
    for column in wanted.column_names:
        one, other = (table.column(column).to_pylist() for table in (found, wanted))
        assert one == (pytest.approx(other, abs=1e-6) if column[0] == "p" else other)


def test_pruned_rows_are_those_that_are_not_removed(tmp_path):
    path, small = tmp_path / "e.csv", tmp_path / "small.parquet"
    write(made(), path)
    table = judged(path, "--find-at-least", "0.5", "--pruned", str(small))
    stays = pa.compute.invert(table.column("removed"))
    assert stays.to_pylist().count(False) > 0
    assert pq.read_table(small).equals(table.filter(stays).drop_columns(["removed"]))


def test_ids_written_with_a_point_are_those_of_the_node_file(tmp_path):
    edges = made()
    edges["src"] = edges["src"].astype(float)
    write(edges, tmp_path / "e.csv")
    pd.DataFrame({"id": range(60)}).to_csv(tmp_path / "n.csv", index=False)
    found = judged(tmp_path / "e.csv", "--nodes", str(tmp_path / "n.csv"))
    assert found.column("src").type == pa.int64()
    assert found.column("src").to_pylist() == made()["src"].tolist()


def test_a_decimal_comma_that_shows_late_holds_for_all_rows(tmp_path):
    edges = made()
    lines = edges.to_csv(index=False, sep=";", decimal=",")
    (tmp_path / "e.csv").write_text(lines)
    found = judged(tmp_path / "e.csv")
    assert found.column("weight").to_pylist() == pytest.approx(edges["weight"].tolist())


@pytest.mark.parametrize(
    ("column", "row", "value", "sentence"),
    [
        ("src", 350, None, "e.csv, line 352, column 'src': the id is missing"),
        (
            "weight",
            350,
            -2.5,
            "e.csv, line 352, column 'weight': must be a number from",
        ),
        (
            "weight",
            350,
            "no",
            "e.csv, line 352, column 'weight': must be a number, got",
        ),
        ("dst", 350, 77, "e.csv, line 352, column 'dst': 77 is not an id of "),
        ("dst", 350, "x", "e.csv, line 352, column 'dst': must be an integer like"),
        ("weight", slice(None), 0, "must be above 0 in some row, got 0 in all 401"),
    ],
)
def test_a_mistake_in_a_late_batch_is_named_with_its_row(
    tmp_path, capsys, column, row, value, sentence
):
    edges = made().astype({column: object, "src": "Int64"})
    edges.loc[row, column] = value
    write(edges, tmp_path / "e.csv")
    pd.DataFrame({"id": range(60)}).to_parquet(tmp_path / "n.parquet")
    words = ["--nodes", str(tmp_path / "n.parquet"), "--out", str(tmp_path / "o.csv")]
    assert main(["judge", "--edges", str(tmp_path / "e.csv"), *words, "--quiet"]) == 1
    told = capsys.readouterr().err
    assert sentence in told and told.count("\n") == 1
    assert not (tmp_path / "o.csv").exists()


@pytest.mark.parametrize("name", ["e.csv", "e.parquet"])
def test_a_file_that_changes_meanwhile_is_refused(tmp_path, name, monkeypatch, capsys):
    path = tmp_path / name
    write(made(), path)
    assess = sgat.judging.edge_judge.assess

    def meanwhile(*given, **options):
        os.utime(path, (1, 1))
        return assess(*given, **options)

    monkeypatch.setattr(sgat.judging.edge_judge, "assess", meanwhile)
    words = ["--out", str(tmp_path / "o.csv"), "--quiet"]
    assert main(["judge", "--edges", str(path), *words]) == 1
    told = capsys.readouterr().err
    assert told.startswith(f"error: {path}: the file was changed while it was read")
    assert not (tmp_path / "o.csv").exists()


def test_a_compressed_table_is_read_as_it_is_unpacked(tmp_path):
    plain, packed = tmp_path / "e.csv", tmp_path / "f.csv.gz"
    write(made(), plain)
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    assert judged(plain).equals(judged(packed))


@pytest.mark.parametrize("partition", ["", "year=2024"])
def test_a_folder_of_parquet_files_is_one_table(partition, tmp_path, capsys):
    edges, folder = made(), tmp_path / "edges"
    for number, part in enumerate([edges[:150], edges[150:151], edges[151:]]):
        place = folder / partition / f"part-{number}.parquet"
        place.parent.mkdir(parents=True, exist_ok=True)
        part.to_parquet(place, index=False)
    (folder / "_SUCCESS").touch()
    edges.to_parquet(tmp_path / "e.parquet", index=False)
    found, whole = judged(folder), judged(tmp_path / "e.parquet")
    if partition:
        assert found.column("year").to_pylist() == ["2024"] * len(edges)
        found = found.drop_columns(["year"])
    assert found.equals(whole)
    inside = ["judge", "--edges", str(folder), "--out", str(folder / "j.parquet")]
    assert main(inside) == 1
    assert "must not be in the folder of `--edges`" in capsys.readouterr().err
    outside = ["judge", "--edges", str(folder), "--out", str(tmp_path / "j.csv")]
    for other in (edges.rename(columns={"dst": "to"}), edges.astype({"dst": str})):
        other.to_parquet(folder / partition / "z.parquet", index=False)
        assert main(outside) == 1
        said = capsys.readouterr().err
        assert "z.parquet: other columns, or columns of other types, than" in said
    assert not (tmp_path / "j.csv").exists()


def block_files(folder, rows: int) -> list[str]:
    """Edges, most of them within blocks and some twice, and nodes with labels."""
    rng, size = np.random.default_rng(1), 1200
    block = rng.integers(0, 3, size)
    src, dst = rng.integers(0, size, (2, 8 * rows))
    kept = (block[src] == block[dst]) | (rng.random(8 * rows) < 0.1)
    edges = pd.DataFrame({"src": src[kept][:rows], "dst": dst[kept][:rows]})
    edges.iloc[:50] = edges.iloc[50:100, ::-1]
    edges.to_parquet(folder / "e.parquet", index=False)
    nodes = pd.DataFrame(
        rng.normal(size=(size, 5)) + block[:, None], columns=[*"abcde"]
    )
    nodes["y"] = np.where(rng.random(size) < 0.3, [f"c{k}" for k in block], None)
    nodes.assign(id=range(size)).to_parquet(folder / "n.parquet", index=False)
    return ["--edges", str(folder / "e.parquet"), "--quiet", "--overwrite", "--json"]


@pytest.mark.parametrize("with_nodes", [False, True])
def test_arrays_on_disk_give_the_same_bits(
    tmp_path, monkeypatch, capsys, caplog, with_nodes
):
    words = block_files(tmp_path, 20_000)
    if with_nodes:
        words += ["--nodes", str(tmp_path / "n.parquet"), "--label", "y"]
    words += ["--find-at-least", "0.4", "--pruned", str(tmp_path / "p.parquet")]
    monkeypatch.setattr(stored_edges, "ROWS", 3000)

    def found(*more: str) -> tuple[pa.Table, pa.Table, str]:
        assert main(["judge", *words, "--out", str(tmp_path / "j.parquet"), *more]) == 0
        told = capsys.readouterr().out.split('"written"')[0]
        tables = (pq.read_table(tmp_path / f"{name}.parquet") for name in "jp")
        return *tables, told

    wanted = found()
    # A limit that the nodes fit in and the edges do not, and small parts everywhere.
    monkeypatch.setattr(memory, "BLOCKS", 0)
    monkeypatch.setattr(memory, "OF_EDGE", 10**5)
    monkeypatch.setattr(blocks, "SHORT", 0)
    monkeypatch.setattr(matrices, "AT_ONCE", 777)
    monkeypatch.setattr(signals, "PART", 5000)
    monkeypatch.setattr(signals, "KEPT", 100)
    monkeypatch.setattr(common_neighbours, "FILLED", 9000)
    mapped = []
    room = blocks.mmap.mmap
    monkeypatch.setattr(
        blocks.mmap,
        "mmap",
        lambda *given, **how: mapped.append(given[1]) or room(*given, **how),
    )
    again = found("--memory", "500MB")
    assert "edges do not fit in memory: they go to the disk of" in caplog.text
    assert sum(mapped) > 20_000 * 60
    assert {part.name for part in tmp_path.iterdir()} == {
        *("e.parquet", "n.parquet", "j.parquet", "p.parquet")
    }
    for one, other in zip(wanted, again, strict=True):
        assert one == other if isinstance(one, str) else one.equals(other)


def test_edges_come_between_two_parts_of_the_nodes_at_a_time(monkeypatch):
    rng = np.random.default_rng(0)
    key = np.unique(np.sort(rng.integers(0, 300, (2, 4000)), axis=0).T, axis=0)
    low, high = key[key[:, 0] < key[:, 1]].T
    edges = matrices.EdgeNumbers.of(low.astype(np.int64) * 300 + high, 300)
    numbers = matrices.numbered(edges.ends, 300)
    of = signals.Signals(edges.ends, numbers, None, (), np.full(300, -1), seed=0)
    monkeypatch.setattr(signals, "PART", 1000)
    bounds = np.searchsorted(numbers.indptr, np.arange(1000, numbers.nnz, 1000))
    parts = [*of.blocks()]
    assert len(parts) > len(bounds) > 3
    assert sorted(np.concatenate(parts)) == [*range(len(low))]
    for part in parts:
        for end in edges.ends[:, part]:
            assert len(np.unique(np.searchsorted(bounds, end, side="right"))) == 1


def test_what_has_no_room_on_the_disk_is_refused(tmp_path, monkeypatch, capsys):
    words = block_files(tmp_path, 2000)
    monkeypatch.setattr(memory, "OF_EDGE", 10**12)
    assert main(["judge", *words, "--out", str(tmp_path / "j.csv")]) == 1
    told = capsys.readouterr().err
    assert re.search(
        rf"^error: Judging 2,000 edges takes about .* on the disk of {tmp_path}, and"
        r" .* are free; write `--out` to a disk with more room, or let it take more"
        r" `--memory`\.$",
        told,
    )
    assert not (tmp_path / "j.csv").exists()


def test_nodes_that_do_not_fit_are_refused(tmp_path, capsys):
    words = [*block_files(tmp_path, 2000), "--out", str(tmp_path / "j.csv")]
    assert main(["judge", *words, "--memory", "100MB"]) == 1
    assert "and 0.1 GiB are free; its nodes do not fit" in capsys.readouterr().err
    assert main(["judge", *words, "--memory", "much"]) == 1
    assert "`--memory` must be at least 100MB" in capsys.readouterr().err


@pytest.mark.parametrize("source", ["file", "folder"])
def test_a_folder_of_parts_is_written(tmp_path, monkeypatch, source, capsys):
    monkeypatch.setattr(binary_format, "PART", 130)
    table, whole = tmp_path / "e.parquet", tmp_path / "whole.parquet"
    edges, out = made(), tmp_path / "judged"
    write(edges, table)
    if source == "folder":
        table = tmp_path / "edges"
        table.mkdir()
        edges[:100].to_parquet(table / "a.parquet", index=False)
        edges[100:].to_parquet(table / "b.parquet", index=False)
    words = ["--edges", str(table), "--find-at-least", "0.5", "--quiet"]
    small = ["--pruned", str(tmp_path / "small")]
    assert main(["judge", *words, "--out", str(whole)]) == 0
    assert main(["judge", *words, *small, "--out", str(out)]) == 0
    parts = sorted(out.iterdir())
    assert [part.name for part in parts] == [f"part-{k:05}.parquet" for k in range(3)]
    wanted = pq.read_table(whole)
    assert pa.concat_tables(map(pq.read_table, parts)).equals(wanted)
    assert len(pq.read_table(tmp_path / "small")) < ROWS
    assert main(["judge", *words, "--out", str(out)]) == 1
    assert "exists already; choose another `--out`" in capsys.readouterr().err
    again = [*words, "--overwrite", "--out", str(out)]
    (parts[0] / ".." / "mine.txt").resolve().touch()
    assert main(["judge", *again]) == 1
    assert "holds mine.txt; choose another `--out`" in capsys.readouterr().err
    (out / "mine.txt").unlink()
    monkeypatch.setattr(binary_format, "PART", 10**6)
    assert main(["judge", *again]) == 0
    assert [part.name for part in out.iterdir()] == ["part-00000.parquet"]
    before = sorted(part.name for part in tmp_path.iterdir())
    assert main(["judge", *words, "--overwrite", "--out", str(tmp_path)]) == 1
    assert "`--out` must not be" in capsys.readouterr().err
    assert sorted(part.name for part in tmp_path.iterdir()) == before


def test_after_an_error_a_folder_is_as_it_was(tmp_path, monkeypatch, capsys):
    table, out = tmp_path / "e.parquet", tmp_path / "judged"
    write(made(), table)
    words = ["judge", "--edges", str(table), "--quiet", "--out", str(out)]
    assert main(words) == 0
    before = [(part.name, part.read_bytes()) for part in out.iterdir()]

    def broken(*_: object) -> None:
        raise OSError(28, "No space left on device", "x")

    monkeypatch.setattr(judged_rows, "_with", broken)
    assert main([*words, "--overwrite"]) == 1
    assert [(part.name, part.read_bytes()) for part in out.iterdir()] == before
    assert {part.name for part in tmp_path.iterdir()} == {"e.parquet", "judged"}


def test_a_judged_folder_is_a_table_like_a_file(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(binary_format, "PART", 130)
    monkeypatch.chdir(tmp_path)
    write(made(), tmp_path / "e.parquet")
    for out in ("one.parquet", "many"):
        assert main(["judge", "--edges", "e.parquet", "--quiet", "--out", out]) == 0
        rule = ["--keep", "0.6", "--keep-connected", "--quiet"]
        kept = f"kept-{out.split('.')[0]}.parquet"
        assert main(["prune", "--edges", out, "--out", kept, *rule]) == 0
    one, many = (pd.read_parquet(f"kept-{name}.parquet") for name in ("one", "many"))
    assert one.equals(many) and 0 < len(many) < ROWS
    one, many = (sgat.judge(name).table() for name in ("one.parquet", "many"))
    assert one.equals(many)
    assert main(["data", "info", "--edges", "many"]) == 0
    bad = pq.read_table("many/part-00001.parquet")
    place, value = bad.column_names.index("probability"), np.full(len(bad), 0.5, "f4")
    value[3] = 1.5
    bad = bad.set_column(place, "probability", pa.array(value))
    pq.write_table(bad, "many/part-00001.parquet")
    capsys.readouterr()
    assert main(["prune", "--edges", "many", "--out", "b.parquet", *rule]) == 1
    told = capsys.readouterr().err
    assert "column 'probability': must be a number from 0 to 1, got 1.5" in told
    assert "many, row " in told
