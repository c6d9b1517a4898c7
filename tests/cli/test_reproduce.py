import json

import pytest

from sgat.cli import main
from sgat.experiments import table1

MADE = [
    table1.Row(
        "made",
        table1.Counts(nodes=13),
        table1.Counts(nodes=17, edges=101, features=7, classes=3, homophily=0.25),
        ("Counted anew.",),
    )
]


@pytest.fixture
def asked(monkeypatch):
    """Arguments with which the table was asked for; the answer is `MADE`."""
    seen = []

    def answer(**arguments):
        seen.append(arguments)
        return MADE

    monkeypatch.setattr(table1, "table1", answer)
    return seen


def test_table1_is_printed_with_its_notes(asked, capsys, tmp_path):
    assert main(["reproduce", "table1", "--data-root", str(tmp_path)]) == 0
    captured = capsys.readouterr()
    assert captured.out == table1.render(MADE)
    assert "[1] Counted anew." in captured.out
    assert captured.err == ""
    assert asked[0]["root"] == tmp_path


def test_table1_comes_as_markdown(asked, capsys):
    assert main(["reproduce", "table1", "--markdown"]) == 0
    assert capsys.readouterr().out.startswith("| data set |")


def test_table1_comes_as_json(asked, capsys):
    assert main(["reproduce", "table1", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert row["paper"]["nodes"] == 13
    assert row["ours"]["edges"] == 101
    assert row["notes"] == ["Counted anew."]


def test_an_unknown_experiment_lists_the_known_ones(capsys):
    assert main(["reproduce", "table99"]) == 1
    assert capsys.readouterr().err.startswith(
        "error: Unknown experiment 'table99'; choose one of table1"
    )


def test_help_ends_with_two_examples(capsys):
    assert main(["reproduce", "--help"]) == 0
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    last = [line for line in lines if line][-3:]
    assert last[0] == "Examples:"
    assert all(line.startswith("sgat reproduce") for line in last[1:])
