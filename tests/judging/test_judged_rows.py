"""Rows of files judged in batches, against the same tables judged in memory."""

import gzip
import os

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sgat
from sgat.cli import main
from sgat.data.files import csv_format, stored_edges

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
