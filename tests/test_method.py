"""The method page: its tests exist, and its symbols and formulas have their numbers."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "method.md").read_text(encoding="utf-8")
LAST = 14
"""Number of the paper's last equation."""


def test_every_test_that_the_page_points_to_exists():
    pointers = re.findall(r"`((?:\w+/)*test_\w+\.py): (test_\w+)`", PAGE)
    assert len(pointers) > 70
    for file, name in pointers:
        content = (ROOT / "tests" / file).read_text(encoding="utf-8")
        assert f"def {name}(" in content, (file, name)


def test_every_symbol_has_its_place_in_the_paper_or_is_ours():
    rows = [line.split("|")[1:-1] for line in PAGE.splitlines() if line[:1] == "|"]
    symbols = [row for row in rows if len(row) == 5][2:]
    assert len(symbols) > 25
    for paper, place, *_ in symbols:
        assert ("ours" in place) == (not paper.strip()), paper
        assert re.search(r"eq\. \d|sec\. \d|ours", place), paper


def test_no_equation_is_named_that_the_paper_has_not():
    sources = [*(ROOT / "sgat").rglob("*.py"), ROOT / "docs" / "method.md"]
    named = [
        int(number)
        for path in sources
        for numbers in re.findall(
            r"\beq\. (\d+(?:(?:, | and | to )\d+)*)", path.read_text(encoding="utf-8")
        )
        for number in re.findall(r"\d+", numbers)
    ]
    assert len(named) > 40
    assert min(named) >= 1 and max(named) <= LAST


def test_lines_end_at_100_characters_outside_tables():
    long = [x for x in PAGE.splitlines() if len(x) > 100 and not x.startswith("|")]
    assert long == []
