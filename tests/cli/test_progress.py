import dataclasses
import threading

import pytest

from sgat.cli import progress
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


@pytest.mark.parametrize("epochs", [1, 5, 300])
def test_a_terminal_gets_a_table_and_a_bar(epochs, capsys, monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    with progress.training_progress(epochs, quiet=False) as show:
        assert "getting ready" in capsys.readouterr().err
        for number in range(1, epochs + 1):
            show(dataclasses.replace(RECORD, epoch=number))
    text = capsys.readouterr().err
    assert "validation" in text and f"{epochs}/{epochs} epochs" in text


@pytest.mark.parametrize("seconds", [0.0, 600.0])
def test_a_long_wait_for_the_first_epoch_has_a_reason(seconds, capsys, monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE", seconds)
    with progress.training_progress(3, quiet=False) as show:
        for thread in threading.enumerate():
            if isinstance(thread, threading.Timer) and not seconds:
                thread.join()
        show(RECORD)
    lines = capsys.readouterr().err.splitlines()
    assert lines[:-2] == ([] if seconds else [progress.NOT_YET])
    assert not any(isinstance(each, threading.Timer) for each in threading.enumerate())
