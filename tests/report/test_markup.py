import html
import json
import re

import pytest

from sgat.report.page import escape, json_block, number, percent, readable

NASTY = ("<script>", "</script>", "a & b", "\"'`", "🦊", "\u202ex", "é", "")


@pytest.mark.parametrize("text", NASTY)
def test_escaped_text_reads_as_it_was(text):
    escaped = escape(text)
    assert html.unescape(escaped) == text
    assert not set("<>\"'") & set(escaped)


def test_what_html_cannot_hold_is_replaced():
    assert escape("a\x00b\ud800c\x1b") == "a�b�c�"
    assert escape("tab\tline\n") == "tab\tline\n"
    assert readable("a\x00") == "a�" and readable(7) == 7


@pytest.mark.parametrize("text", [*NASTY, "\u2028", "<!--", "\ud800"])
def test_data_comes_back_and_cannot_end_its_element(text):
    block = json_block("x", {"ids": [text]})
    content = re.fullmatch(
        r'<script type="application/json" id="x">(.*)</script>', block
    ).group(1)
    assert json.loads(content) == {"ids": [text]}
    assert not set("<>&") & set(content)
    assert content.isascii()


def test_data_without_meaning_is_refused():
    with pytest.raises(ValueError, match="JSON"):
        json_block("x", float("nan"))


def test_numbers_read_well():
    assert percent(0.12345) == "12.3\u00a0%"
    assert percent(1, 0) == "100\u00a0%"
    assert percent(None) == number(None) == "–"
    assert number(1234567) == "1,234,567"
    assert number(-1.59859) == "−1.599"
    assert number(2.0) == "2"
    assert number(-3) == "−3"
    assert number(1e-6) == "1e−06"
