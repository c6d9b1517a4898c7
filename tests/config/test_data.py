import dataclasses
from pathlib import Path

import pytest

from sgat.config import Config, DataConfig, FileOptions


def test_documentation_names_every_option_of_files():
    text = (Path(__file__).parents[2] / "docs" / "files.md").read_text()
    names = [field.name for field in dataclasses.fields(FileOptions)]
    assert len(names) == 22
    for name in names:
        assert f"`{name}`" in text, name


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_categories": "a"}, "`max_categories` must be a whole number, got 'a'."),
        (
            {"max_categories": 0},
            "`max_categories` must be at least 1 and below 2**63, got 0.",
        ),
        ({"drop": 3}, "`drop` must be a list of strings, got 3."),
        ({"drop": [3]}, "`drop` must be a list of strings, got [3]."),
        ({"features": "f1"}, "`features` must be a list of strings, got 'f1'."),
        ({"undirected": "no"}, "`undirected` must be true or false, got 'no'."),
        ({"fill_missing": "x"}, "`fill_missing` must be one of zero, mean, got 'x'."),
        (
            {"label": "y", "labels": ["u"]},
            "`label` and `labels` exclude each other, got 'y' and ['u'].",
        ),
        (
            {"unknown_category": "x"},
            "`unknown_category` must be one of refuse, zero, got 'x'.",
        ),
        ({"src": 1}, "`src` must be a string, got 1."),
        ({"src": "a", "dst": "a"}, "`src` and `dst` must differ, got 'a' for both."),
        ({"delimiter": ""}, "`delimiter` must be one character, or tab, got ''."),
        (
            {"delimiter": "a\n"},
            "`delimiter` must be one character, or tab, got 'a\\n'.",
        ),
        ({"delimiter": '"'}, "`delimiter` must be one character, or tab, got '\"'."),
        ({"decimal": ";"}, "`decimal` must be one of ., ,, got ';'."),
        ({"lable": "y"}, "unknown key 'lable'; did you mean 'label'?"),
    ],
)
def test_options_of_files_are_checked(options, message):
    content = {"data": {"edges": "e.csv", "files": options}}
    with pytest.raises(ValueError) as error:
        Config.from_dict(content, where="here")
    assert str(error.value) == f"here: [data]: [files]: {message}"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"foo": 1}, "unknown key 'foo'; known: name, root, split,"),
        ({"largest_component": "no"}, "`largest_component` must be true or false"),
        ({"split": ""}, "`split` must be a name, got ''."),
        ({"files": 3}, "`files` must be a table, got 3."),
    ],
)
def test_what_names_data_is_checked(content, message):
    with pytest.raises(ValueError) as error:
        DataConfig.from_dict(content, where="here")
    assert str(error.value).startswith(f"here: {message}")


def test_lists_become_tuples():
    assert FileOptions(drop=["a"], features=[]) == FileOptions(drop=("a",), features=())
    assert DataConfig(files={"labels": ["a", "b"]}).files.labels == ("a", "b")


def test_the_files_that_are_read_are_known_by_what_they_hold():
    data = DataConfig(edges="e.csv", nodes="n.csv", split="s.npz")
    assert data.paths == {"edges": "e.csv", "nodes": "n.csv", "split": "s.npz"}
    assert DataConfig("cora", split="random-20").paths == {}
