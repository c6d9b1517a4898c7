import contextlib
import io
import json
import shutil

import networkx
import pytest

from sgat_lab.cli import main
from sgat_lab.cli.run import EXPERIMENTS
from sgat_lab.experiments import table1
from sgat_lab.trials.trial import Trials

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
    assert main(["table1", "--data-root", str(tmp_path)]) == 0
    captured = capsys.readouterr()
    assert captured.out == table1.render(MADE)
    assert "[1] Counted anew." in captured.out
    assert captured.err == ""
    assert asked[0]["root"] == tmp_path


def test_table1_comes_as_markdown(asked, capsys):
    assert main(["table1", "--markdown"]) == 0
    assert capsys.readouterr().out.startswith("| data set |")


def test_table1_comes_as_json(asked, capsys):
    assert main(["table1", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert row["paper"]["nodes"] == 13
    assert row["ours"]["edges"] == 101
    assert row["notes"] == ["Counted anew."]


def test_an_unknown_experiment_lists_the_known_ones(capsys):
    assert main(["run", "table99"]) == 1
    assert capsys.readouterr().err.startswith(
        "error: Unknown experiment 'table99'; choose all or of table1, table2,"
    )


@pytest.mark.parametrize("name", ["run", "all", "compare", *EXPERIMENTS])
def test_help_ends_with_examples(name, capsys):
    assert main([name, "--help"]) == 0
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    examples = [line for line in lines if line][-2:]
    assert all(line.startswith(f"sgat-lab {name}") for line in examples)


def test_help_has_every_experiment_with_a_line(capsys):
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    for name, text in EXPERIMENTS.items():
        assert name in shown and text.split()[0] in shown


def test_an_unknown_command_is_wrong_usage(capsys):
    assert main(["table99"]) == 2
    assert "table99" in capsys.readouterr().err


def quick(folder, *arguments) -> int:
    return main(
        [
            *("run", *arguments, "--quick", "--device", "cpu", "--quiet"),
            *("--records", str(folder / "records"), "--figures", str(folder)),
        ]
    )


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    """The folder of the third figure, trained for once, and what was printed."""
    folder = tmp_path_factory.mktemp("trained")
    printed, told = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(told):
        assert quick(folder, "fig3") == 0
    return folder, printed.getvalue(), told.getvalue()


@pytest.fixture(scope="module")
def records(first):
    """The records of the third figure."""
    return first[0] / "records"


@pytest.fixture
def trained(records, tmp_path, monkeypatch):
    """A folder with a copy of the records, for what is printed of them."""
    # The figure was drawn in earnest once; finding places for its nodes takes long.
    monkeypatch.setattr(networkx, "kamada_kawai_layout", networkx.circular_layout)
    shutil.copytree(records, tmp_path / "records")
    return tmp_path


def test_a_figure_is_drawn_and_its_text_printed(first):
    folder, printed, told = first
    assert "Right of 32, by seed:" in printed and told == ""
    assert (folder / "fig3.png").read_bytes()[:4] == b"\x89PNG"


def test_a_finished_experiment_is_only_printed_again(
    first, trained, monkeypatch, capsys
):
    monkeypatch.setattr(Trials, "run", None)
    assert quick(trained, "fig3") == 0
    assert capsys.readouterr().out == first[1].replace(str(first[0]), str(trained))


def test_the_document_has_commands_and_figures(trained, capsys):
    path = trained / "reproduction.md"
    assert quick(trained, "fig3", "--document", str(path)) == 0
    text = path.read_text()
    assert "`sgat-lab fig3 --quick`" in text and "![fig3](fig3.png)" in text


def test_records_come_as_json(trained, capsys):
    assert quick(trained, "fig3", "--json") == 0
    (record,) = json.loads(capsys.readouterr().out)
    assert record["data"] == "karate"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--only", "kora"], "`--only` must name rows or data sets, got 'kora'"),
        (["--device", "tpu"], "`--device` must be one that works here"),
        (["--figures", __file__], "`--figures` must be a folder, but "),
        (["--document", "missing/x.md"], "`--document` must be in a folder that"),
        (["--document", "."], "`--document` must be a file, but . is a folder."),
    ],
)
def test_bad_options_are_told_before_any_training(tmp_path, capsys, arguments, message):
    call = ["fig3", *arguments, "--records", str(tmp_path / "records")]
    assert main([*call, "--quiet"]) == 1
    assert message in capsys.readouterr().err
    assert not list(tmp_path.glob("records/*.json"))


def test_stored_trains_nothing(tmp_path, capsys):
    assert quick(tmp_path, "fig3", "--stored") == 0
    assert "Right of 32" in capsys.readouterr().out
    assert not list(tmp_path.rglob("*.json")) and not list(tmp_path.rglob("*.png"))


def test_pack_leaves_one_file_from_which_all_is_shown(trained, capsys):
    assert quick(trained, "fig3", "--pack") == 0
    first = capsys.readouterr().out
    files = [file.name for file in (trained / "records" / "quick").iterdir()]
    assert files == ["records.jsonl.gz"]
    assert quick(trained, "fig3", "--stored") == 0
    assert capsys.readouterr().out == first


def test_experiments_without_a_named_row_are_left_out(trained, capsys):
    assert quick(trained, "fig3", "fig2", "--only", "karate") == 0
    captured = capsys.readouterr()
    assert "Figure 3" in captured.out and "Figure 2" not in captured.out


def test_all_may_stand_beside_others(asked, capsys, tmp_path):
    assert quick(tmp_path, "all", "table1", "--stored") == 0
    assert len(asked) == 1


def test_several_experiments_are_one_json_document(asked, trained, capsys):
    assert quick(trained, "table1", "fig3", "--json") == 0
    content = json.loads(capsys.readouterr().out)
    assert set(content) == {"table1", "fig3"}
    assert content["fig3"][0]["data"] == "karate"
