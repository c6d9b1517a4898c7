import itertools
import re

import pytest

from sgat.report.charts import (
    Axis,
    Mark,
    Series,
    bar_chart,
    histogram,
    line_chart,
    spread,
)


def points(svg, place=0):
    """The points of a line, and which of them begin a stretch."""
    path = re.search(rf'class="line s{place}" d="([^"]*)"', svg).group(1)
    found = re.findall(r"([ML])([\d.]+) ([\d.]+)", path)
    return [(kind, float(x), float(y)) for kind, x, y in found]


def bars(svg, place):
    sides = " ".join(rf'{side}="([-\d.]+)"' for side in ("x", "y", "width", "height"))
    pattern = rf'class="bar s{place}" {sides}'
    return [tuple(map(float, found)) for found in re.findall(pattern, svg)]


def titles(**more):
    return {"x_title": "x", "y_title": "y", **more}


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0, 10, [0, 2, 4, 6, 8, 10]),
        (-1.2, 0.9, [-1, -0.5, 0, 0.5]),
        (0.91, 0.99, [0.92, 0.94, 0.96, 0.98]),
        (3, 170, [50, 100, 150]),
    ],
)
def test_ticks_are_round_numbers(low, high, expected):
    assert Axis(low, high, 0, 100).ticks == pytest.approx(expected)


@pytest.mark.parametrize(
    ("high", "value", "text"),
    [
        (99_999, 75_000, "75,000"),
        (110_000, 75_000, "75k"),
        (110_000, 0, "0"),
        (2_100_000, 500_000, "0.5M"),
    ],
)
def test_ticks_of_large_numbers_are_short(high, value, text):
    assert Axis(0, high, 0, 100).text(value) == text


def test_a_range_shows_all_values_and_shares_stay_shares():
    low, high = spread([0.5, None, float("nan"), 0.99], "share")
    assert 0 <= low < 0.5 and 0.99 < high <= 1
    low, high = spread([1.0, 1.0], "share")
    assert low < 1 == high
    low, high = spread([], "number")
    assert low < high
    assert spread([2.0, 4.0], "number", with_zero=True)[0] == 0


def test_a_line_goes_through_its_points():
    chart = line_chart("k", "t", [0, 1, 4], [Series("a", [0.0, 10.0, 5.0])], **titles())
    (x0, x1, left, right), (y0, y1, bottom, top) = (
        chart.data["xAxis"],
        chart.data["yAxis"],
    )
    assert (x0, x1) == (0, 4)
    for (_, x, y), (a, b) in zip(
        points(chart.svg), [(0, 0), (1, 10), (4, 5)], strict=True
    ):
        assert x == pytest.approx(
            left + (a - x0) / (x1 - x0) * (right - left), abs=0.06
        )
        assert y == pytest.approx(
            bottom + (b - y0) / (y1 - y0) * (top - bottom), abs=0.06
        )
    assert chart.data["y"] == [[0.0, 10.0, 5.0]]


def test_a_line_has_gaps_where_nothing_is_known():
    values = [1.0, 2.0, None, float("nan"), 3.0, None, 4.0]
    chart = line_chart("k", "t", list(range(7)), [Series("a", values)], **titles())
    assert [kind for kind, *_ in points(chart.svg)] == ["M", "L", "M", "M"]
    assert chart.svg.count("<circle") == 2  # the two that stand alone
    assert chart.data["y"] == [[1.0, 2.0, None, None, 3.0, None, 4.0]]


def test_a_single_epoch_and_no_epoch_can_be_drawn():
    assert "<circle" in line_chart("k", "t", [3], [Series("a", [1.0])], **titles()).svg
    assert "<svg" in line_chart("k", "t", [], [], **titles()).svg


def test_lines_without_any_value_are_left_out():
    lines = [Series("a", [None, None]), Series("b", [None, 1.0]), Series("c", [])]
    chart = line_chart("k", "t", [0, 1], lines, **titles())
    assert chart.data["names"] == ["b"]


def test_stacked_bars_are_as_high_as_their_counts():
    counts = [("kept", [3, 0, 1]), ("removed", [1, 2, 0])]
    chart = histogram(
        "k", "t", [0, 1, 2, 3], counts, mark=Mark(1.5, "here"), **titles()
    )
    kept, removed = bars(chart.svg, 0), bars(chart.svg, 1)
    assert (len(kept), len(removed)) == (2, 2)
    unit = kept[1][3]
    assert kept[0][3] == pytest.approx(3 * unit, rel=0.01)
    assert removed[1][3] == pytest.approx(2 * unit, rel=0.01)
    # The removed one of the first bin stands on the three kept ones.
    assert removed[0][1] + removed[0][3] == pytest.approx(kept[0][1], abs=0.02)
    assert ">here</text>" in chart.svg
    outside = histogram("k", "t", [0, 1], [("a", [1])], mark=Mark(5, "m"), **titles())
    assert "mark" not in outside.svg


def test_groups_of_bars_stand_side_by_side():
    groups = [("before", [0.2, 0.8]), ("after", [0.4, 0.6])]
    chart = bar_chart("k", "t", ["a", "<b>"], groups, y_unit="share", **titles())
    before, after = bars(chart.svg, 0), bars(chart.svg, 1)
    assert before[0][0] < after[0][0] < before[1][0] < after[1][0]
    assert before[1][3] == pytest.approx(4 * before[0][3], rel=0.01)
    assert "&lt;b&gt;" in chart.svg and "<b>" not in chart.svg


def test_text_in_a_chart_is_escaped():
    chart = line_chart(
        "k", "<t>", [1], [Series("a", [1.0])], mark=Mark(1, "</svg>"), **titles()
    )
    assert "&lt;t&gt;" in chart.svg
    assert chart.svg.count("</svg>") == 1


def test_names_below_bars_do_not_run_into_each_other():
    labels = [f"{10**k}–{10 ** (k + 1)}" for k in range(9)]
    chart = bar_chart("k", "t", labels, [("a", [1.0] * 9)], **titles())
    shown = re.findall(
        r'class="tick middle" x="([\d.]+)" y="[\d.]+">([^<]*)<', chart.svg
    )
    places = [float(x) for x, _ in shown]
    assert 1 < len(shown) < 9
    longest = max(len(name) for _, name in shown)
    assert min(b - a for a, b in itertools.pairwise(places)) > 6 * longest
    assert chart.data["labels"] == labels
