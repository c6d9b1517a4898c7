import base64
import hashlib
import html
import re

from sgat.report.page import SCRIPTS, SIGN, assemble, asset

PARTS = ("title", "heading", "lead", "navigation", "summary", "view", "sections")


def page():
    parts = dict.fromkeys((*PARTS, "footer", "data"), "$x ${y}")
    return assemble(**parts)


def sha256(text):
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def test_the_policy_names_exactly_what_may_run():
    text = page()
    policy = html.unescape(re.search(r'Security-Policy" content="([^"]*)"', text)[1])
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    scripts = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    styles = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
    assert (len(scripts), len(styles)) == (3, 1)
    assert rules["default-src"] == "'none'"
    assert rules["script-src"].split() == [sha256(script) for script in scripts]
    assert rules["style-src"] == sha256(styles[0])
    assert "unsafe" not in policy and "http" not in policy


def test_the_page_refers_to_nothing_outside():
    text = page()
    assert not re.search(r"""(?:src|href)\s*=\s*["'](?!#)""", text)
    assert "url(" not in asset("report.css") and "@import" not in asset("report.css")
    for name in SCRIPTS:
        script = asset(name)
        assert not re.search(r"fetch\(|XMLHttpRequest|import\(|innerHTML", script), name
        assert set(re.findall(r"https?://[^\s\"'`]+", script)) <= {
            "http://www.w3.org/2000/svg"
        }


def test_text_that_looks_like_a_placeholder_stays():
    assert page().count("$x ${y}") == len(PARTS) + 2
    assert page()[:4000].count(SIGN) == 1


def test_the_bundle_says_what_it_is_made_of():
    licences = asset("LICENSES.txt")
    for package in ("sigma 3.0.3", "graphology 0.26.0", "events 3.3.0"):
        assert package in licences
    assert "3.0.3" in asset("README.md") and "esbuild" in asset("README.md")
