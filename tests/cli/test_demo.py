"""`sgat demo`: tables are written, and the story is told by commands."""

import re

import pandas as pd
import pytest

from sgat.cli import demo, main


def test_the_commands_are_shown_and_the_answer_compared(tmp_path, monkeypatch, capsys):
    commands = []

    def run(command):
        commands.append(command[0])
        if command[0] == "judge":
            edges = pd.read_csv("demo/fraud/edges.csv")
            wrong = pd.read_csv("demo/fraud/wrong.csv").assign(probability=0.1)
            edges.merge(wrong, how="left").fillna({"probability": 0.9}).to_csv(
                command[command.index("--out") + 1], index=False
            )
        return 0

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(demo, "main", run)
    assert main(["demo", "fraud"]) == 0
    assert commands == ["judge", "fit", "report"]
    text = capsys.readouterr().out
    assert "$ sgat judge --edges demo/fraud/edges.csv" in text
    [(gone, found, known)] = re.findall(
        r"Of the (\d+) edges that look wrong, (\d+) are .* (\d+) edges are wrong", text
    )
    assert gone == found == known
    assert main(["demo", "fraud"]) == 1
    assert "`--out` must be a new or empty folder" in capsys.readouterr().err


def test_a_command_that_fails_ends_the_story(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(demo, "main", lambda command: 3)
    assert main(["demo", "karate", "--out", str(tmp_path / "k")]) == 3
    assert "$ sgat report" not in capsys.readouterr().out


# A story each: 20 seconds.
@pytest.mark.promise
@pytest.mark.slow
@pytest.mark.parametrize("name", list(demo.StoryName))
def test_every_story_ends_in_a_page(name, tmp_path, capsys):
    assert main(["demo", name.value, "--out", str(tmp_path / "d")]) == 0
    assert (tmp_path / "d" / "run" / "report.html").stat().st_size > 0
    text = capsys.readouterr().out
    if name != demo.StoryName.KARATE:
        [right] = re.findall(r"look wrong, \d+ are \((\d+)%", text)
        assert int(right) >= 90
