"""Every verb, with each of its operations on files failing in turn."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from support.faults import faults, tree
from support.small_files import write_small_files

from sgat.cli import main
from sgat.config import Config
from sgat.data.files.atomic import write_text
from sgat.runs import run as run_module
from sgat.runs.folder import RunFolder
from sgat.training.choosing import Search
from sgat.training.files import save_tensors

QUICK = ["--fast", "--epochs", "2", "--quiet", "--scorer", "additive"]
QUICK += ["--readout", "linear", "--hidden", "4", "--device", "cpu"]


def plain(content):
    """The content of a folder without the time at which a run ended."""
    found = dict(content)
    for name in found:
        if name.endswith("summary.json"):
            summary = json.loads(found[name])
            del summary["date"]
            found[name] = summary
    return found


def copied(start, place):
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(start, place)


def own(content, names=("config.toml", "model.safetensors", "edges.parquet")):
    """The files of a run that must go together."""
    return [content.get(f"r/{name}") for name in names]


@pytest.fixture(autouse=True)
def quick_disk(monkeypatch):
    """No wait for the disk: nobody pulls a plug here."""
    monkeypatch.setattr(os, "fsync", lambda number: None)


def test_a_run_in_place_of_another_survives_a_kill_at_every_operation(tmp_path):
    """As `sgat fit --overwrite` and then `--resume`, with files that hold little."""
    start, place = tmp_path / "start", tmp_path / "place"
    folder = RunFolder(place / "r")

    def fit(seed, *, resume=False):
        config, text = Config().replace(train={"seed": seed}), json.dumps({"n": seed})
        with folder.locked():
            if not resume:
                folder.start(config)
            save_tensors(folder.checkpoint, {}, {"n": seed})
            save_tensors(folder.draft.model, {}, {"n": seed})
            write_text(folder.draft.edges, text)
            write_text(folder.draft.summary, text)
            folder.publish(config)

    place.mkdir()
    fit(0)
    (place / "r" / "notes.txt").write_text("mine")
    shutil.copytree(place, start)
    with faults(place) as begun:
        fit(1)
    before, after = tree(start), tree(place)
    assert len(begun) > 60 and before.keys() == after.keys()
    under_way = 0
    for number in range(1, len(begun) + 1):
        copied(start, place)
        where = f"{number}: {begun[number - 1]}"
        with faults(place, number), contextlib.suppress(OSError):
            fit(1)
        found = tree(place)
        assert found["r/notes.txt"] == b"mine", where
        if folder.is_finished:
            whole = {name: found[name] for name in before}
            assert whole in (before, after), where
        under_way += folder.is_under_way
        assert folder.is_finished or folder.is_under_way, where
        assert folder.foreign is None, where
        fit(1, resume=folder.is_under_way)
        assert tree(place) == after, where
    assert under_way > len(begun) / 2


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A folder with the files of a small graph, and how they are called."""
    folder = tmp_path_factory.mktemp("data")
    return folder, write_small_files(folder)


@pytest.fixture
def trained_once(monkeypatch):
    """A training of two epochs that is done once, and then comes from memory."""
    results = {}

    class Remembered(Search):
        def run(self, *, folder=None, **options):
            seed = self.train.seed
            if seed not in results:
                results[seed] = super().run()
            self.first.records = results[seed].records
            self.first.save(folder / "state.safetensors")
            return results[seed]

    monkeypatch.setattr(run_module, "Search", Remembered)
    monkeypatch.setattr("sgat.runs.results.curve_steps", lambda edges, epochs: 0)


def mine(content):
    """The files that are no part of a run."""
    names = ("notes.txt", "edges.csv", "nodes.csv", "r/notes.txt")
    return {name: content[name] for name in names if name in content}


@pytest.mark.slow
@pytest.mark.parametrize("only", [False, True], ids=["killed", "failed"])
@pytest.mark.parametrize("more", [[], ["--overwrite", "--seed", "7"]], ids=str)
def test_a_fit_survives_a_fault_at_every_operation(
    data, trained_once, only, more, tmp_path, monkeypatch, capsys
):
    folder, files = data
    start, place = tmp_path / "start", tmp_path / "place"
    shutil.copytree(folder, start)
    (start / "notes.txt").write_text("mine")
    command = ["fit", *files, *QUICK, "--out", "r"]
    # One folder for all, for paths are in the settings.
    copied(start, place)
    monkeypatch.chdir(place)
    run = RunFolder(place / "r")
    if more:
        assert main(command) == 0
        (run.path / "notes.txt").write_text("mine")
        monkeypatch.chdir(tmp_path)
        copied(place, start)
        monkeypatch.chdir(place)
    with faults(place) as begun:
        assert main([*command, *more]) == 0
    before, after = tree(start), plain(tree(place))
    assert len(begun) > 100
    for number in range(1, len(begun) + 1):
        monkeypatch.chdir(tmp_path)
        copied(start, place)
        monkeypatch.chdir(place)
        with faults(place, number, only=only):
            code = main([*command, *more])
        errors = capsys.readouterr().err.splitlines()
        where = f"{number}: {begun[number - 1]}: {errors}"
        found = tree(place)
        assert len([line for line in errors if "error:" in line]) == (code != 0), where
        assert mine(found) == mine(before), where
        if run.is_finished:
            assert own(found) in (own(before), own(after)), where
        if only and not run.is_under_way:
            # Either it never began, or it is done but for what is no longer needed.
            left = (".sgat", "r/checkpoint")
            names = [name for name in found if not any(w in name for w in left)]
            whole = plain({name: found[name] for name in names})
            assert whole in (plain(before), after), where
        again = [*command, *more]
        if run.is_under_way or own(found) == own(after):
            again = ["fit", "--resume", "--out", "r", "--quiet"]
        assert main(again) == 0, (where, capsys.readouterr().err)
        assert plain(tree(place)) == after, where


OUTPUTS = {
    "predict": ["predict", "r", "--out", "o.csv", "--scores", "s.csv", "--overwrite"],
    "prune": ["prune", "r", "--out", "o.csv", "--overwrite"],
    "prune folder": ["prune", "r", "--out", "o", "--overwrite"],
    "report": ["report", "r"],
    "explain": ["explain", "r", "--out", "o.csv", "--overwrite"],
    "judge": ["judge", "--edges", "edges.csv", "--out", "o.csv", "--overwrite"],
    "judge folder": ["judge", "--edges", "edges.csv", "--out", "o", "--overwrite"],
    "convert": ["data", "convert", "edges.csv", "o.graphml", "--overwrite"],
    "resume": ["fit", "--resume", "--out", "r", "--pruned", "o.csv"],
}


@pytest.fixture
def run_with_outputs(data, tmp_path, monkeypatch):
    """A folder with a run, where every verb has written before."""
    folder, files = data
    place, start = tmp_path / "place", tmp_path / "start"
    copied(folder, place)
    monkeypatch.chdir(place)
    assert main(["fit", *files, *QUICK, "--out", "r"]) == 0
    (place / "o").mkdir()
    for name in ("o.csv", "s.csv", "o.graphml", "o/part.parquet"):
        (place / name).write_text("earlier")
    monkeypatch.chdir(tmp_path)
    shutil.copytree(place, start)
    return start, place


@pytest.mark.slow
@pytest.mark.parametrize("only", [False, True], ids=["killed", "failed"])
@pytest.mark.parametrize("verb", OUTPUTS)
def test_every_verb_survives_a_fault_at_every_operation(
    verb, only, run_with_outputs, tmp_path, monkeypatch, capsys
):
    start, place = run_with_outputs
    command = [*OUTPUTS[verb], "--quiet"]
    monkeypatch.chdir(place)
    with faults(place) as begun:
        assert main(command) == 0
    before, after = tree(start), tree(place)
    written = {n for n in after.keys() | before if before.get(n) != after.get(n)}
    assert begun and written
    for number in range(1, len(begun) + 1):
        monkeypatch.chdir(tmp_path)
        copied(start, place)
        monkeypatch.chdir(place)
        capsys.readouterr()
        with faults(place, number, only=only):
            main(command)
        where = f"{number}: {begun[number - 1]}: {capsys.readouterr().err}"
        found = {n: c for n, c in tree(place).items() if ".sgat" not in n}
        assert found.keys() <= before.keys() | after, where
        for name in before.keys() | after:
            assert found.get(name) in (before.get(name), after.get(name)), where
            # What was there before is there at any moment.
            assert found.get(name, b"") is not None or before.get(name) is None, where
        assert main(command) == 0, (where, capsys.readouterr().err)
        assert tree(place) == after, where


KILLED = """
import os, signal, sys
from pathlib import Path
from support.faults import faults
from sgat.cli import main
kill = lambda: os.kill(os.getpid(), signal.SIGKILL)
with faults(Path.cwd(), int(sys.argv[1]), act=kill):
    main(sys.argv[2:])
"""


@pytest.mark.slow
@pytest.mark.parametrize("verb", ["fit", "prune folder", "predict"])
def test_a_real_kill_is_no_other(data, verb, run_with_outputs, monkeypatch):
    start, place = run_with_outputs
    monkeypatch.chdir(place)
    again = OUTPUTS.get(verb, ["fit", "--resume", "--out", "r"])
    command = OUTPUTS.get(verb, ["fit", *data[1], *QUICK, "--out", "r", "--overwrite"])
    with faults(place) as begun:
        assert main(command) == 0
    after = plain(tree(place))
    for number in range(3, len(begun), max(1, len(begun) // 5)):
        shutil.rmtree(place / "r")
        shutil.copytree(start / "r", place / "r")
        arguments = [sys.executable, "-c", KILLED, str(number), *command]
        path = os.pathsep.join([str(Path(__file__).parent), *sys.path])
        done = subprocess.run(arguments, env={**os.environ, "PYTHONPATH": path})
        assert done.returncode == -signal.SIGKILL, number
        is_whole = (
            verb != "fit" or (place / "r" / "checkpoint" / "config.toml").exists()
        )
        assert main(again if is_whole else command) == 0, number
        if verb != "fit":
            assert plain(tree(place)) == after, number
