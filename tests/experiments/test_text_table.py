import pytest

from sgat.experiments.text_table import percent


@pytest.mark.parametrize(
    ("values", "text"),
    [([], ""), ([0.5], "50.0"), ([0.5, 0.7], "60.0 ± 14.1")],
)
def test_a_spread_needs_more_than_one_value(values, text):
    assert percent(values) == text
