"""DuckDB and Spark give the same rows, whatever the rules, ids and formats."""

import contextlib
import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.prune_tables import (
    edge_table,
    node_scores,
    pairs,
    read,
    row_scores,
    write,
)
from support.spark import need_spark

import sgat
from sgat.cli import main
from sgat.pruning import Rules
from sgat.pruning.engine import start_engine
from sgat.pruning.prune_table import prune_table
from sgat.pruning.stored_table import Destination, open_table
from sgat_lab.synthetic.block_models import contextual_block_model

need_spark(whole_module=True)


@pytest.fixture(scope="module", autouse=True)
def one_session():
    """Spark starts once; the tests share its session."""
    yield
    from pyspark.sql import SparkSession

    running = SparkSession.getActiveSession()
    if running is not None:
        running.stop()


def rows(task, name, out):
    scratch = out.parent / f"scratch-{name}-{out.name}"
    scratch.mkdir()
    engine = start_engine(name, scratch=scratch, memory="1GB", master="local[2]")
    pruned = prune_table(task, engine, Destination.from_path(out), lambda stage: None)
    if name == "duckdb":
        engine.close()
    return pruned, read(out)


def assert_equal(task, tmp_path, suffix=".parquet"):
    one, first = rows(task, "duckdb", tmp_path / f"duckdb{suffix}")
    other, second = rows(task, "spark", tmp_path / f"spark{suffix}")
    assert one == other
    assert list(first.columns) == list(second.columns)
    order = list(first.columns)
    first, second = (
        frame.sort_values(order).reset_index(drop=True) for frame in (first, second)
    )
    pd.testing.assert_frame_equal(first, second, check_dtype=False, rtol=0, atol=0)
    return one


def awkward_table(path):
    """String ids, duplicates, ties, loops, missing nodes and empty cells."""
    nodes, ends = node_scores(levels=2), pairs(share=0.15)
    generator = np.random.default_rng(3)
    repeated = np.concatenate([ends, ends[generator.integers(0, len(ends), 40)]])
    frame = edge_table(nodes, repeated)
    others = pd.DataFrame(
        {
            "src": ["n03", "n01", "nobody", None, "x"],
            "note": [-1, -2, -3, -4, -5],
            "dst": ["n03", "someone", "n02", "n01", "x"],
        }
    )
    whole = pd.concat([frame, others]).sample(frac=1, random_state=0)
    return nodes, whole, write(whole, path)


MORE_RULES = [
    Rules(keep=0.31, symmetric="mean", min_degree=1, keep_connected=True),
    Rules(threshold=0.4),
    Rules(keep=0.3),
    Rules(keep=1.0),
    Rules(symmetric="max"),
    Rules(keep=0.4, symmetric="min"),
    Rules(threshold=1.0, min_degree=2),
    Rules(threshold=2.0, keep_connected=True),
    Rules(keep=0.02, min_degree=2),
]


@pytest.mark.promise
@pytest.mark.slow
@pytest.mark.parametrize("rules", [Rules(), *MORE_RULES], ids=str)
def test_both_engines_give_the_same_rows(rules, tmp_path):
    nodes, whole, table = awkward_table(tmp_path / "edges.parquet")
    protect = write(whole[["src", "dst"]][5:9].dropna(), tmp_path / "protect.csv")
    known = set(nodes.ids)
    shielded = pd.read_csv(tmp_path / "protect.csv")
    assert set(shielded["src"]) | set(shielded["dst"]) <= known
    task = nodes.task(table, rules, protect=protect, missing="keep")
    pruned = assert_equal(task, tmp_path)
    assert pruned.reasons["loop"] == 1 and pruned.reasons["missing"] == 4
    assert pruned.rows == len(whole)


@pytest.mark.slow
@pytest.mark.parametrize("what", ["vectors", "a whole graph"])
@pytest.mark.parametrize("rules", [Rules(), MORE_RULES[0]], ids=str)
def test_gates_that_see_pairs_give_the_same_rows_in_both(rules, what, tmp_path):
    _, _, table = awkward_table(tmp_path / "edges.parquet")
    nodes = (
        node_scores(rank=13) if what == "vectors" else row_scores("structure", seed=0)
    )
    pruned = assert_equal(nodes.task(table, rules, missing="keep"), tmp_path)
    assert pruned.reasons["loop"] == 1 and pruned.reasons["missing"] == 4
    assert 0 < pruned.reasons["removed"] < pruned.rows - 5


@pytest.mark.promise
@pytest.mark.slow
def test_missing_nodes_are_refused_or_dropped_by_both(tmp_path):
    nodes, whole, table = awkward_table(tmp_path / "edges.csv")
    said = []
    for name in ("duckdb", "spark"):
        out = tmp_path / f"{name}-refused.parquet"
        with pytest.raises(
            ValueError, match=f"4 of {len(whole)} rows name a node"
        ) as e:
            rows(nodes.task(table, Rules()), name, out)
        said.append(str(e.value).partition("such as")[0])
        assert not out.exists()
    assert said[0] == said[1]
    pruned = assert_equal(nodes.task(table, Rules(), missing="drop"), tmp_path)
    assert pruned.reasons["missing"] == 4


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["string", "integer"])
def test_text_in_and_out(kind, tmp_path):
    nodes, ends = node_scores(kind), pairs(share=0.05)
    frame = edge_table(nodes, ends)
    frame["note"] = [f'a "b", \n{k}' if k % 2 else None for k in range(len(frame))]
    table = write(frame, tmp_path / "edges.tsv")
    assert_equal(nodes.task(table, Rules(keep=0.5)), tmp_path, ".csv.gz")
    kinds = []
    for name in ("duckdb", "spark"):
        out = tmp_path / f"{name}-typed.parquet"
        rows(nodes.task(table, Rules()), name, out)
        kinds.append(pq.read_schema(out).field("src").type)
    assert kinds == [pa.int64() if kind == "integer" else pa.string()] * 2


@pytest.mark.promise
@pytest.mark.slow
def test_folders_in_and_out(tmp_path):
    nodes, ends = node_scores(), pairs()
    frame = edge_table(nodes, ends)
    frame["part"] = [f"0{k % 3}" for k in range(len(frame))]
    pq.write_to_dataset(
        pa.Table.from_pandas(frame), tmp_path / "in", partition_cols=["part"]
    )
    table = open_table(tmp_path / "in")
    assert_equal(nodes.task(table, Rules(keep=0.5)), tmp_path, "")
    assert all(file.suffix == ".parquet" for file in (tmp_path / "spark").iterdir())


@pytest.mark.promise
@pytest.mark.slow
def test_the_command_line_hides_what_spark_says(tmp_path):
    code = (
        "import sys; from sgat.cli import main;"
        " main(['fit', 'karate', '--epochs', '3', '--out', 'run', '--quiet',"
        " '--snapshots', '0']);"
        " sys.exit(main(['prune', 'run', '--out', 'small.csv', '--engine', 'spark',"
        " '--master', 'local[1]', '--quiet']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert (tmp_path / "small.csv").read_text().startswith("src,dst,")


@pytest.mark.promise
@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_the_judge_keeps_the_same_rows_in_both_and_in_memory(suffix, tmp_path):
    made = contextual_block_model(num_nodes=300, num_classes=3, noise_rate=0.3)
    ends = pd.DataFrame(made.data.graph.edge_index.T.numpy(), columns=["src", "dst"])
    ends = "n" + ends.astype(str)
    ends = pd.concat([ends, ends[:40], ends[:5].assign(dst=ends["src"][:5])])
    ends["note"] = [f"row {number}" for number in range(len(ends))]
    table, judged = (tmp_path / f"{name}{suffix}" for name in "ej")
    write(ends, table)
    wanted = sgat.judge(table).remove().to_pandas()
    assert 0.5 < len(wanted) / len(ends) < 0.9
    quiet = ["--quiet", "--overwrite"]
    assert main(["judge", "--edges", str(table), "--out", str(judged), *quiet]) == 0
    for engine in ("duckdb", "spark"):
        out = tmp_path / f"{engine}.parquet"
        how = ["--engine", engine, "--master", "local[2]", "--quiet"]
        assert main(["prune", "--edges", str(judged), "--out", str(out), *how]) == 0
        kept = pd.read_parquet(out).set_index("note").loc[wanted["note"]].reset_index()
        assert len(kept) == pq.read_metadata(out).num_rows
        pd.testing.assert_frame_equal(kept[wanted.columns], wanted, check_dtype=False)


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_file_names_are_no_patterns(suffix, tmp_path):
    folder = tmp_path / "f[1]*"
    folder.mkdir()
    names = ["a*", "a1", "a[1]", "a?", "a{1,2}", "a b", "a%20b", "a^}"]
    with contextlib.ExitStack() as stack:
        engines = [
            start_engine(name, scratch=folder, memory="500MB", master="local[2]")
            for name in ("spark", "duckdb")
        ]
        stack.callback(engines[1].close)
        for name in names:
            path = folder / f"{name}{suffix}"
            write(pd.DataFrame({"src": [name], "dst": ["x"]}), path)
        for engine in engines:
            engine.add("scores", pa.table({"z": [1]}))
            assert engine.query("SELECT z FROM scores") == [(1,)]
            for number, name in enumerate(names):
                engine.read(f"t{number}", open_table(folder / f"{name}{suffix}"))
                assert engine.query(f"SELECT c0, c1 FROM t{number}") == [(name, "x")]
        hidden = folder / f"_a{suffix}"
        write(pd.DataFrame({"src": ["a"], "dst": ["x"]}), hidden)
        with pytest.raises(ValueError, match="Spark skips files whose names begin"):
            engines[0].read("hidden", open_table(hidden))
