"""`sgat fit` and files that are there already: nothing is lost."""

import contextlib
import json
import os
import resource
import shutil
import signal
import subprocess
import sys

import pandas as pd
import pytest
from support.faults import tree
from support.processes import started
from support.small_data import block_graph
from support.small_run import finished

import sgat
from sgat.cli import main
from sgat.runs.folder import RunFolder
from sgat.training import checkpoint
from sgat.training.files import MODEL_FORMAT, load_tensors, save_tensors

QUICK = ["--fast", "--epochs", "5", "--snapshots", "0", "--quiet"]


@pytest.fixture(autouse=True)
def in_a_new_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def parquet_files(csv_files):
    for name in ("edges", "nodes"):
        pd.read_csv(f"{name}.csv").to_parquet(f"{name}.parquet")
    return ["--edges", "edges.parquet", "--nodes", "nodes.parquet", "--label", "y"]


def content(folder):
    files = (file for file in folder.rglob("*") if file.is_file())
    return {str(file.relative_to(folder)): file.read_bytes() for file in files}


def refused(arguments, message, capsys):
    assert main(["fit", *arguments]) == 1
    error = capsys.readouterr().err
    assert error.startswith("error: ") and len(error.splitlines()) == 1
    assert message in error


@pytest.mark.parametrize("more", [[], ["--overwrite"]])
def test_the_users_files_are_never_taken_for_those_of_a_run(
    parquet_files, more, capsys, tmp_path
):
    before = content(tmp_path)
    message = "`--edges` must not be a file of the run folder, which the run replaces"
    refused([*parquet_files, *QUICK, "--out", ".", *more], message, capsys)
    (tmp_path / "link").symlink_to(".")
    refused([*parquet_files, *QUICK, "--out", "link", *more], message, capsys)
    (tmp_path / "link").unlink()
    assert content(tmp_path) == before


@pytest.mark.parametrize("more", [[], ["--overwrite"]])
@pytest.mark.parametrize(
    "name",
    [
        *("config.toml", "model.safetensors", "metrics.jsonl", "nodes.parquet"),
        *("edges.parquet", "summary.json", "encoding.json", "snapshots.npz"),
        "removal.json",
        "checkpoint/mine.pt",
    ],
)
def test_a_folder_with_other_files_of_these_names_is_refused(
    name, more, capsys, tmp_path
):
    file = tmp_path / "r" / name
    file.parent.mkdir(parents=True)
    file.write_text("mine")
    message = f"got r, where {name.split('/')[0]} is no part of a run and would be"
    refused(["karate", *QUICK, "--out", "r", *more], message, capsys)
    assert content(tmp_path / "r") == {name: b"mine"}


def test_other_files_in_the_folder_do_no_harm_and_come_to_none(capsys, tmp_path):
    (tmp_path / "r").mkdir()
    (tmp_path / "r" / "notes.txt").write_text("mine")
    for more in ([], ["--overwrite"]):
        arguments = ["karate", "--epochs", "2", "--snapshots", "0", "--out", "r"]
        assert main(["fit", *arguments, *more]) == 0
        assert (tmp_path / "r" / "notes.txt").read_text() == "mine"
        assert "notes.txt" not in capsys.readouterr().out


@pytest.mark.parametrize("key", ["edges", "nodes", "split"])
def test_the_smaller_graph_is_no_input(key, csv_files, capsys, tmp_path):
    file = "split.npz" if key == "split" else f"{key}.csv"
    (tmp_path / "split.npz").write_bytes(b"")
    os.link(file, "other.csv")
    before = content(tmp_path)
    for pruned in (file, f"./x/../{file}", "other.csv"):
        (tmp_path / "x").mkdir(exist_ok=True)
        refused(
            [*csv_files, *QUICK, "--split", "split.npz", "--pruned", pruned],
            f"`--pruned` must not be the file of `--{key}`, got",
            capsys,
        )
    assert content(tmp_path) == before


def test_the_smaller_graph_is_no_file_of_the_run(capsys, tmp_path):
    assert main(["fit", "karate", *QUICK, "--out", "r"]) == 0
    before = content(tmp_path)
    for more in (["karate", "--overwrite", *QUICK], ["--resume"]):
        refused(
            [*more, "--out", "r", "--pruned", "r/edges.parquet"],
            "`--pruned` must not be a file of the run folder",
            capsys,
        )
    assert content(tmp_path) == before


def test_the_smaller_graph_replaces_nothing_unless_told_to(capsys, tmp_path):
    (tmp_path / "small.csv").write_text("mine")
    command = ["karate", *QUICK, "--out", "r", "--pruned", "small.csv"]
    said = "small.csv exists already; choose another `--pruned`, or replace it with"
    refused(command, said, capsys)
    assert content(tmp_path) == {"small.csv": b"mine"}
    assert main(["fit", *command, "--overwrite"]) == 0
    assert (tmp_path / "small.csv").read_text().startswith('"src","dst"')


@contextlib.contextmanager
def full_disk():
    """No file of this process may grow beyond 4 kB."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


@pytest.mark.parametrize("has_earlier_run", [False, True])
@pytest.mark.parametrize("disk_is_full", [False, True])
def test_a_run_that_fails_leaves_what_was_there(
    has_earlier_run, disk_is_full, tmp_path, capsys
):
    if has_earlier_run or disk_is_full:
        # Kernels are compiled and kept before the disk is full.
        out = "a/r" if has_earlier_run else "other"
        assert main(["fit", "karate", *QUICK, "--out", out]) == 0
    before = content(tmp_path)
    command = ["fit", "karate", "--overwrite", "--out", "a/r", *QUICK]
    capsys.readouterr()
    if disk_is_full:
        with full_disk():
            assert main(command) == 1
        message = "state.safetensors: File too large"
    else:
        assert main([*command, "--lr", "1e30"]) == 1
        message = "Training diverged"
    error = capsys.readouterr().err
    assert message in error and len(error.splitlines()) == 1
    assert content(tmp_path) == before
    assert (tmp_path / "a").exists() == has_earlier_run
    if not has_earlier_run:
        assert main(["fit", "karate", *QUICK, "--out", "a/r"]) == 0


def test_a_disk_that_fills_up_at_the_end_leaves_the_earlier_run(
    capsys, tmp_path, monkeypatch
):
    assert main(["fit", "karate", *QUICK, "--out", "r"]) == 0
    before = content(tmp_path)
    again = ["fit", "karate", *QUICK, "--seed", "1", "--out", "r", "--overwrite"]
    with monkeypatch.context() as patch:

        def fail(path, *tables):
            raise OSError(28, "No space left on device", str(path))

        patch.setattr("sgat.runs.results.write_parquet", fail)
        assert main(again) == 1
    assert "No space left on device" in capsys.readouterr().err
    assert before.items() <= content(tmp_path).items()
    assert main(["fit", "--resume", "--out", "r", "--quiet"]) == 0
    assert json.loads((tmp_path / "r" / "summary.json").read_text())["seed"] == 1
    assert not (tmp_path / "r" / "checkpoint").exists()


# Two trainings, one of them stopped in a process of its own.
@pytest.mark.promise
@pytest.mark.slow
def test_an_interrupted_overwriting_run_resumes_and_keeps_the_old_results(
    csv_files, tmp_path
):
    assert main(["fit", "karate", *QUICK, "--out", "my runs/r"]) == 0
    run = tmp_path / "my runs" / "r"
    before = content(run)
    command = ["fit", *csv_files, "--fast", "--overwrite", "--checkpoint-every", "5"]
    command += ["--out", "my runs/r", "--epochs", "100000", "--pruned", "small.csv"]
    state = run / "checkpoint" / "state.safetensors"
    with started(command, state) as process:
        os.kill(process.pid, signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    told = "sgat fit --resume --out 'my runs/r' --pruned small.csv"
    assert f"go on with: {told}" in errors
    assert before.items() <= content(run).items()
    settings = run / "checkpoint" / "config.toml"
    text = settings.read_text()
    assert main(["fit", "karate", *QUICK, "--out", "my runs/r"]) == 1
    assert before.items() <= content(run).items()
    # Fewer epochs, so that the test does not train for long.
    epochs = len(load_tensors(state)[1]["records"]) + 2
    settings.write_text(text.replace("100000", str(epochs)))
    resume = ["--resume", "--out", "my runs/r", "--pruned", "small.csv", "--quiet"]
    assert main(["fit", *resume]) == 0
    summary = json.loads((run / "summary.json").read_text())
    assert (summary["data"], summary["epochs"]) == ("edges", epochs)
    assert (tmp_path / "small.csv").exists() and not state.parent.exists()


@pytest.fixture
def under_way(csv_files, tmp_path, capsys):
    """A run with evidence that was given up at its end, and whose data is gone."""
    evidence = ["--scorer", "evidence", "--checkpoint-every", "1", "--out", "r"]
    with pytest.MonkeyPatch.context() as patch:

        def fail(folder, *arguments):
            raise OSError(28, "No space left on device", str(folder.path))

        patch.setattr("sgat.runs.run.write_results", fail)
        assert main(["fit", *csv_files, *QUICK, *evidence]) == 1
    (tmp_path / "edges.csv").unlink()
    capsys.readouterr()
    return tmp_path / "r" / "checkpoint"


RESUME = ["--resume", "--out", "r"]


def test_no_link_in_a_finished_run_is_followed(csv_files, capsys, tmp_path):
    folder, _, _, _ = finished(tmp_path / "r", [block_graph(num_nodes=61)])
    (tmp_path / "mine").write_text("mine")
    loaded = ("config.toml", "model.safetensors", "edges.parquet", "metrics.jsonl")
    others = ("summary.json", "report.html", "checkpoint", "tensorboard")
    out = ["--out", "new.csv", "--quiet"]
    for name in (*loaded, *others):
        place, aside = folder.path / name, tmp_path / "aside"
        if place.exists():
            place.rename(aside)
        place.symlink_to("../mine")
        before = content(tmp_path)
        for verb in (
            ["fit", *csv_files, *QUICK, "--out", "r", "--overwrite"],
            *(["fit", *RESUME], ["report", "r"], ["explain", "r"]),
            *(["predict", "r", *out], ["prune", "r", *out]),
        ):
            assert main(verb) == 1
            error = capsys.readouterr().err
            message = f"error: r/{name} is a link, which has no place in a run folder"
            assert error.startswith(message) and error.count("\n") == 1, verb
        if name in loaded:
            with pytest.raises(ValueError, match="is a link, which has no place"):
                sgat.load("r")
        assert content(tmp_path) == before
        place.unlink()
        if aside.exists():
            aside.rename(place)


@pytest.mark.parametrize("name", ["config.toml", "state.safetensors", "events"])
def test_no_link_in_a_run_under_way_is_followed(name, under_way, capsys, tmp_path):
    (tmp_path / "mine").write_text("mine")
    place = under_way / name
    if name == "events":
        place = under_way / "tensorboard" / "events.out.tfevents.1"
        place.parent.mkdir()
    place.unlink(missing_ok=True)
    place.symlink_to(tmp_path / "mine")
    message = f"{place.relative_to(tmp_path)} is a link, which has no place in a run"
    refused(RESUME, message, capsys)
    refused(["karate", "--out", "r", "--overwrite"], message, capsys)
    assert (tmp_path / "mine").read_text() == "mine"


def test_the_folder_itself_may_be_a_link(capsys, tmp_path):
    (tmp_path / "far").mkdir()
    (tmp_path / "r").symlink_to("far")
    assert main(["fit", "karate", *QUICK, "--out", "r"]) == 0
    assert (tmp_path / "far" / "summary.json").exists()


def test_a_second_process_is_refused_while_a_run_is_under_way(
    csv_files, under_way, capsys, tmp_path
):
    before = content(tmp_path)
    with RunFolder(tmp_path / "r").locked():
        message = "r is in use by another process; wait until that is done"
        refused(RESUME, message, capsys)
        refused(["karate", *QUICK, "--out", "r", "--overwrite"], message, capsys)
    assert content(tmp_path) == before


def test_a_folder_that_goes_away_in_training_is_noticed_at_the_next_checkpoint(
    capsys, tmp_path, monkeypatch
):
    save, saved = checkpoint.save, []

    def save_and_lose(training, path):
        save(training, path)
        saved.append(training.epoch)
        shutil.rmtree("r")

    monkeypatch.setattr(checkpoint, "save", save_and_lose)
    more = ["--epochs", "50", "--checkpoint-every", "2", "--out", "r"]
    message = "r/checkpoint/state.safetensors: the folder to write to does not exist"
    refused(["karate", *QUICK, *more], message, capsys)
    assert saved == [2] and not (tmp_path / "r").exists()


def test_a_run_of_an_earlier_version_is_not_resumed(under_way, capsys, tmp_path):
    path = under_way / "state.safetensors"
    refused(RESUME, "edges.csv: No such file", capsys)
    tensors, state = load_tensors(path)
    del state["format"]
    save_tensors(path, tensors, state)
    before = content(tmp_path)
    message = (
        "r/checkpoint/state.safetensors was written by another version of sgat (format"
        f" None, not {MODEL_FORMAT}); use `--overwrite` to start anew."
    )
    refused(RESUME, message, capsys)
    assert content(tmp_path) == before


def test_a_damaged_state_is_told_before_the_data_is_read(under_way, capsys):
    (under_way / "state.safetensors").write_bytes(b"garbage" * 9)
    refused(RESUME, "r/checkpoint/state.safetensors is damaged or was not", capsys)


@pytest.mark.parametrize("locked", ["r", "r/checkpoint"])
def test_a_run_that_cannot_be_written_to_is_not_resumed(
    locked, under_way, capsys, tmp_path, monkeypatch
):
    allowed, folder = os.access, str(tmp_path / locked)
    # The tests may run as a user who can write anywhere.
    monkeypatch.setattr(
        os, "access", lambda path, mode: str(path) != folder and allowed(path, mode)
    )
    refused(RESUME, f"got {locked}, but {folder} cannot be written to.", capsys)


def test_a_saved_classifier_is_no_run_to_resume(capsys, tmp_path):
    settings = {"hidden": 3, "epochs": 1, "device": "cpu", "fast": True}
    sgat.SGATClassifier(**settings).fit(block_graph()).save(tmp_path / "r")
    before = content(tmp_path)
    refused(RESUME, "r holds no run to resume.", capsys)
    refused(["karate", *RESUME], "r holds no run to resume.", capsys)
    assert content(tmp_path) == before


def test_a_finished_run_can_still_write_the_smaller_graph(csv_files, capsys, tmp_path):
    run = ["fit", *csv_files, *QUICK, "--keep", "0.5", "--out", "r"]
    assert main([*run, "--pruned", "first.csv"]) == 0
    before = content(tmp_path / "r")
    resume = ["fit", "--resume", "--out", "r", "--pruned", "second.csv"]
    assert main(resume) == 0
    assert "finished already; only second.csv was written" in capsys.readouterr().err
    assert content(tmp_path / "r") == before
    first, second = (tmp_path / f"{name}.csv" for name in ("first", "second"))
    assert first.read_bytes() == second.read_bytes()
    pd.read_csv("edges.csv")[:-1].to_csv("edges.csv", index=False)
    assert main(resume) == 1
    assert "The data has changed since" in capsys.readouterr().err


NO_ACCESS = """
import os, sys
from sgat.cli import main
os.umask(0o777)
sys.exit(main(sys.argv[1:]))
"""


def test_a_fit_that_may_not_write_leaves_nothing(parquet_files, tmp_path):
    fit = ["fit", *parquet_files, *QUICK]
    assert main([*fit, "--out", "r"]) == 0
    before, command = tree(tmp_path), [sys.executable, "-c", NO_ACCESS]
    if os.geteuid() == 0:
        if shutil.which("setpriv") is None:
            pytest.skip("only setpriv takes from root what it may do")
        command = ["setpriv", "--bounding-set=-dac_override,-dac_read_search", *command]
    for out in ("r", "new"):
        arguments = [*fit, "--out", out, "--overwrite"]
        done = subprocess.run([*command, *arguments], capture_output=True, text=True)
        assert done.returncode == 1 and done.stderr.endswith("Permission denied.\n")
        assert tree(tmp_path) == before
