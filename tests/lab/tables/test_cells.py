import pytest

from sgat_lab.tables.cells import percent, with_error


@pytest.mark.parametrize(
    ("values", "text"),
    [([], ""), ([0.5], "50.0"), ([0.5, 0.7], "60.0 ± 14.1")],
)
def test_a_spread_needs_more_than_one_value(values, text):
    assert percent(values) == text


@pytest.mark.parametrize(
    ("values", "gap", "other"),
    [
        ([], "", ""),
        ([5.0], "+5.0", "5.0"),
        # The deviation of 1 and 2 is √½, and its error that by √2.
        ([1.0, 2.0], "+1.5 ± 0.5", "1.5 ± 0.50"),
        ([-1.0, -1.5, -0.5], "-1.0 ± 0.3", "-1.0 ± 0.29"),
    ],
)
def test_an_error_needs_more_than_one_value(values, gap, other):
    assert with_error(values) == gap
    assert with_error(values, is_gap=False) == other
