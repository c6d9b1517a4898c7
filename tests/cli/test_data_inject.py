import json

import pandas as pd
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from sgat.cli.data import data_app


@pytest.fixture
def run():
    runner = CliRunner()
    return lambda *words: runner.invoke(data_app, ["inject", *map(str, words)])


def test_the_command_writes_the_graph_and_which_edges_are_new(run, tmp_path):
    out = tmp_path / "noisy"
    done = run("karate", "--rate", "0.5", "--out", out)
    assert done.exit_code == 0
    assert done.stdout == f"78 random edges added to 156, written to {out}.\n"
    assert sorted(file.name for file in out.iterdir()) == [
        "added.parquet",
        "edges.parquet",
        "nodes.parquet",
    ]
    assert len(pq.read_table(out / "edges.parquet")) == 234
    assert len(pq.read_table(out / "added.parquet")) == 78


def test_seeds_and_kinds_choose_the_edges(run, tmp_path):
    tables = []
    for number, options in enumerate(
        [
            ["--kind", "hub", "--hubs", "3", "--rate", "0.2"],
            ["--kind", "cross-class", "--rate", "0.2"],
            ["--kind", "cross-class", "--rate", "0.2", "--seed", "1"],
            ["--kind", "cross-class", "--rate", "0.2", "--seed", "1"],
        ]
    ):
        out = tmp_path / str(number)
        assert run("karate", *options, "--out", out).exit_code == 0
        tables.append(pq.read_table(out / "added.parquet"))
    assert not tables[0].equals(tables[1])
    assert not tables[1].equals(tables[2])
    assert tables[2].equals(tables[3])


def test_json_tells_machines_what_was_done(run, tmp_path):
    done = run("karate", "--kind", "cross-class", "--out", tmp_path / "a", "--json")
    result = json.loads(done.stdout)
    assert [result[key] for key in ("name", "kind", "rate", "seed")] == [
        "karate",
        "cross-class",
        1.0,
        0,
    ]
    assert (result["edges"], result["added"]) == (312, 156)
    assert len(result["files"]) == 3


def test_no_room_is_an_error_and_writes_nothing(run, tmp_path):
    done = run("karate", "--rate", "9", "--out", tmp_path / "a")
    assert str(done.exception) == (
        "'karate' has no room for 702 new random pairs; lower `rate`, which was 9.0."
    )
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_kind_is_wrong_usage(run, tmp_path):
    assert run("karate", "--kind", "spam", "--out", tmp_path / "a").exit_code == 2
    assert run("karate").exit_code == 2


def test_files_keep_their_rows_and_get_new_ones(run, tmp_path):
    ids = [f"n{k}" for k in range(12)]
    edges = pd.DataFrame({"von": ids, "nach": ids[1:] + ids[:1], "weight": 2, "on": 7})
    edges.to_csv(tmp_path / "e.csv", index=False)
    nodes = pd.DataFrame(
        {"id": ids, "name": [f"x {k}" for k in ids], "y": ["p", "q"] * 6}
    )
    nodes.to_csv(tmp_path / "n.csv", index=False)
    files = ["--edges", tmp_path / "e.csv", "--src", "von", "--dst", "nach"]
    files += ["--nodes", tmp_path / "n.csv", "--label", "y", "--undirected"]
    out = tmp_path / "noisy"
    done = run(*files, "--kind", "cross-class", "--rate", "0.5", "--out", out)
    assert done.exit_code == 0, done.exception
    assert done.stdout.startswith("6 cross-class rows added to 12, written to ")
    found, added = (pd.read_parquet(out / f"{x}.parquet") for x in ("edges", "added"))
    pd.testing.assert_frame_equal(found[:12], edges, check_dtype=False)
    assert found[12:][["von", "nach"]].values.tolist() == added.values.tolist()
    assert len(added) == 6 and (found["weight"][12:] == 1).all()
    assert found["on"][12:].isna().all()
    pd.testing.assert_frame_equal(
        pd.read_parquet(out / "nodes.parquet"), nodes, check_dtype=False
    )
    done = run(*files[:6], "--kind", "cross-class", "--out", tmp_path / "b")
    assert "`kind` cross-class needs classes" in str(done.exception)
