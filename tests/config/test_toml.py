import tomllib

import pytest

from sgat.config.toml import toml_value


@pytest.mark.parametrize(
    "value",
    [
        *('a "quoted" \\ path\x7f.csv', "", "tab\there", "λ", 3, -1.5, 2 / 3, True),
        *(float("inf"), [], ["a", "b"], {"a": 1, "b c": ["x", False]}),
    ],
)
def test_what_is_written_is_read_back(value):
    assert tomllib.loads(f"key = {toml_value(value)}")["key"] == value


def test_a_tuple_is_written_as_a_list():
    assert toml_value(("a", 1)) == '["a", 1]'
