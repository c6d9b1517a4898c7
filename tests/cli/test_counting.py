import sys

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
        for done in (1000, 2000):
            count(done, 2000)
    assert capsys.readouterr().err == "steps: 1,000 of 2,000\n"
    with counting("steps", quiet=True) as count:
        count(1, 2)
    assert capsys.readouterr().err == ""


def test_a_terminal_gets_a_bar(capsys, monkeypatch):
    monkeypatch.setattr(module, "PATIENCE", 0.0)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with counting("steps", quiet=False) as count:
        count(1, 2)
    assert "steps" in capsys.readouterr().err
