"""Processes that talk: sums, rows and gradients; and one that is gone."""

import multiprocessing
import os
import signal

import pytest
import torch
from support.rank_jobs import (
    RankJob,
    die_in_the_middle,
    free_port,
    names,
    run_job,
    talk,
)

from sgat.cli import main
from sgat.parallel.launch import is_restarted, number_in_job
from sgat.parallel.ranks import joined


@pytest.fixture(scope="module")
def said(tmp_path_factory):
    return run_job(2, talk, folder=tmp_path_factory.mktemp("talk"))


def test_all_processes_have_the_same_sums_rows_and_words(said):
    first, second = said
    for name in ("summed", "gathered", "of first", "bytes", "any"):
        assert str(first[name]) == str(second[name]), name
    assert first["summed"].tolist() == [3.0, 30.0]
    assert first["gathered"].tolist() == [0, 10, 11]
    assert first["of first"].item() == 1
    assert first["bytes"] == b"from 0"
    assert first["any"] == (True, False)


def test_rows_go_where_they_are_sent_and_gradients_come_back(said):
    assert [part["swapped"].tolist() for part in said] == [[10.0, 11.0], [1.0]]
    assert [part["swapped gradient"].tolist() for part in said] == [
        [0.0, 2.0],
        [3.0, 4.0],
    ]


def test_gradients_pass_sums_once_or_from_all(said):
    assert [part["gradient"] for part in said] == [5.0, 5.0]
    assert [part["gradient apart"] for part in said] == [3.0, 3.0]


def test_bytes_to_others_are_counted_and_own_ones_are_not(said):
    # A row there and two gradients back, or the other way round.
    assert [part["bytes of rows"] for part in said] == [12, 12]


def test_a_process_that_is_killed_ends_the_others_with_a_sentence(tmp_path):
    job = RankJob(2, die_in_the_middle, folder=tmp_path)
    job.wait(seconds=60)
    killed, other = job.exit_codes[1], job.exit_codes[0]
    assert killed == -signal.SIGKILL and other == 0
    assert "Another process of this job ended" in torch.load(tmp_path / "0.pt")


def test_a_process_without_others_is_alone(monkeypatch):
    with joined() as ranks:
        assert ranks is None
    for name, value in names(0, 1, free_port()).items():
        monkeypatch.setenv(name, value)
    assert number_in_job() is None
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("RANK", "1")
    assert number_in_job() == 1
    assert not is_restarted()
    monkeypatch.setenv("TORCHELASTIC_RESTART_COUNT", "1")
    assert is_restarted()
    assert multiprocessing.parent_process() is None and os.getpid()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("RANK", "a"), ("RANK", "2"), ("RANK", "-1"), ("WORLD_SIZE", "0")),
        *(("WORLD_SIZE", "x"), ("MASTER_PORT", "x"), ("MASTER_PORT", "99999")),
        ("MASTER_ADDR", ""),
    ],
)
def test_variables_of_no_job_are_refused_at_once(name, value, monkeypatch, capsys):
    """A number beyond the size waited an hour for processes that never come."""
    for each, text in {**names(1, 2, free_port()), name: value}.items():
        monkeypatch.setenv(each, text)
    assert main(["fit", "karate"]) == 1
    said = capsys.readouterr().err
    assert said.startswith("error: The variables of `torchrun` must be a RANK from 0,")
    assert f"{name}={value!r}" in said and said.count("\n") == 1
