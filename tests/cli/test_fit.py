import contextlib
import json
import os
import signal
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from support.processes import started
from support.small_files import write_small_files

import sgat
from sgat.cli import main
from sgat.config import Config
from sgat.scorers import SCORERS
from sgat.training.epoch import Epochs

QUICK = ["--fast", "--epochs", "5", "--snapshots", "0", "--quiet"]


@pytest.fixture(autouse=True)
def in_a_new_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_karate_needs_no_files_and_prints_a_summary(capsys, tmp_path):
    assert main(["fit", "karate", "--json", "--quiet"]) == 0
    output = capsys.readouterr()
    summary = json.loads(output.out)
    wanted = {
        *("accuracy", "validation", "edges", "edges_removed", "removed_share"),
        *("removed_share_sampled", "edges_with_loops", "seed", "run"),
    }
    assert wanted <= summary.keys()
    assert summary["edges"] == 156
    assert summary["edges_with_loops"] == 156 + 34
    assert summary["removed_share"] == summary["edges_removed"] / 156
    assert summary["accuracy"] >= 30 / 32
    assert summary["removed_share"] >= 0.4
    assert output.err == ""
    files = {file.name for file in (tmp_path / "runs" / "karate").iterdir()}
    assert files == {
        *("config.toml", "model.safetensors", "metrics.jsonl", "nodes.parquet"),
        *("edges.parquet", "summary.json", "snapshots.npz", "removal.json"),
    }
    written = json.loads((tmp_path / "runs/karate/summary.json").read_text())
    assert written == summary


def test_the_metric_is_named_and_others_are_shown_where_classes_are_uneven(capsys):
    files = write_small_files(Path())
    nodes = pd.read_csv("nodes.csv")
    few = np.arange(30) % 6 == 0
    nodes.assign(y=np.where(few, "rare", "usual")).to_csv("nodes.csv", index=False)
    options = [*files, "--metric", "average_precision", "--class-weights", *QUICK]
    options += ["--split", "stratified-60-20-20", "--out", "r"]
    assert main(["fit", *options]) == 0
    shown = capsys.readouterr().out
    summary = json.loads(Path("r/summary.json").read_text())
    scores = summary["test_scores"]
    text = f"{summary['average_precision']:.2%} on {summary['test_nodes']} nodes"
    assert f"test average precision {text}\n" in shown
    assert f"\n  ROC AUC           {scores['roc_auc']:.2%}\n" in shown
    assert f"\n  balanced accuracy {scores['balanced_accuracy']:.2%}\n" in shown
    assert f"\n  largest class     {scores['largest_class']:.2%}\n" in shown
    assert f"validation average precision {summary['validation']:.2%}\n" in shown
    assert shown.count("average precision") == 2
    settings = Path("r/config.toml").read_text()
    assert 'metric = "average_precision"' in settings
    assert "class_weights = true" in settings
    assert main(["predict", "r", "--out", "p.csv"]) == 0
    assert f"average precision   {text}" in capsys.readouterr().out


@pytest.mark.promise
@pytest.mark.slow
def test_karate_keeps_the_promise_over_ten_seeds():
    accuracies, removed = [], []
    for seed in range(10):
        out = f"runs/{seed}"
        options = ["--seed", str(seed), "--out", out, "--quiet", "--snapshots", "0"]
        assert main(["fit", "karate", *options]) == 0
        with open(f"{out}/summary.json") as file:
            summary = json.load(file)
        accuracies.append(summary["accuracy"])
        removed.append(summary["removed_share"])
    assert np.median(accuracies) >= 30 / 32
    assert min(removed) >= 0.4


def test_a_second_run_takes_a_new_folder(tmp_path):
    for _ in range(2):
        assert main(["fit", "karate", *QUICK]) == 0
    assert sorted(f.name for f in (tmp_path / "runs").iterdir()) == [
        "karate",
        "karate-2",
    ]


@pytest.mark.judged_anew
def test_the_same_seed_writes_the_same_bytes(tmp_path):
    for out in ("a", "b"):
        assert main(["fit", "karate", *QUICK, "--out", out]) == 0
    for name in ("model.safetensors", "edges.parquet", "nodes.parquet", "config.toml"):
        assert (tmp_path / "a" / name).read_bytes() == (
            tmp_path / "b" / name
        ).read_bytes()


def test_own_files_come_back_with_their_ids_order_and_columns(csv_files, capsys):
    assert main(["fit", *csv_files, *QUICK, "--keep", "0.5", "--out", "r"]) == 0
    edges = pd.read_parquet("r/edges.parquet")
    given = pd.read_csv("edges.csv")
    assert edges.columns.tolist() == [
        *("src", "dst", "since"),
        *("log_alpha", "probability", "gate", "kept", "attention"),
    ]
    for column in given:
        assert edges[column].tolist() == given[column].tolist()
    assert edges["kept"].sum() == 15
    nodes = pd.read_parquet("r/nodes.parquet")
    joined = pd.read_csv("nodes.csv").merge(nodes, on="id")
    assert len(joined) == 30
    assert (joined["y"] == joined["label"]).all()
    assert set(nodes["prediction"]) <= {"odd", "even"}
    assert set(nodes["split"]) == {"train", "val", "test"}
    assert "no split column" not in capsys.readouterr().err  # --quiet


def test_a_choice_made_for_the_user_is_told(csv_files, capsys):
    assert main(["fit", *csv_files, "--fast", "--epochs", "2"]) == 0
    assert "nodes are split stratified-60-20-20" in capsys.readouterr().err


def test_options_beat_the_config_which_beats_the_defaults(tmp_path):
    (tmp_path / "c.toml").write_text(
        '[data]\nname = "karate"\n[train]\nepochs = 4\nlr = 0.02\n[model]\nhidden = 5\n'
    )
    assert main(["fit", "--config", "c.toml", "--lr", "0.03", "--out", "r"]) == 0
    config = sgat.Config.from_toml(tmp_path / "r" / "config.toml")
    assert (config.train.epochs, config.train.lr, config.model.hidden) == (4, 0.03, 5)
    assert config.model.heads == sgat.ModelConfig().heads


@pytest.mark.judged_anew
def test_a_run_repeats_from_its_own_config(tmp_path):
    assert main(["fit", "karate", *QUICK, "--seed", "3", "--out", "a"]) == 0
    config = ["--config", "a/config.toml", "--quiet", "--out", "b"]
    assert main(["fit", *config]) == 0
    a, b = (tmp_path / run / "model.safetensors" for run in "ab")
    assert a.read_bytes() == b.read_bytes()


def test_progress_is_plain_lines_without_a_terminal(capsys):
    assert main(["fit", "karate", "--epochs", "20", "--snapshots", "0"]) == 0
    lines = capsys.readouterr().err.splitlines()
    lines = [line for line in lines if not line.startswith("note: ")]
    assert lines[0].split() == [
        *("epoch", "loss", "validation", "open", "edges", "expected", "time")
    ]
    assert [line.split()[0] for line in lines[1:]] == ["1", *map(str, range(2, 21, 2))]


# Three trainings each, one of them in a process of its own.
@pytest.mark.judged_anew
@pytest.mark.promise
@pytest.mark.slow
@pytest.mark.parametrize("is_named", [True, False])
def test_a_killed_run_resumes_to_the_same_bits(is_named, csv_files, tmp_path):
    """Kill the process at a moment nobody chose, then resume it."""
    data = ["karate"] if is_named else csv_files
    options = [*data, "--fast", "--epochs", "200", "--quiet", "--snapshots", "0"]
    assert main(["fit", *options, "--out", "whole"]) == 0
    command = ["fit", *options, "--checkpoint-every", "3", "--out", "killed"]
    state = tmp_path / "killed" / "checkpoint" / "state.safetensors"
    with started(command, state):
        time.sleep(time.time() % 0.5)
    assert main(["fit", "--resume", "--out", "killed", "--quiet"]) == 0
    for name in ("model.safetensors", "edges.parquet", "nodes.parquet"):
        assert (tmp_path / "whole" / name).read_bytes() == (
            tmp_path / "killed" / name
        ).read_bytes()
    assert not state.parent.exists()


def test_ctrl_c_says_how_to_go_on(tmp_path, monkeypatch, capsys):
    command = ["fit", "karate", "--epochs", "100000", "--checkpoint-every", "5"]
    state = tmp_path / "r" / "checkpoint" / "state.safetensors"
    run = Epochs.run

    def until_there_is_a_checkpoint(self, epoch):
        if state.exists():
            os.kill(os.getpid(), signal.SIGINT)
        return run(self, epoch)

    monkeypatch.setattr(Epochs, "run", until_there_is_a_checkpoint)
    assert main([*command, "--out", "r"]) == 130
    errors = capsys.readouterr().err
    assert "go on with: sgat fit --resume --out r" in errors
    assert "Traceback" not in errors
    assert state.exists()
    assert not (tmp_path / "r" / "summary.json").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["karat"], "Unknown data set 'karat'; choose one of actor,"),
        ([], "Name a data set (see `sgat data list`) or give an edge file"),
        (["karate", "--keep", "0"], "`--keep` must be in (0, 1], got 0.0."),
        (["karate", "--keep", "1.5"], "`--keep` must be in (0, 1], got 1.5."),
        (["karate", "--hidden", "0"], "`--hidden` must be from 1 to 1048576, got 0."),
        (["karate", "--readout", "x"], "`--readout` must be one of linear, attention"),
        (["karate", "--device", "abacus"], "`--device` must be one that works here"),
        (["karate", "--label", "y"], "`--label` goes with `--edges`, your own files."),
        (["karate", "--split", "none"], "`--split` of 'karate' must be one of"),
        (["karate", "--config", "no.toml"], "no.toml: No such file or directory."),
        (["--resume"], "`--resume` needs `--out`"),
        (["--resume", "--out", "nowhere"], "nowhere holds no run to resume."),
        (
            ["--edges", "no.csv", "--label", "y"],
            "`--label` needs `--nodes`, the file with that column.",
        ),
        (["--edges", "no.graphml", "--label", "y"], "no.graphml: No such file"),
        (
            ["--edges", "no.csv", "--nodes", "n.csv", "--label", "y"],
            "no.csv: No such file",
        ),
        (["karate", "--nodes", "n.csv"], "`--nodes` goes with `--edges`"),
        (["karate", "--device", "meta"], "`--device` must be one that works here"),
        (["karate", "--hidden", "1000000000"], "must be from 1 to 1048576"),
        (["karate", "--hidden", str(10**18)], "must be from 1 to 1048576"),
        (["karate", "--out", ""], "`--out` must not be empty."),
        (
            ["karate", "--split", "random-60-60-20"],
            "`--split` must have three shares of at most 100 per cent together,"
            " the first above 0, got 'random-60-60-20'.",
        ),
        (
            ["--resume", "--overwrite", "--out", "r"],
            "`--resume` and `--overwrite` exclude each other.",
        ),
        (
            ["--edges", "e.csv", "--label", "y", "--largest-component"],
            "`--largest-component` goes with the name of a data set.",
        ),
        (
            ["--edges", "e.csv", "--label", "y", "--data-root", "d"],
            "`--data-root` goes with the name of a data set.",
        ),
        (["--edges", "no.csv"], "Say which column of the node file is the label"),
        (
            ["karate", "--gate-mode", "transductive", "--scorer", "evidence"],
            "`--scorer` must be additive",
        ),
        (["karate", "--scorer", "pairs"], "`--scorer` must be one of additive, cosine"),
        (["karate", "--readout", "belief"], "`--readout` must be one of linear, att"),
    ],
)
def test_bad_input_is_one_sentence_and_leaves_nothing(
    arguments, message, tmp_path, capsys
):
    assert main(["fit", *arguments]) == 1
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.startswith("error: ")
    assert message in output.err
    assert len(output.err.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("column", "row", "value", "message"),
    [
        ("size", 3, "nan", "size"),
        ("size", 3, "inf", "size"),
        ("id", 3, "n04", "n04"),
    ],
)
def test_bad_cells_are_named(csv_files, column, row, value, message, capsys, tmp_path):
    nodes = pd.read_csv("nodes.csv").astype({"size": object})
    nodes.loc[row, column] = value
    nodes.to_csv("nodes.csv", index=False)
    assert main(["fit", *csv_files, *QUICK]) == 1
    error = capsys.readouterr().err
    assert "nodes.csv" in error and message in error
    assert not (tmp_path / "runs").exists()


def test_a_negative_weight_is_named(csv_files, capsys):
    edges = pd.read_csv("edges.csv").assign(weight=1.0)
    edges.loc[7, "weight"] = -0.5
    edges.to_csv("edges.csv", index=False)
    assert main(["fit", *csv_files, *QUICK]) == 1
    assert "-0.5" in capsys.readouterr().err


def test_an_earlier_run_is_not_touched_unless_asked(capsys, tmp_path):
    assert main(["fit", "karate", *QUICK, "--out", "r"]) == 0
    before = (tmp_path / "r" / "summary.json").read_bytes()
    assert main(["fit", "karate", *QUICK, "--out", "r"]) == 1
    assert "r holds a run already" in capsys.readouterr().err
    assert (tmp_path / "r" / "summary.json").read_bytes() == before
    assert main(["fit", "karate", *QUICK, "--out", "r", "--keep", "2"]) == 1
    assert (tmp_path / "r" / "summary.json").read_bytes() == before
    again = ["--seed", "1", "--out", "r", "--overwrite"]
    assert main(["fit", "karate", *QUICK, *again]) == 0
    assert json.loads((tmp_path / "r" / "summary.json").read_text())["seed"] == 1


def test_bad_data_with_overwrite_leaves_the_earlier_run(csv_files, capsys, tmp_path):
    assert main(["fit", *csv_files, *QUICK, "--out", "r"]) == 0
    before = {f.name: f.read_bytes() for f in (tmp_path / "r").iterdir()}
    nodes = pd.read_csv("nodes.csv")
    nodes.assign(y="one class").to_csv("nodes.csv", index=False)
    assert main(["fit", *csv_files, *QUICK, "--out", "r", "--overwrite"]) == 1
    assert {f.name: f.read_bytes() for f in (tmp_path / "r").iterdir()} == before


def test_settings_cannot_change_on_resume(capsys):
    assert main(["fit", "karate", *QUICK, "--out", "r"]) == 0
    assert main(["fit", "--resume", "--out", "r", "--lr", "0.5"]) == 1
    assert "leave `--lr` out" in capsys.readouterr().err
    assert main(["fit", "cora", "--resume", "--out", "r"]) == 1
    assert "is a run on 'karate', got 'cora'" in capsys.readouterr().err


def test_help_lists_every_setting_and_two_examples(capsys):
    assert main(["fit", "--help"]) == 0
    text = capsys.readouterr().out
    for option in ("--keep", "--hidden", "--resume", "--config", "--l0-weight"):
        assert option in text
    assert text.count("sgat fit ") >= 2


def test_wrong_usage_exits_with_2(capsys):
    assert main(["fit", "karate", "--no-such-option"]) == 2
    assert main(["no-such-verb"]) == 2


@pytest.mark.parametrize("suffix", ["csv", "parquet", "graphml", "mtx", "gexf", "npz"])
def test_the_smaller_graph_is_written_in_the_format_asked_for(suffix, tmp_path):
    out = f"small.{suffix}"
    options = ["--keep", "0.5", "--pruned", out, "--out", "r"]
    assert main(["fit", "karate", *QUICK, *options]) == 0
    assert (tmp_path / out).stat().st_size > 0
    if suffix != "gexf":
        from sgat.data.files import read_graph

        assert read_graph(tmp_path / out).data.graph.num_edges == 78


def test_own_files_shrink_with_ids_columns_and_weights(csv_files):
    options = ["--keep", "0.5", "--pruned", "small.csv", "--out", "r"]
    assert main(["fit", *csv_files, *QUICK, *options]) == 0
    small, scores = pd.read_csv("small.csv"), pd.read_parquet("r/edges.parquet")
    kept = scores[scores["kept"]]
    assert small["src"].tolist() == kept["src"].tolist()
    assert small["since"].tolist() == kept["since"].tolist()
    assert np.allclose(small["weight"], kept["gate"])


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("small.xyz", "cannot use suffix '.xyz' here; choose one of csv, gexf"),
        ("no/small.csv", "`--pruned` must be in a folder that exists"),
        (".", "`--pruned` must be a file, got the folder ."),
    ],
)
def test_a_smaller_graph_that_cannot_be_written_is_refused_before_training(
    path, message, capsys, tmp_path
):
    assert main(["fit", "karate", *QUICK, "--pruned", path]) == 1
    assert message in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_column_the_smaller_graph_cannot_hold_is_refused_before_training(
    csv_files, capsys, tmp_path
):
    before = sorted(tmp_path.iterdir())
    assert main(["fit", *csv_files, *QUICK, "--pruned", "small.mtx"]) == 1
    error = capsys.readouterr().err
    assert error.startswith("error: small.mtx: cannot be written as mtx: Matrix Market")
    assert "column 'since' would be lost" in error
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize("is_wrapped", [False, True])
def test_ctrl_c_during_the_imports_ends_with_130(is_wrapped, monkeypatch, capsys):
    def interrupted(name):
        if is_wrapped:
            raise RuntimeError("Error calling __set_name__") from KeyboardInterrupt()
        raise KeyboardInterrupt

    monkeypatch.setattr("sgat.cli.import_module", interrupted)
    assert main(["fit", "karate"]) == 130
    assert capsys.readouterr() == ("", "")


def test_a_second_ctrl_c_ends_with_130_and_leaves_nothing(
    monkeypatch, capsys, tmp_path
):
    def interrupted(training, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("sgat.training.loop.Training.run", interrupted)
    assert main(["fit", "karate", "--quiet"]) == 130
    assert capsys.readouterr() == ("", "")
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_while_results_are_written_says_how_to_go_on(
    monkeypatch, capsys, tmp_path
):
    def interrupted(path, *tables):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("sgat.runs.results.write_parquet", interrupted)
        assert main(["fit", "karate", *QUICK, "--out", "r"]) == 130
    error = capsys.readouterr().err
    assert error == "interrupted; go on with: sgat fit --resume --out r\n"
    assert main(["fit", "--resume", "--out", "r", "--quiet"]) == 0
    assert (tmp_path / "r" / "summary.json").exists()


def test_a_fault_of_ours_keeps_its_traceback(monkeypatch):
    def fault(*arguments, **options):
        raise RuntimeError("shapes do not match")

    monkeypatch.setattr("sgat.runs.run.Search", fault)
    with pytest.raises(RuntimeError, match="shapes do not match"):
        main(["fit", "karate"])


def test_columns_are_chosen_by_options(csv_files, tmp_path):
    for name in ("edges", "nodes"):
        pd.read_csv(f"{name}.csv").to_csv(f"{name}.csv", index=False, sep=";")
    options = ["--delimiter", ";", "--categorical", " size", "--drop", "colour, since"]
    assert main(["fit", *csv_files, *QUICK, *options, "--out", "r"]) == 0
    encoding = json.loads((tmp_path / "r" / "encoding.json").read_text())
    (feature,) = encoding["features"]
    assert feature["name"] == "size"
    config = sgat.Config.from_toml(tmp_path / "r" / "config.toml")
    assert config.data.files.drop == ("colour", "since")
    assert config.data.files.categorical == ("size",)


def test_features_can_be_none_and_cannot_be_the_label(csv_files, capsys, tmp_path):
    assert main(["fit", *csv_files, *QUICK, "--features", "", "--out", "r"]) == 0
    encoding = json.loads((tmp_path / "r" / "encoding.json").read_text())
    assert encoding["features"] == []
    assert main(["fit", *csv_files, *QUICK, "--features", "size, y"]) == 1
    error = capsys.readouterr().err
    assert error == "error: `--features` must not name 'y', the label.\n"


def test_a_named_data_set_takes_its_options(tmp_path):
    options = ["--largest-component", "--no-normalise-features", "--data-root", "d"]
    assert main(["fit", "karate", *QUICK, *options, "--out", "r"]) == 0
    config = sgat.Config.from_toml(tmp_path / "r" / "config.toml")
    assert config.data == sgat.DataConfig(
        "karate",
        root=str(tmp_path / "d"),
        normalise_features=False,
        largest_component=True,
    )


def test_a_run_with_a_split_file_goes_on_from_another_folder(
    csv_files, tmp_path, monkeypatch
):
    np.savez("split.npz", split=np.repeat(["train", "val", "test"], 10))
    options = [*csv_files, *QUICK, "--split", "split.npz"]
    assert main(["fit", *options, "--out", "r"]) == 0
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    run = ["--config", "../r/config.toml", "--out", "again", "--quiet"]
    assert main(["fit", *run]) == 0
    models = [tmp_path / "r", tmp_path / "elsewhere" / "again"]
    first, second = ((m / "model.safetensors").read_bytes() for m in models)
    assert first == second


def test_a_download_shows_a_bar(monkeypatch):
    shown = []

    @contextlib.contextmanager
    def bar(name, *, quiet):
        yield lambda received: shown.append((name, quiet))

    def load(name, *, progress, **options):
        progress(5)
        raise ValueError("stop here")

    monkeypatch.setattr("sgat.data.load", load)
    for command in ("fit", "data"):
        monkeypatch.setattr(f"sgat.cli.{command}.download_bar", bar)
    assert main(["fit", "cora", "--quiet"]) == 1
    assert main(["data", "inject", "cora", "--out", "x"]) == 1
    assert shown == [("cora", True), ("cora", False)]


def test_symmetric_gates_keep_both_directions_of_an_edge():
    options = ["--symmetric", "--keep", "0.5", "--out", "r"]
    assert main(["fit", "karate", *QUICK, *options]) == 0
    edges = pd.read_parquet("r/edges.parquet")
    kept = {(row.src, row.dst) for row in edges[edges["kept"]].itertuples()}
    assert len(kept) == 78
    assert kept == {(dst, src) for src, dst in kept}


def test_beliefs_in_several_labels_are_refused_before_anything_is_written(
    csv_files, capsys
):
    nodes = pd.read_csv("nodes.csv")
    nodes["a"], nodes["b"] = (nodes["y"] == "odd").astype(int), 1 - nodes.index % 2
    nodes.drop(columns="y").to_csv("nodes.csv", index=False)
    options = ["--edges", "edges.csv", "--nodes", "nodes.csv", "--labels", "a,b"]
    assert main(["fit", *options, *QUICK, "--readout", "beliefs", "--out", "r"]) == 1
    assert "must not be beliefs where nodes have several" in capsys.readouterr().err
    assert not Path("r").exists()
    # Left to the data it is another read-out.
    assert main(["fit", *options, *QUICK, "--readout", "auto", "--out", "r"]) == 0


def test_the_help_says_what_gates_may_look_at(capsys):
    assert main(["fit", "--help"]) == 0
    shown = " ".join(capsys.readouterr().out.replace("│", " ").split())
    for name in (*SCORERS, "evidence", "beliefs", "auto"):
        assert name in shown, name
    assert "odds that an edge is real" in shown


def test_data_choose_gates_and_read_out_unless_settings_say_which(csv_files):
    paper = ["--scorer", "additive", "--readout", "linear"]
    Path("c.toml").write_text("[train]\nepochs = 4\n", encoding="utf-8")
    wanted = {
        "own": (csv_files, "evidence", "diffusion"),
        "paper": ([*csv_files, *paper], "additive", "linear"),
        "gate": ([*csv_files, "--scorer", "additive"], "additive", "attention"),
        "free": ([*csv_files, "--gate-mode", "transductive"], "additive", "attention"),
        "config": ([*csv_files, "--config", "c.toml"], "evidence", "diffusion"),
        "named": (["karate"], "additive", "attention"),
        "asked": (["karate", "--scorer", "auto"], "evidence", "attention"),
    }
    for name, (options, scorer, readout) in wanted.items():
        assert main(["fit", *options, *QUICK, "--out", name]) == 0, name
        model = Config.from_toml(Path(name) / "config.toml").model
        assert model.scorer == scorer and model.readout == readout, name


def test_the_estimated_noise_is_told_where_there_is_an_estimate(csv_files, capsys):
    assert main(["fit", *csv_files, *QUICK, "--out", "r"]) == 0
    share = json.loads(Path("r/summary.json").read_text())["noise_share"]
    assert share == sgat.load("r").noise_share_ and 0 < share < 1
    told = f"estimated noise     {share:.1%} of the edges"
    assert told in capsys.readouterr().out.splitlines()
    Path("edges.csv").write_text("src,dst\nn00,n00\n", encoding="utf-8")
    for name, data in {"k": ["karate"], "none": csv_files}.items():
        assert main(["fit", *data, *QUICK, "--out", name]) == 0
        summary = json.loads(Path(name, "summary.json").read_text())
        assert summary["noise_share"] is None
        assert "estimated noise" not in capsys.readouterr().out


@pytest.mark.parametrize(("more", "times"), [([], 1), (["--undirected"], 0)])
def test_rows_that_go_one_way_are_told_once_with_the_option(more, times, capsys):
    loud = [word for word in QUICK if word != "--quiet"]
    options = [*write_small_files(Path()), *loud, "--out", "r", *more]
    assert main(["fit", *options]) == 0
    shown = "".join(capsys.readouterr())
    assert shown.count("few edges have their reverse (0%)") == times
    assert shown.count("both directions, give `--undirected`") == times
