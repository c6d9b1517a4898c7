import logging
import re
import sys

from sgat.cli import _Notes
from sgat.cli import counting as module
from sgat.cli.counting import counting


def test_short_work_says_nothing(capsys):
    with counting("steps", quiet=False) as count:
        for done in range(1, 4):
            count(done, 3)
    assert capsys.readouterr().err == ""


def test_long_work_is_told_in_lines(capsys, monkeypatch):
    monkeypatch.setattr(module, "PATIENCE", 0.0)
    with counting("steps", quiet=False) as count:
        for done in (0, 1000, 2000):
            count(done, 2000)
    assert capsys.readouterr().err == "steps: 1,000 of 2,000\n"
    with counting("steps", quiet=True) as count:
        count(1, 2)
    assert capsys.readouterr().err == ""


def test_a_terminal_gets_a_bar(capsys, monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with counting("steps", quiet=False, first="opening") as count:
        assert "opening" in capsys.readouterr().err
        count(1, 2000)
    shown = capsys.readouterr().err
    assert "steps" in shown and "1 of 2,000" in shown


def test_a_note_does_not_run_into_the_bar(capsys, monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    notes = _Notes()
    with counting("steps", quiet=False):
        notes.emit(logging.makeLogRecord({"msg": "two edges were merged"}))
    # What is written while the bar is there begins a line of its own.
    lines = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "\n", capsys.readouterr().err)
    assert "note: two edges were merged" in re.split(r"[\r\n]+", lines)
