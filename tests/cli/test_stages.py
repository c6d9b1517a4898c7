import io
import sys
import time

from sgat.cli import stages


def test_lines_tell_the_time_and_the_stage(capsys):
    with stages.stage_progress(quiet=False) as shown:
        shown.tell("reading")
        shown.tell("writing")
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(" s  ")[1] for line in lines] == ["reading", "writing"]
    assert float(lines[0].split()[0]) < 5


def test_quiet_says_nothing(capsys):
    with stages.stage_progress(quiet=True) as shown:
        shown.tell("reading")
    assert capsys.readouterr().err == ""


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_terminal_shows_a_bar_that_follows_the_engine(monkeypatch):
    monkeypatch.setattr(stages, "REFRESH", 0.01)
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    looked = []
    with stages.stage_progress(quiet=False) as shown:
        shown.share = lambda: looked.append(1) or 37.0
        shown.tell("matching ids")
        until = time.monotonic() + 20
        while not looked and time.monotonic() < until:
            time.sleep(0.01)
    assert looked and "matching ids" in terminal.getvalue()
