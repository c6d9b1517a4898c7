import contextlib
import dataclasses
import io
import logging
import re
import sys
import threading
import time
from importlib import import_module

import pytest

from sgat.cli import _Notes, app, progress
from sgat.training.choosing import Step
from sgat.training.result import EpochRecord

RECORD = EpochRecord(
    epoch=1,
    loss=0.5,
    data_loss=0.4,
    open_share=0.75,
    expected_open=0.7,
    kept_share=0.8,
    train=1.0,
    val=None,
    val_loss=None,
    price=0.0,
    seconds=1.25,
)


def test_an_epoch_is_one_row():
    assert progress.cells(RECORD) == ("1", "0.4000", "-", "75.0%", "70.0%", "1.2 s")


def test_quiet_shows_nothing(capsys):
    with progress.training_progress(3, quiet=True) as show:
        show(RECORD)
    assert capsys.readouterr().err == ""


def test_a_name_that_looks_like_markup_is_shown_as_it_is(capsys, monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    with progress.download_bar("[/]") as show:
        show(1)
    assert "downloading [/]" in capsys.readouterr().err


@pytest.mark.parametrize("epochs", [1, 5, 300])
def test_a_terminal_gets_a_bar_and_the_lines_of_epochs(epochs, capsys, monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    with progress.training_progress(epochs, quiet=False) as show:
        assert "getting ready" in capsys.readouterr().err
        for number in range(1, epochs + 1):
            show(dataclasses.replace(RECORD, epoch=number))
    text = capsys.readouterr().err
    assert text.count("validation") == 1 and f"{epochs}/{epochs} epochs" in text
    assert text.count("0.4000") == {1: 1, 5: 5, 300: 11}[epochs]


@pytest.mark.parametrize("is_terminal", [False, True])
def test_a_search_shows_which_candidate_trains(is_terminal, capsys, monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setattr("sys.stderr.isatty", lambda: is_terminal)
    with progress.training_progress(30, quiet=False) as show:
        show(Step("wide layers", 2, 1, 3, 12))
        show(Step("beliefs", 3, 2, 2, 30))
        show(RECORD)
        show("scoring all edges")
    text = capsys.readouterr().err
    assert ("scoring all edges" in text) == is_terminal
    if not is_terminal:
        assert "round 2 of 3, candidate 1 of 3: wide layers, 12 epochs\n" in text
    assert "round 3 of 3, candidate 2 of 2: beliefs, 30 epochs" in text
    with progress.training_progress(30, quiet=True) as show:
        show(Step("beliefs", 3, 2, 2, 30))
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("seconds", [0.0, 600.0])
@pytest.mark.parametrize("show", ["training", "counting", "reading"])
def test_a_stage_that_takes_long_is_named_again_and_again(
    show, seconds, capsys, monkeypatch
):
    monkeypatch.setattr(progress, "PATIENCE", seconds)
    monkeypatch.setattr(progress, "BEAT", 0.01)
    before, text = set(threading.enumerate()), ""
    with contextlib.ExitStack() as stack:
        if show == "training":
            tell = stack.enter_context(progress.training_progress(3, quiet=False))
            tell("judging the edges")
        elif show == "counting":
            stack.enter_context(progress.counting("judging the edges", quiet=False))
        else:
            stack.enter_context(progress.download_bar("tables"))
        while not seconds and text.count("\n") < 3:
            text += capsys.readouterr().err
        if show == "training":
            tell(RECORD)
    text += capsys.readouterr().err
    what = "reading tables" if show == "reading" else "judging the edges"
    lines = [line for line in text.splitlines() if what in line]
    assert (len(lines) >= 3) == (not seconds)
    assert all(re.fullmatch(rf"{what} … \d+ s", line) for line in lines)
    assert set(threading.enumerate()) <= before
    assert ("0.4000" in text) == (show == "training")


@pytest.mark.parametrize("is_terminal", [False, True])
def test_epochs_of_a_candidate_are_shown(is_terminal, capsys, monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setattr("sys.stderr.isatty", lambda: is_terminal)
    monkeypatch.setattr(progress, "BEAT", 0.0)
    with progress.training_progress(200, quiet=False) as show:
        step = Step("wide layers", 2, 1, 3, 12)
        for done in range(13):
            show(step._replace(done=done))
        monkeypatch.setattr(progress, "BEAT", 600.0)
        show(step._replace(done=5))
        assert "5" not in capsys.readouterr().err.splitlines()[-1] or is_terminal
        show(dataclasses.replace(RECORD, epoch=2))
        monkeypatch.setattr(progress, "BEAT", 0.0)
        show(dataclasses.replace(RECORD, epoch=3))
    text = capsys.readouterr().err
    assert "3/200 epochs" in text if is_terminal else "     3    0.4000" in text


def test_short_work_says_nothing(capsys):
    with progress.counting("steps", quiet=False) as count:
        for done in range(1, 4):
            count(done, 3)
    assert capsys.readouterr().err == ""


def test_long_work_is_told_in_lines(capsys, monkeypatch):
    monkeypatch.setattr(progress, "PAUSE", 0.0)
    with progress.counting("steps", quiet=False) as count:
        for done in (0, 1000, 2000):
            count(done, 2000)
    assert capsys.readouterr().err == "steps: 1,000 of 2,000\n"
    with progress.counting("steps", quiet=True) as count:
        count(1, 2)
    assert capsys.readouterr().err == ""


def test_a_terminal_gets_a_bar(capsys, monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with progress.counting("steps", quiet=False, first="opening") as count:
        assert "opening" in capsys.readouterr().err
        count(1, 2000)
    shown = capsys.readouterr().err
    assert "steps" in shown and "1 of 2,000" in shown


def test_a_note_does_not_run_into_the_bar(capsys, monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    import_module("sgat.cli.fit")
    notes = _Notes(app, ["fit"])
    with progress.counting("steps", quiet=False):
        notes.emit(logging.makeLogRecord({"msg": "two edges were merged, see `drop`"}))
    # What is written while the bar is there begins a line of its own.
    lines = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "\n", capsys.readouterr().err)
    assert "note: two edges were merged, see `--drop`" in re.split(r"[\r\n]+", lines)


def test_lines_tell_the_time_and_the_stage(capsys):
    with progress.stage_progress(quiet=False) as shown:
        shown.tell("reading")
        shown.tell("writing")
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(" s  ")[1] for line in lines] == ["reading", "writing"]
    assert float(lines[0].split()[0]) < 5


def test_quiet_stages_say_nothing(capsys):
    with progress.stage_progress(quiet=True) as shown:
        shown.tell("reading")
    assert capsys.readouterr().err == ""


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_terminal_shows_a_bar_that_follows_the_engine(monkeypatch):
    monkeypatch.setattr(progress, "REFRESH", 0.01)
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    looked = []
    with progress.stage_progress(quiet=False) as shown:
        shown.share = lambda: looked.append(1) or 37.0
        shown.tell("matching ids")
        until = time.monotonic() + 20
        while not looked and time.monotonic() < until:
            time.sleep(0.01)
    assert looked and "matching ids" in terminal.getvalue()
