"""`sgat fit` in processes that `torchrun` starts: one run, and one that is killed."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time

import pandas as pd
import pytest
from support.rank_jobs import free_port, names

from sgat.cli import main
from sgat.training.files import load_tensors

LONG = [
    *("--readout", "attention", "--hidden", "4", "--patience", "0", "--device", "cpu"),
    *("--epochs", "100000", "--checkpoint-every", "3"),
]


@pytest.fixture(autouse=True)
def in_the_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@contextlib.contextmanager
def job(size, *arguments, restarts=0):
    """Processes of `sgat` as `torchrun` starts them, gone when the block ends."""
    port = free_port()
    command = [sys.executable, "-m", "sgat", *arguments]
    again = {"TORCHELASTIC_RESTART_COUNT": str(restarts)}
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    processes = [
        subprocess.Popen(
            command, env={**os.environ, **names(n, size, port), **again}, **streams
        )
        for n in range(size)
    ]
    try:
        yield processes
    finally:
        for process in processes:
            process.kill()
            process.wait()
            process.stdout.close()
            process.stderr.close()


def ends(processes):
    """Exit code, output and messages of each process."""
    found = []
    for process in processes:
        out, errors = process.communicate(timeout=120)
        found.append((process.returncode, out, errors))
    return found


def wait_for(path, processes):
    deadline = time.monotonic() + 120
    while not path.exists():
        assert time.monotonic() < deadline
        assert all(process.poll() is None for process in processes)
        time.sleep(0.02)


def records(run):
    table = pd.read_json(run / "metrics.jsonl", lines=True)
    return table.drop(columns="seconds")


def shorten(run):
    """Let a run under way end after some more epochs; how many it then has."""
    state = run / "checkpoint" / "state.safetensors"
    epochs = len(load_tensors(state)[1]["records"]) + 10
    settings = run / "checkpoint" / "config.toml"
    settings.write_text(settings.read_text().replace("= 100000", f"= {epochs}"))
    return epochs


def start_and_kill(number, options, run):
    """A job of two, one killed at a moment nobody chose; the other's end."""
    state = run / "checkpoint" / "state.safetensors"
    with job(2, "fit", *options, "--out", run.name) as processes:
        wait_for(state, processes)
        time.sleep(time.time() % 0.3)
        processes[number].kill()
        found = ends(processes)
    assert found[number][0] == -signal.SIGKILL
    return found[1 - number]


def test_a_job_writes_one_run_and_a_killed_one_goes_on_alone(csv_files, tmp_path):
    killed, alone = tmp_path / "killed", tmp_path / "alone"
    code, out, errors = start_and_kill(1, [*csv_files, *LONG], killed)
    assert (code, out) == (1, "")
    last = errors.splitlines()[-1]
    assert last.startswith(
        "error: Another process of this job ended or does not answer"
    )
    assert "Traceback" not in errors
    epochs = shorten(killed)
    assert main(["fit", "--resume", "--out", "killed", "--quiet"]) == 0
    options = [*csv_files, *LONG, "--epochs", str(epochs)]
    assert main(["fit", *options, "--out", "alone", "--quiet"]) == 0
    pd.testing.assert_frame_equal(records(alone), records(killed), rtol=0, atol=1e-5)
    edges = [pd.read_parquet(run / "edges.parquet") for run in (alone, killed)]
    pd.testing.assert_frame_equal(*edges, check_exact=True)
    nodes = [pd.read_parquet(run / "nodes.parquet") for run in (alone, killed)]
    pd.testing.assert_frame_equal(*nodes, rtol=0, atol=1e-4)
    assert main(["verify", "killed"]) == 0


@pytest.mark.slow
@pytest.mark.promise
def test_a_job_that_starts_once_more_goes_on(csv_files, tmp_path):
    run = tmp_path / "r"
    # The first process of all: its folder is free again.
    code, out, errors = start_and_kill(0, [*csv_files, *LONG], run)
    assert (code, out) == (1, "")
    assert errors.startswith("error: Another process of this job ended")
    epochs = shorten(run)
    options = [*csv_files, *LONG, "--out", "r", "--json"]
    with job(2, "fit", *options, restarts=1) as processes:
        (code, out, errors), other = ends(processes)
    assert code == 0, errors
    assert other == (0, "", "")
    assert json.loads(out)["epochs"] == epochs
    assert "2 processes sent" in errors
    assert main(["verify", "r"]) == 0


def test_a_job_searches_for_a_model_as_one_process_does(csv_files, tmp_path):
    few = [*csv_files, "--hidden", "4", "--epochs", "7", "--quiet", "--device", "cpu"]
    assert main(["fit", *few, "--out", "alone"]) == 0
    with job(2, "fit", *few, "--out", "together") as processes:
        (code, _, errors), other = ends(processes)
    assert code == 0, errors
    assert other == (0, "", "")
    alone, together = (
        json.loads((tmp_path / name / "summary.json").read_text())
        for name in ("alone", "together")
    )
    assert alone["chosen"] == together["chosen"]
    for one, other in zip(alone["tried"], together["tried"], strict=True):
        assert one["name"] == other["name"]
        assert one["loss"] == pytest.approx(other["loss"], abs=1e-4)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["--precision", "bfloat16"], "error: `--precision` must be float32 where"),
        pytest.param(["--label", "z"], "error: ", marks=pytest.mark.slow),
    ],
)
def test_what_a_job_cannot_do_is_one_sentence(given, message, csv_files, tmp_path):
    with job(2, "fit", *csv_files, *LONG, *given, "--out", "r") as processes:
        (code, _, errors), other = ends(processes)
    assert code == 1
    found = [line for line in errors.splitlines() if line.startswith("error: ")]
    assert len(found) == 1 and found[0].startswith(message)
    assert other == (1, "", "")
    assert not (tmp_path / "r").exists()
