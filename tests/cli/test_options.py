import inspect
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from sgat.cli import main
from sgat.cli.data import info
from sgat.cli.fit import fit
from sgat.cli.options import (
    PANELS,
    WITHOUT_OPTION,
    Given,
    as_folder,
    comma_list,
    option,
    with_settings,
)
from sgat.config import DataConfig, FileOptions, ModelConfig, TrainConfig
from sgat_lab.cli import main as lab_main
from sgat_lab.cli.compare import compare


@pytest.fixture
def given():
    """What a verb gets from a line of options."""
    app, got = typer.Typer(), {}

    @app.command()
    @with_settings(data=DataConfig, files=FileOptions, train=TrainConfig)
    def verb(data: Given, files: Given, train: Given, out: Path | None = None) -> None:
        got.update(data=data, files=files, train=train, out=out)

    def run(*words):
        result = CliRunner().invoke(app, words)
        assert result.exit_code == 0, result.output
        return got

    return run


def test_a_verb_gets_what_was_given_by_section(given):
    words = ["cora", "--keep", "0.5", "--labels", "a, b", "--no-undirected"]
    assert given(*words, "--data-root", "d", "--lambda", "2", "--out", "o") == {
        "data": {"name": "cora", "root": "d"},
        "files": {"labels": ("a", "b"), "undirected": False},
        "train": {"keep": 0.5, "l0_weight": 2.0},
        "out": Path("o"),
    }


def test_what_is_not_given_leaves_configs_their_say(given):
    assert given() == {"data": {}, "files": {}, "train": {}, "out": None}


def test_lists_are_given_at_once_or_one_by_one(given):
    words = ["--text", "bio,note", "--text", "title"]
    assert given(*words)["files"] == {"text": ("bio", "note", "title")}


def test_an_empty_list_is_given(given):
    assert given("--features", "")["files"] == {"features": ()}


def options_of(verb):
    app = typer.Typer()
    app.command()(verb)
    params = typer.main.get_command(app).params
    return {param.name: param for param in params if param.name != "help"}


def test_fit_has_an_option_for_every_setting_but_those_of_config_files():
    found = options_of(fit)
    for section in (DataConfig, FileOptions, ModelConfig, TrainConfig):
        for name, setting in section.declared().items():
            if name in (*WITHOUT_OPTION, "files"):
                assert name not in found
                continue
            assert found[name].help.startswith(setting.help.split("`")[0]), name
            if name != "name":
                assert found[name].rich_help_panel == PANELS[section], name
    assert found["l0_weight"].opts == ["--l0-weight", "--lambda"]
    assert found["split_column"].opts == ["--split-column"]
    assert found["gate_bias"].secondary_opts == ["--no-gate-bias"]
    assert len(found) == 74


def test_help_shows_defaults_and_names_options():
    found = options_of(fit)
    assert found["hidden"].help == r"Width of each attention head. \[64]"
    assert found["gate_bias"].help.endswith(r" \[on]")
    assert found["undirected"].help.endswith("need it.")
    assert "with other scorers --l0-weight." in found["keep"].help


@pytest.mark.parametrize("verb", [fit, compare, info])
def test_verbs_share_the_options_of_data(verb):
    found = inspect.signature(verb).parameters
    for section in (DataConfig, FileOptions):
        assert set(section.declared()) - {*WITHOUT_OPTION, "files"} <= set(found)
    assert "data" not in found and "files" not in found


def test_some_settings_can_be_chosen():
    @with_settings(files=FileOptions, only=("src", "max_categories"))
    def verb(files: Given, *, quiet: bool = False) -> None: ...

    names = ["src", "max_categories", "quiet"]
    assert sorted(inspect.signature(verb).parameters) == sorted(names)


def test_settings_without_an_option_exist():
    sections = (DataConfig, FileOptions, ModelConfig, TrainConfig)
    known = {name for section in sections for name in section.declared()}
    assert set(WITHOUT_OPTION) <= known


def test_an_option_that_is_no_setting_has_its_panel():
    made = option("Panel", "What it is.", "--this/--that", default=True)
    assert made.default is True and made.param_decls == ("--this/--that",)
    assert (made.rich_help_panel, made.help) == ("Panel", "What it is.")


def test_lists_have_commas_between_and_no_spaces():
    assert comma_list(" a,b c ,,") == ("a", "b c") and comma_list("") == ()


def test_an_empty_folder_is_not_the_current_one():
    assert as_folder(None) is None and as_folder("a/b") == Path("a/b")
    with pytest.raises(ValueError, match="`out` must not be empty"):
        as_folder("")


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("sgat p", ["prune", "predict"]),
        ("sgat data inf", ["info"]),
        ("sgat fit --judged", ["--judged-edges"]),
        ("sgat fit --judged-edges ", ["remove", "weigh", "all"]),
        ("sgat fit --metric ro", ["roc_auc"]),
        ("sgat fit --lr ", []),
    ],
)
def test_the_shell_completes_commands_options_and_values(
    line, wanted, monkeypatch, capsys
):
    before, _, _ = line.rpartition(" ")
    # As if the shell had started `sgat`, and not pytest.
    monkeypatch.setattr(sys, "argv", ["sgat"])
    monkeypatch.setattr(sys.modules["__main__"], "__package__", None)
    monkeypatch.setenv("_SGAT_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", line)
    monkeypatch.setenv("COMP_CWORD", str(len(before.split())))
    assert main([]) == 0
    assert capsys.readouterr().out.split() == wanted


@pytest.mark.parametrize("program", [main, lab_main])
def test_completion_is_offered_on_the_first_page_of_the_help_alone(program, capsys):
    assert program(["--help"]) == 0
    assert "--install-completion" in capsys.readouterr().out
    verb = "fit" if program is main else "compare"
    assert program([verb, "--help"]) == 0
    assert "completion" not in capsys.readouterr().out
