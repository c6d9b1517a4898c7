import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
import torch

import sgat
from sgat.cli import main
from sgat.graph import Graph
from sgat.runs.finished_run import open_run

SIZE = 60
QUIET = "--quiet"


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A folder with edges.csv, nodes.csv, and the run `mine` on them."""
    folder = tmp_path_factory.mktemp("trained")
    generator = np.random.default_rng(0)
    ids = np.array([f"n{i:02d}" for i in range(SIZE)])
    ends = generator.integers(0, SIZE, (2, 400))
    ends = np.unique(ends[:, ends[0] != ends[1]], axis=1)
    edges = pd.DataFrame(
        {
            "src": ids[ends[0]],
            "dst": ids[ends[1]],
            "weight": generator.integers(1, 4, ends.shape[1]) / 2,
        }
    )
    edges.sample(frac=1, random_state=0).to_csv(folder / "edges.csv", index=False)
    nodes = pd.DataFrame(
        {
            "id": ids,
            "size": generator.normal(size=SIZE),
            "colour": generator.choice(["red", "green"], SIZE),
            "y": np.where(np.arange(SIZE) % 2, "odd", "even"),
        }
    )
    nodes.to_csv(folder / "nodes.csv", index=False)
    files = ["--edges", str(folder / "edges.csv"), "--nodes", str(folder / "nodes.csv")]
    quick = ["--fast", "--label", "y", "--keep", "0.5", "--epochs", "5", "--quiet"]
    # Gates whose parts per node a database puts together.
    quick += ["--scorer", "additive", "--readout", "linear"]
    run = ["--out", str(folder / "mine"), "--snapshots", "0"]
    assert main(["fit", *files, *quick, *run]) == 0
    return folder


@pytest.fixture(autouse=True)
def in_a_new_folder(trained, tmp_path, monkeypatch):
    for name in ("edges.csv", "nodes.csv"):
        shutil.copy(trained / name, tmp_path / name)
    shutil.copytree(trained / "mine", tmp_path / "mine")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def prune(*arguments):
    return main(["prune", "mine", *arguments])


def test_two_files_become_a_pruned_one(capsys):
    assert prune("--edges", "edges.csv", "--out", "small.csv") == 0
    output = capsys.readouterr()
    assert "rows read           " in output.out and "removed" in output.out
    assert "written to          small.csv" in output.out
    assert "reading the table" in output.err and "writing" in output.err
    scores = pd.read_parquet("mine/edges.parquet")
    expected = scores[scores["kept"]].reset_index(drop=True)
    found = pd.read_csv("small.csv")
    for name in ("src", "dst", "weight"):
        assert found[name].tolist() == expected[name].tolist()
    for name in ("log_alpha", "probability", "gate"):
        assert np.allclose(found[name], expected[name], atol=1e-6)


def test_without_edges_it_prunes_those_of_the_run(capsys):
    assert prune("--out", "small.parquet", "--json", "--quiet") == 0
    output = capsys.readouterr()
    summary = json.loads(output.out)
    assert output.err == ""
    kept = int(pd.read_parquet("mine/edges.parquet")["kept"].sum())
    assert summary["kept"] == kept == len(pq.read_table("small.parquet"))
    assert summary["rows"] == summary["kept"] + summary["removed"]
    assert summary["reasons"] == {"removed": summary["removed"], "score": kept}
    names = pq.read_table("small.parquet").column_names
    assert names == ["src", "dst", "weight", "log_alpha", "probability", "gate"]


def test_the_border_is_told_as_it_was_applied(capsys):
    files = ["--edges", "edges.csv", "--nodes", "nodes.csv", "--label", "y"]
    quick = ["--fast", "--epochs", "3", "--snapshots", "0", "--quiet"]
    assert main(["fit", *files, *quick, "--out", "by_judge"]) == 0
    assert main(["judge", *files, "--out", "judged.csv", "--quiet"]) == 0
    scores = pd.read_parquet("by_judge/edges.parquet")
    judged = pd.read_csv("judged.csv")
    capsys.readouterr()
    for source, table, keep in (
        (["by_judge"], scores, "0.4"),
        (["by_judge"], scores, "0.97"),
        (["--edges", "judged.csv"], judged, "0.4"),
    ):
        out = ["--out", "s.csv", "--overwrite", "--keep", keep]
        assert main(["prune", *source, *out, "--json"]) == 0
        summary = json.loads(capsys.readouterr().out)
        border = summary["border_real"]
        above = int((table["probability"] > border).sum())
        assert above == summary["kept"] == round(float(keep) * len(table))
        assert main(["prune", *source, *out]) == 0
        text = capsys.readouterr().out
        assert f"by score, above     P(real) = {border:.4f}\n" in text
        assert "log α" not in text
    assert main(["prune", "--edges", "judged.csv", "--out", "t.csv"]) == 0
    assert "by score, above     P(real) = 0.5000\n" in capsys.readouterr().out
    assert main(["prune", "by_judge", "--out", "all.csv", "--keep", "1"]) == 0
    assert "by score, above" not in capsys.readouterr().out
    assert prune("--out", "additive.csv", "--keep", "0.2") == 0
    kept = pd.read_csv("additive.csv")["log_alpha"]
    all_scores = pd.read_parquet("mine/edges.parquet")["log_alpha"]
    found = capsys.readouterr().out.split("log α = ")[1].split()[0]
    assert kept.min() > float(found) - 1e-4
    assert abs((all_scores > float(found)).sum() - len(kept)) <= 1


@pytest.mark.parametrize("name", ["e.csv", "e.csv.gz"])
def test_tables_of_windows_are_judged_predicted_and_pruned(name, capsys):
    for given, made in (("edges.csv", name), ("nodes.csv", "n.csv")):
        table = pd.read_csv(given).replace(r"^n(\d)", r"Müller \1", regex=True)
        table.to_csv(made, index=False, encoding="cp1252")
    files = ["--edges", name, "--nodes", "n.csv"]
    quick = ["--fast", "--epochs", "3", "--snapshots", "0", "--quiet"]
    quick += ["--scorer", "additive", "--label", "y", "--encoding", "cp1252"]
    assert main(["fit", *files, *quick, "--out", "run"]) == 0
    assert main(["predict", "run", *files, "--out", "p.csv", "--quiet"]) == 0
    assert pd.read_csv("p.csv")["id"][0] == "Müller 00"
    # A row to protect in UTF-8, beside edges that are not.
    pd.DataFrame({"src": ["Müller 00"], "dst": ["Müller 07"]}).to_csv("keep.csv")
    rules = ["--keep", "0.3", "--protect", "keep.csv", "--out", "s.csv"]
    assert main(["prune", "run", "--edges", name, *rules]) == 0
    small, rows = pd.read_csv("s.csv"), pd.read_csv(name, encoding="cp1252")
    assert len(small) == round(0.3 * len(rows))
    assert len(small.merge(rows, on=["src", "dst", "weight"])) == len(small)
    judged = ["--edges", name, "--out", "j.csv", "--encoding", "cp1252"]
    assert main(["judge", *judged]) == 0
    table = pd.read_csv("j.csv")
    assert table["src"].equals(rows["src"])
    table.to_csv("windows.csv", index=False, encoding="cp1252")
    command = ["prune", "--edges", "windows.csv", "--out", "t.csv"]
    capsys.readouterr()
    assert main(command) == 1
    assert "name its `--encoding`, such as cp1252." in capsys.readouterr().err
    assert main([*command, "--encoding", "cp1252"]) == 0
    assert pd.read_csv("t.csv")["src"].str.startswith("Müller ").all()


def test_a_table_that_pandas_wrote_with_its_index_is_pruned(capsys):
    pd.read_csv("edges.csv").to_csv("e.csv")
    pd.read_csv("nodes.csv").to_csv("n.csv")
    files = ["--edges", "e.csv", "--nodes", "n.csv", "--label", "y"]
    quick = ["--fast", "--epochs", "3", "--snapshots", "0", "--quiet"]
    assert main(["fit", *files, *quick, "--out", "indexed"]) == 0
    assert main(["prune", "indexed", "--keep", "0.5", "--out", "s.csv"]) == 0
    assert main(["judge", *files, "--out", "j.csv"]) == 0
    assert main(["prune", "--edges", "j.csv", "--out", "t.csv", "--keep", "0.5"]) == 0
    told = capsys.readouterr().err
    assert "Unnamed: 0       not used; stays in what is written" in told
    for name in ("s.csv", "t.csv"):
        found = pd.read_csv(name, index_col=0)
        rows = pd.read_csv("edges.csv").loc[found.index]
        assert found[["src", "dst", "weight"]].equals(rows)


def test_the_rules_of_the_command_are_those_of_python(capsys):
    pd.DataFrame({"src": ["n00"], "dst": ["n07"]}).to_csv("p.csv", index=False)
    options = ["--keep", "0.3", "--symmetric", "max", "--min-degree", "1"]
    options += ["--keep-connected", "--protect", "p.csv", "--json", "--quiet"]
    assert prune("--out", "small.parquet", *options) == 0
    run = open_run("mine")
    classifier = sgat.load("mine")
    small = classifier.sparsify(
        run.graphs[0],
        keep=0.3,
        symmetric="max",
        min_degree=1,
        keep_connected=True,
        protect=[("n00", "n07")],
    ).graph
    found = pd.read_parquet("small.parquet")
    ids = run.graphs[0].node_ids
    weight = {
        (ids[s], ids[d]): w
        for s, d, w in zip(
            small.src.tolist(), small.dst.tolist(), small.weight.tolist(), strict=True
        )
    }
    named = list(zip(found["src"], found["dst"], strict=True))
    assert sorted(named) == sorted(weight)
    wanted = [weight[pair] for pair in named]
    assert np.allclose(found["weight"] * found["gate"], wanted, atol=1e-6)


@pytest.mark.parametrize(
    "rules", [[], ["--keep", "0.2"], ["--keep", "0.8"], ["--min-degree", "1"]]
)
def test_measure_shows_that_predictions_stay(rules, capsys):
    assert prune("--out", "small.parquet", "--measure", "--json", *rules) == 0
    found = json.loads(capsys.readouterr().out)["measure"]
    assert found["difference"] < 1e-5 < found["largest"]
    assert found["predictions_changed"] == 0
    assert found["speedup_over_all"] == found["all_edges_ms"] / found["pruned_ms"]
    is_model = rules in ([], ["--keep", "0.8"])
    assert (found["compared_with"] == "the gated full graph") == is_model
    if not rules:
        assert found["changed_from_training"] == 0
        table = pd.read_parquet("small.parquet")
        run = open_run("mine")
        position = {name: k for k, name in enumerate(run.graphs[0].node_ids)}
        index = [[position[name] for name in table[end]] for end in ("src", "dst")]
        weight = torch.tensor((table["weight"] * table["gate"]).to_numpy()).float()
        graph = Graph.from_edges(torch.tensor(index), SIZE, weight)
        with torch.no_grad():
            gated = run.model(run.graphs[0].x, run.graphs[0].graph)
        # A bias that opens all gates: the file alone says which edges there are.
        bias = run.model.gating.gate_bias
        assert bias is not None
        with torch.no_grad():
            bias += 999.0
            plain = run.model(run.graphs[0].x, graph)
        assert torch.allclose(plain, gated, atol=1e-5)
        assert graph.num_edges == found["edges_kept"]
    assert main(["prune", "mine", "--out", "b.csv", "--measure", "--quiet"]) == 0
    shown = capsys.readouterr().out
    assert "without gates" in shown and "with gates" in shown


def test_new_nodes_are_scored_by_their_features():
    nodes = pd.read_csv("nodes.csv")
    other = nodes.iloc[::-1].assign(id=[f"new{k}" for k in range(SIZE)])
    other.drop(columns="y").to_csv("other.csv", index=False)
    names = dict(zip(nodes["id"], other["id"].iloc[::-1], strict=True))
    edges = pd.read_csv("edges.csv")
    edges.assign(src=edges["src"].map(names), dst=edges["dst"].map(names)).to_csv(
        "new.csv", index=False
    )
    # The data of the run may be gone: the folder knows how to read features.
    config = Path("mine/config.toml")
    config.write_text(config.read_text().replace("edges.csv", "gone.csv"))
    assert prune("--edges", "edges.csv", "--out", "small.csv") == 1
    options = ["--edges", "new.csv", "--nodes", "other.csv", "--out", "small.csv"]
    assert prune(*options, "--threshold", "-99") == 0
    expected = pd.read_parquet("mine/edges.parquet")
    found = pd.read_csv("small.csv")
    assert found["src"].tolist() == expected["src"].map(names).tolist()
    assert np.allclose(found["log_alpha"], expected["log_alpha"], atol=1e-5)


def test_missing_nodes_are_counted_and_nothing_is_written(capsys, tmp_path):
    edges = pd.read_csv("edges.csv")
    edges.loc[3, "dst"] = "nobody"
    edges.to_csv("more.csv", index=False)
    before = sorted(tmp_path.rglob("*"))
    assert prune("--edges", "more.csv", "--out", "small.csv", "--quiet") == 1
    error = capsys.readouterr().err
    assert f"more.csv: 1 of {len(edges)} rows name a node that has no score" in error
    assert "dst 'nobody'" in error and error.count("\n") == 1
    assert sorted(tmp_path.rglob("*")) == before
    drop = ["--missing", "drop", "--out", "small.csv"]
    assert prune("--edges", "more.csv", *drop) == 0
    assert "  node missing        1" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--out", "edges.csv"], "`--out` must not be the file of `--edges`"),
        (["--out", "taken.csv"], "taken.csv exists already; choose another `--out`"),
        (["--out", "mine/nodes.parquet"], "must not be a file of the run folder"),
        (["--out", "mine"], "`--out` must not be"),
        (["--out", "a/b.csv"], "must be in a folder that exists, got a/b.csv"),
        (["--out", "b.xlsx"], "b.xlsx: cannot use the suffix '.xlsx' here; choose"),
        (["--out", "b.csv", "--keep", "2"], "`--keep` must be in (0, 1], got 2.0"),
        (["--out", "b.csv", "--engine", "pandas"], "must be one of duckdb, spark, got"),
        (["--out", "b.csv", "--memory", "lots"], "must be at least 100MB, such as"),
        (
            ["--out", "b.csv", "--missing", "x"],
            "one of refuse, keep, drop, got 'x'",
        ),
        (
            ["--out", "b.csv", "--src", "from"],
            "no column 'from' for the source (`--src`); the",
        ),
        (["--out", "b.csv", "--measure", "--no-scores"], "it needs `--scores`"),
        (["--out", "b.csv", "--nodes", "gone.csv"], "gone.csv: No such file"),
        (["--out", "b.csv", "--protect", "bad.csv"], "bad.csv: no column 'dst' for"),
        (["--out", "full"], "`--overwrite` replaces a folder of Parquet files, and"),
    ],
)
def test_bad_requests_are_one_sentence_and_change_nothing(
    options, message, capsys, tmp_path
):
    (tmp_path / "taken.csv").write_text("mine\n")
    (tmp_path / "bad.csv").write_text("src\nn01\n")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").write_text("x")
    if "full" in options:
        options = [*options, "--overwrite"]
    before = {p: p.stat().st_mtime_ns for p in tmp_path.rglob("*") if p.is_file()}
    assert prune("--edges", "edges.csv", "--quiet", *options) == 1
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1
    after = {p: p.stat().st_mtime_ns for p in tmp_path.rglob("*") if p.is_file()}
    assert after == before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--keep", "0"], "`--keep` must be in (0, 1], got 0.0."),
        (["--keep", "1", "--threshold", "2"], "`--keep` and `--threshold` exclude"),
        (["--symmetric", "sum"], "`--symmetric` must be one of max, min, mean, got"),
        (
            ["--min-degree", "-1"],
            "`--min-degree` must be at least 0 and below 2**63, got -1.",
        ),
    ],
)
def test_rules_are_refused_by_the_names_of_their_options(options, message, capsys):
    assert prune("--out", "small.csv", *options) == 1
    assert message in capsys.readouterr().err


def test_cells_are_separated_as_they_were(capsys):
    edges = pd.read_csv("edges.csv")
    edges.to_csv("e.csv", sep=";", index=False)
    options = ["--delimiter", ";", "--keep", "0.5", "--measure", "--json"]
    assert prune("--edges", "e.csv", "--out", "small.csv", *options) == 0
    measured = json.loads(capsys.readouterr().out)["measure"]
    assert measured["predictions_changed"] == 0
    found = pd.read_csv("small.csv", sep=";")
    assert list(found.columns[:3]) == ["src", "dst", "weight"]
    assert len(found) == measured["edges_kept"] == round(0.5 * len(edges))


def test_the_share_is_that_of_the_edges_with_a_gate(capsys):
    edges = pd.read_csv("edges.csv")
    loops = pd.DataFrame({"src": ["n01", "n02"], "dst": ["n01", "n02"], "weight": 1.0})
    strays = pd.DataFrame({"src": ["who", "n02"], "dst": ["n01", "who"], "weight": 1.0})
    pd.concat([edges, loops, strays]).to_csv("e.csv", index=False)
    options = ["--keep", "0.5", "--missing", "keep"]
    assert prune("--edges", "e.csv", "--out", "a.csv", *options) == 0
    kept = round(0.5 * len(edges))
    share = f"({kept / len(edges):.1%} without self-loops and missing nodes)"
    assert f"kept                {kept + 4:,} {share}" in capsys.readouterr().out
    assert prune("--edges", "e.csv", "--out", "b.csv", *options, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["kept_share"] == pytest.approx(kept / len(edges))


def test_an_existing_table_is_replaced_when_asked(tmp_path):
    for out in ("small.csv", "folder"):
        for _ in range(2):
            assert prune("--out", out, "--overwrite", "--quiet") == 0
    assert len(pq.read_table("folder")) == len(pd.read_csv("small.csv"))
    hidden = [path.name for path in tmp_path.iterdir() if path.name.startswith(".")]
    assert hidden == []


@pytest.mark.parametrize("name", ["edges.csv", "nodes.csv"])
def test_files_that_the_run_was_trained_on_are_never_replaced(trained, name, capsys):
    before = (trained / name).read_bytes()
    out = ["--out", str(trained / name), "--overwrite"]
    assert main(["prune", "mine", *out]) == 1
    assert "that the run was trained on" in capsys.readouterr().err
    assert (trained / name).read_bytes() == before


def test_columns_named_like_scores_are_the_users_own(capsys):
    edges = pd.read_csv("edges.csv")
    edges["kept"], edges["attention"], edges["gate"] = "yes", 7, 8
    edges.to_csv("named.csv", index=False)
    assert main(["prune", "mine", "--edges", "named.csv", "--out", "a.csv", QUIET]) == 0
    assert "named.csv: new scores take the place of gate" in capsys.readouterr().err
    found = pd.read_csv("a.csv")
    assert set(found["kept"]) == {"yes"} and set(found["attention"]) == {7}
    assert (found["gate"] <= 1).all()
    plain = ["--edges", "named.csv", "--no-scores", "--out", "b.csv", QUIET]
    assert main(["prune", "mine", *plain]) == 0
    assert list(pd.read_csv("b.csv")) == list(edges)


def test_a_share_that_guarantees_exceed_is_told_even_quietly(capsys):
    rules = ["--keep", "0.05", "--min-degree", "2"]
    assert main(["prune", "mine", "--out", "a.csv", *rules, QUIET]) == 0
    assert "more than the" in capsys.readouterr().err


def test_a_full_disk_leaves_what_was_there(capsys, tmp_path, monkeypatch):
    def fail(self, query, names, to, at):
        at.write_text("half")
        raise OSError(28, "No space left on device", str(to.path))

    (tmp_path / "small.csv").write_text("before\n")
    monkeypatch.setattr("sgat.pruning.duckdb_engine.DuckDB.write", fail)
    assert prune("--out", "small.csv", "--overwrite", "--quiet") == 1
    assert capsys.readouterr().err == "error: small.csv: No space left on device.\n"
    assert (tmp_path / "small.csv").read_text() == "before\n"
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith(".")] == []


def test_a_package_that_is_missing_is_named(capsys, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyspark", None)
    assert prune("--out", "small.csv", "--engine", "spark", "--quiet") == 1
    assert "pip install sgat[spark]" in capsys.readouterr().err


def test_transductive_gates_prune_their_own_edges_and_no_others(capsys):
    files = ["--edges", "edges.csv", "--nodes", "nodes.csv", "--label", "y"]
    quick = ["--fast", "--epochs", "2", "--quiet", "--snapshots", "0", "--out", "free"]
    assert main(["fit", *files, *quick, "--gate-mode", "transductive"]) == 0
    options = ["--out", "small.csv", "--measure", "--json", "--quiet"]
    capsys.readouterr()
    assert main(["prune", "free", *options]) == 0
    summary = json.loads(capsys.readouterr().out)
    scores = pd.read_parquet("free/edges.parquet")
    assert len(pd.read_csv("small.csv")) == summary["kept"] == scores["kept"].sum()
    assert summary["measure"]["changed_from_training"] == 0
    other = ["--edges", "edges.csv", "--out", "other.csv", "--quiet"]
    assert main(["prune", "free", *other]) == 1
    error = capsys.readouterr().err
    assert "are transductive" in error and "Leave `--edges` and `--nodes` out" in error


def test_features_of_a_named_data_set_have_no_columns(capsys):
    quick = ["--fast", "--epochs", "2", "--quiet", "--snapshots", "0", "--out", "club"]
    assert main(["fit", "karate", *quick]) == 0
    capsys.readouterr()
    options = ["--out", "b.csv", "--nodes", "nodes.csv", "--quiet"]
    assert main(["prune", "club", *options]) == 1
    assert "was trained on a named data set" in capsys.readouterr().err


def test_rows_without_direction_follow_the_run():
    files = ["--edges", "edges.csv", "--nodes", "nodes.csv", "--label", "y"]
    quick = ["--fast", "--epochs", "3", "--keep", "0.4", "--quiet", "--snapshots", "0"]
    options = ["--undirected", "--out", "both"]
    assert main(["fit", *files, *quick, *options]) == 0
    assert main(["prune", "both", "--edges", "edges.csv", "--out", "small.csv"]) == 0
    scores = pd.read_parquet("both/edges.parquet")
    expected = scores[scores["kept"]]
    found = pd.read_csv("small.csv")
    assert found["src"].tolist() == expected["src"].tolist()
    assert np.allclose(found["gate"], expected["gate"], atol=1e-6)


def test_help_shows_examples(capsys):
    assert main(["prune", "--help"]) == 0
    shown = capsys.readouterr().out
    assert "sgat prune runs/mine --out small.csv --keep 0.3" in shown
