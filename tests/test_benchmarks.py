import csv
import importlib
import os
import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import torch
from pyarrow.parquet import read_table

from sgat.runs.finished_run import open_run
from sgat_lab.synthetic.reddit_shaped import NUM_EDGES, reddit_shaped

ROOT = Path(__file__).parents[1]


@pytest.fixture
def script(monkeypatch):
    """The scripts as modules: they are no part of the package."""
    monkeypatch.syspath_prepend(ROOT)
    return lambda name: importlib.import_module(f"benchmarks.{name}")


def read(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


# A script in a process of its own, for 18 seconds.
@pytest.mark.slow
def test_the_sweep_prints_a_table_and_appends_rows_that_the_plot_draws(tmp_path):
    run = [sys.executable, "-W", "error", "-m"]
    sweep = [*run, "benchmarks.sweep", "--edges", "2e3", "--results", str(tmp_path)]
    options = ["--open", "100", "20", "--peers", "torch CSR matmul", "--repeats", "3"]
    done = subprocess.run(
        [*sweep, *options],
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert "[3/3] 1,866 edges, SGAT 20 %: " in done.stderr
    rows = read(tmp_path / "sweep.csv")
    assert [row["name"] for row in rows] == ["torch CSR matmul", "SGAT", "SGAT"]
    assert [row["open_edges"] for row in rows] == ["1866", "1866", "373"]
    for row in rows:
        assert row["status"] == "ok" and row["commit"] and row["date"]
        assert 0 < float(row["p20"]) <= float(row["ms"]) <= float(row["p80"])
        # Torch alone resides in more than a tenth of a GiB.
        assert 0.1 < float(row["peak_gib"]) < 4
    lines = done.stdout.splitlines()
    assert lines[0].split()[:4] == ["name", "edges", "open", "captured"]
    assert len(lines) == 5


def test_an_epoch_with_a_share_to_keep_stands_beside_one_without(
    script, monkeypatch, tmp_path
):
    keep_epoch = script("keep_epoch")
    given = {"--device": "cpu", "--scale": "0.002", "--epochs": "1"}
    given["--results"] = str(tmp_path)
    words = [word for pair in given.items() for word in pair]
    monkeypatch.setattr(sys, "argv", ["keep_epoch", *words])
    monkeypatch.setattr("sgat.judging.EdgeJudge.log_odds", None)
    keep_epoch.main()
    rows = read(tmp_path / "keep_epoch.csv")
    assert [row["name"] for row in rows] == ["lambda", "keep", "keep, judged", "border"]
    assert all(float(row["seconds"]) > 0 and row["commit"] for row in rows)


def test_what_a_rank_adds_is_told_against_none_and_against_the_peer(script):
    pairs = script("pairs")
    usual = {"what": "step", "edges": 7, "open": 20, "rank": 0, "ms": 2.0}
    rows = [
        usual,
        usual | {"rank": 16, "ms": 3.0},
        usual | {"edges": 28, "rank": 16, "ms": 9.0},
        {"what": "step of GATConv", "edges": 7, "open": "", "rank": "", "ms": 30.0},
    ]
    pairs.compare(rows)
    assert [line.get("added", "") for line in rows] == ["", "50%", "", ""]
    assert [line.get("over_peer", "") for line in rows] == [15.0, 10.0, "", ""]


def row(**given):
    usual = {"name": "SGAT", "open": 100, "captured": False, "edges": 1000}
    usual |= {"open_edges": 1000, "ms": 3.0, "status": "ok", "device": "2 CPU threads"}
    return usual | given


def write(path, rows):
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def test_the_plot_is_drawn_from_the_last_timed_rows(script, tmp_path, capsys):
    plot = script("plot")
    path, out = tmp_path / "sweep.csv", tmp_path / "images" / "step_time.png"
    rows = [row(ms=9.0), row()]
    rows += [row(open=20, open_edges=200, ms=2.0)]
    rows += [row(name="GATConv", open="", ms=30.0)]
    rows += [row(name="GCNConv", open="", ms="", status="out of memory")]
    large = {"edges": 114_615_892, "open_edges": 114_615_892, "device": "NVIDIA H200"}
    rows += [row(**large), row(**large, ms=1.0, captured=True)]
    write(path, rows)
    kept = plot.last_rows(path)
    assert sorted(kept["ms"]) == [1.0, 2.0, 3.0, 3.0, 30.0]
    plot.main(["--results", str(path), "--out", str(out)])
    assert out.read_bytes().startswith(b"\x89PNG")
    # Width and height stand in the first chunk.
    assert int.from_bytes(out.read_bytes()[16:20], "big") == 1400
    assert capsys.readouterr().out == "drew step_time.png\n"


def test_the_plot_says_what_is_missing(script, tmp_path, capsys):
    plot = script("plot")
    path = tmp_path / "sweep.csv"
    with pytest.raises(SystemExit):
        plot.main(["--results", str(path)])
    assert "No rows at sweep.csv; run `python -m" in capsys.readouterr().err
    write(path, [row(ms="", status="out of memory")])
    with pytest.raises(ValueError, match=r"sweep\.csv has no row that was timed"):
        plot.last_rows(path)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (9780, "$9.8·10^3$"),
        (99_714, "$10^5$"),
        (1_000_000, "$10^6$"),
        (114_615_892, "$1.1·10^8$"),
    ],
)
def test_sizes_are_labelled_as_powers_of_ten(script, number, text):
    assert script("plot").power(number) == text


@pytest.mark.parametrize("num_edges", [1e4, 1e5])
def test_a_graph_has_about_the_edges_asked_for(script, num_edges):
    scale = script("sweep").scale_for(num_edges)
    graph = reddit_shaped(scale=scale, features=False).data.graph
    assert graph.num_edges == pytest.approx(num_edges, rel=0.05)


def test_the_largest_graph_is_the_whole_one(script):
    assert script("sweep").scale_for(NUM_EDGES) == 1.0


def test_what_does_not_fit_is_told_from_other_faults(script):
    sweep = script("sweep")
    assert sweep.fault(torch.OutOfMemoryError("CUDA")) == "out of memory"
    assert sweep.fault(MemoryError()) == "out of memory"
    try:
        torch.empty(2**60, dtype=torch.uint8)
    except RuntimeError as error:
        assert sweep.fault(error) == "out of memory"
    assert (
        sweep.fault(RuntimeError("no such kernel\nstack")) == "failed: no such kernel"
    )
    assert sweep.fault_of(["LLVM ERROR: out of memory"]) == "out of memory"


def test_dgl_is_asked_for_in_a_sentence(script, tmp_path):
    time_layer = script("dgl_peer").time_layer
    edges = torch.tensor([[0, 1], [1, 0]])
    with pytest.raises(ValueError, match="needs a Python with DGL, found none at"):
        time_layer(edges, 2, str(tmp_path / "python"))
    broken = tmp_path / "python"
    broken.write_text("#!/bin/sh\necho 'ImportError: no dgl' >&2\nexit 1\n")
    broken.chmod(0o755)
    with pytest.raises(ValueError, match=r"timed with .*: ImportError: no dgl$"):
        time_layer(edges, 2, str(broken))


def test_the_calibration_error_worked_out_by_hand(script):
    # Bins of .1: (.02, .08) says .05 and is .5; .55 is 1; (.92, .98, 1.) are 2/3.
    probability = torch.tensor([0.02, 0.08, 0.55, 0.92, 0.98, 1.0])
    is_real = torch.tensor([0, 1, 1, 1, 0, 1]).bool()
    expected = (2 * 0.45 + 0.45 + 3 * (2.9 / 3 - 2 / 3)) / 6
    found = script("evidence").calibration_error(probability, is_real)
    assert found == pytest.approx(expected, abs=1e-6)


# A script in a process of its own, for 6 seconds.
@pytest.mark.slow
def test_decisions_of_evidence_are_counted_and_appended(script, tmp_path):
    done = subprocess.run(
        [
            *(sys.executable, "-W", "error", "-m", "benchmarks.evidence"),
            *("--only", "decisions", "--data", "block-5", "--seeds", "100"),
            *("--results", str(tmp_path)),
        ],
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    rows = read(tmp_path / "evidence.csv")
    assert [row["rate"] for row in rows] == 2 * [
        "0.0",
        "0.1",
        "0.3",
        "0.5",
        "0.7",
        "0.9",
    ]
    labelled, dealt = rows[:6], rows[6:]
    assert {row["decision"] for row in labelled} <= {"diffusion", "beliefs"}
    assert {row["decision"] for row in dealt} == {"nobody"}
    assert float(labelled[0]["assortativity"]) == pytest.approx(1)
    assert "decisions, block-5, shuffled labels: nobody 6" in done.stdout


def test_the_errors_of_evidence_are_told_with_their_range(script):
    row = {"what": "calibration", "data": "cora", "noise": "random", "rate": 0.5}
    rows = [row | {"error": 0.01}, row | {"error": 0.03}]
    told = ["calibration error, cora, random 50%: 0.020 (0.010 to 0.030, 2 seeds)"]
    assert script("evidence").summary(rows) == told


def test_reading_a_run_back_takes_little_more_than_its_table(script, tmp_path):
    size = 300_000
    script("report_memory").make_run(tmp_path / "run", size, 20_000, "shuffled")
    opened = open_run(tmp_path / "run")
    table = read_table(opened.folder.edges)
    tracemalloc.start()
    (found,) = opened.stored()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found.data.graph.num_edges == opened.summary["edges"] > 0.9 * size
    assert peak < 1.5 * table.nbytes


def test_the_cost_of_judging_is_that_of_the_command(script, tmp_path, monkeypatch):
    cost = script("judge_cost")
    sizes = ["--edges", "600", "--nodes", "300", "--classes", "3"]
    monkeypatch.setattr(sys, "argv", ["judge_cost", *sizes, "--results", str(tmp_path)])
    cost.main()
    (row,) = csv.DictReader((tmp_path / "judge_cost.csv").read_text().splitlines())
    assert row["edges"] == "600" and float(row["processor"]) > 0
    assert 100 < float(row["peak_mib"]) < 4000


def test_a_table_of_candidates_is_chosen_without_the_group(script):
    left_out = script("left_out")
    # Validation likes the second setting, tests like the first, but for the last case.
    quality = np.array([[0.5, 0.9], [0.5, 0.9], [0.5, 0.9]])
    test = np.array([[80.0, 60.0], [80.0, 60.0], [60.0, 80.0]])
    assert left_out.chosen(quality[:2], test[:2], size=1) == [0]
    assert left_out.picked(quality[2:], test[2:], [0]) == 60
    assert left_out.picked(quality[2:], test[2:], [0, 1]) == 80
    assert left_out.chosen(quality[2:], test[2:], size=2) == [1, 0]


@pytest.mark.parametrize("kind", ["easy", "hard"])
def test_tables_to_fit_are_what_they_say(script, kind, tmp_path):
    fit_table = script("fit_table")
    given = {"rows": 20_000, "nodes": 3_000, "seed": 3, "kind": kind}
    paths = fit_table.write_files(tmp_path, **given, format="parquet")
    edges, nodes = (read_table(paths[place]).to_pandas() for place in (1, 3))
    assert len(edges) == 20_000 and len(nodes) == 3_000
    y = nodes["y"].to_numpy()
    wrong = (y[edges["src"]] != y[edges["dst"]]).mean()
    # Of those within a block, a node of another class than its block makes more.
    assert wrong == pytest.approx({"easy": 0.02, "hard": 0.35}[kind], abs=0.02)
    apart = nodes["a"][y == 1].mean() - nodes["a"][y == 0].mean()
    assert apart == pytest.approx({"easy": 6.0, "hard": 0.7}[kind], abs=0.15)


# A fit in a process of its own.
@pytest.mark.slow
def test_a_fit_of_a_table_says_what_it_took(script, monkeypatch, tmp_path):
    fit_table = script("fit_table")
    given = ["--rows", "3000", "--nodes", "300", "--results", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", ["fit_table", *given])
    fit_table.main()
    (row,) = read(tmp_path / "fit_table.csv")
    assert row["chosen"] and float(row["test"]) > 0.9
    assert float(row["processor"]) > 0 and float(row["peak_mib"]) > 100
    assert "round 1 of 3" in row["stages"]
