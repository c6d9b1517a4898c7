import base64
import dataclasses
import hashlib
import html
import re

import pytest

from sgat.report.build import _page, _view
from sgat.report.page import SCRIPTS, SIGN, VIEW_SCRIPTS, _templates, asset

TEXT = "$x {{ y }} <b> & \x00"


@pytest.fixture(scope="module")
def page(hostile_run):
    """The page of a run whose data has a name that looks like a placeholder."""
    content = hostile_run.content()
    summary = content.summary | {"data": TEXT, "device": TEXT}
    content = dataclasses.replace(content, summary=summary)
    return _page(content, 0, _view(content, 0))


def sha256(text):
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def test_the_policy_names_exactly_what_may_run(page):
    text = page
    policy = html.unescape(re.search(r'Security-Policy" content="([^"]*)"', text)[1])
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    scripts = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    styles = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
    assert (len(scripts), len(styles)) == (3, 1)
    assert rules["default-src"] == "'none'"
    assert rules["script-src"].split() == [sha256(script) for script in scripts]
    assert rules["style-src"] == sha256(styles[0])
    assert "unsafe" not in policy and "http" not in policy


def test_the_page_refers_to_nothing_outside(page):
    text = page
    assert not re.search(r"""(?:src|href)\s*=\s*["'](?!#)""", text)
    assert "url(" not in asset("report.css") and "@import" not in asset("report.css")
    for name in (*VIEW_SCRIPTS, *SCRIPTS):
        script = asset(name)
        assert not re.search(r"fetch\(|XMLHttpRequest|import\(|innerHTML", script), name
        assert set(re.findall(r"https?://[^\s\"'`]+", script)) <= {
            "http://www.w3.org/2000/svg"
        }


def test_text_that_looks_like_a_placeholder_or_markup_stays_text(page):
    # In the title, the heading and the settings.
    assert page.count("$x {{ y }} &lt;b&gt; &amp; �") == 3
    assert page[:4000].count(SIGN) == 1


def test_a_long_name_is_cut_off_and_told_in_full():
    parts = _templates().get_template("parts.html").module
    text = "<" + "x" * 10_000
    shown = re.fullmatch(r'<bdi title="(.*)">(.*)</bdi>', parts.name(text, 10))
    assert html.unescape(shown[1]) == text
    assert html.unescape(shown[2]) == text[:9] + "…"
    assert parts.name("short", 10) == "<bdi>short</bdi>"


def test_the_bundle_says_what_it_is_made_of():
    licences = asset("LICENSES.txt")
    for package in ("sigma 3.0.3", "graphology 0.26.0", "events 3.3.0"):
        assert package in licences
    assert "3.0.3" in asset("README.md") and "esbuild" in asset("README.md")
