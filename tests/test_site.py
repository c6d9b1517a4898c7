"""The documentation site: its pages, its reference, and what ends a build."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

import sgat

ROOT = Path(__file__).parents[1]
SITE = ROOT / "docs" / "site"


def part(name):
    """A module of the site, which is no package."""
    spec = importlib.util.spec_from_file_location(name, SITE / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def pages():
    return [name for names in part("site_pages").NAVIGATION.values() for name in names]


def test_the_navigation_has_every_document_once():
    found = {
        path.relative_to(ROOT).with_suffix("").as_posix()
        for pattern in ("*.md", "docs/*.md", "docs/site/*.md", "examples/*.ipynb")
        for path in ROOT.glob(pattern)
    }
    assert len(found) > 20
    assert sorted(pages()) == sorted(found - {"README"})


def test_the_reference_has_every_public_name_and_those_the_documents_import():
    wanted = {f"sgat.{name}" for name in [*sgat.__all__, "JudgeEdges"]}
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        for program in re.findall(
            r"```python\n(.*?)```", path.read_text("utf-8"), re.S
        ):
            for home, names in re.findall(
                r"^from (sgat\b\S*) import (.+)$", program, re.M
            ):
                wanted |= {f"{home}.{name.strip()}" for name in names.split(",")}
    page = (SITE / "api.md").read_text("utf-8")
    described = re.findall(r"^\.\. auto\w+:: (\S+)$", page, re.M)
    assert len(wanted) > 20
    assert not wanted - set(described)
    assert len(described) == len(set(described))


def test_the_index_is_the_readme_without_the_tree():
    pages = part("site_pages")
    text = pages.LEFT_OUT.sub("", (ROOT / "README.md").read_text("utf-8"))
    assert "## The tree" not in text
    assert "sgat/graph/" not in text
    assert text.startswith("# sgat") and "## Commands" in text and "## Cite" in text


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (
            ["Sum.", "", "    a = *b* | c_", "", "Then `x` and `Graph`."],
            ["Sum.", "", "::", "", "    a = *b* | c_", "", "Then ``x`` and `Graph`."],
        ),
        (
            ["Args:", "    x: Of `y`s, |x| and a*b.", "    z_: A name_."],
            ["Args:", r"    x: Of ``y``\ s, \|x\| and a\*b.", r"    z\_: A name\_."],
        ),
        (
            ["* one", "  more", "* `two", "  lines`"],
            ["* one", "  more", "* ``two", "  lines``"],
        ),
    ],
    ids=["formula", "signs", "list"],
)
def test_docstrings_become_what_sphinx_reads(given, wanted):
    assert part("site_docstrings").as_sphinx_reads(given) == wanted


@pytest.fixture(scope="module")
def small_site(tmp_path_factory):
    """The navigation with pages of one line each."""
    place = tmp_path_factory.mktemp("site")
    for name in pages():
        path = place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.with_suffix(".md").write_text(f"# {path.name}\n", encoding="utf-8")
    (place / "benchmarks").mkdir()
    (place / "benchmarks" / "some.csv").write_text("a\n", encoding="utf-8")
    return place


def build(place, readme):
    (place / "README.md").write_text(f"# Index\n\n{readme}\n", encoding="utf-8")
    options = ["--fail-on-warning", "--keep-going", "--conf-dir", str(SITE)]
    more = ["-D", "include_patterns=**.md", str(place), str(place / "build")]
    return subprocess.run(
        [sys.executable, "-m", "sphinx", "--quiet", *options, *more],
        capture_output=True,
        text=True,
        timeout=300,
    )


# A process each: 12 seconds.
@pytest.mark.promise
@pytest.mark.slow
@pytest.mark.parametrize(
    ("link", "fault"),
    [
        ("[guide](docs/guide.md#guide) [rows](benchmarks/some.csv)", None),
        ("[guide](docs/guid.md)", "docs/guid.md"),
        ("[guide](docs/guide.md#nowhere)", "nowhere"),
        ("[below](#nowhere)", "nowhere"),
        ("[rows](benchmarks/other.csv)", "other.csv"),
        ("![picture](docs/images/none.png)", "none.png"),
    ],
    ids=["right", "page", "anchor", "own anchor", "file", "picture"],
)
def test_a_link_without_a_target_ends_the_build(small_site, link, fault):
    for tool in ("sphinx", "myst_parser", "furo"):
        pytest.importorskip(tool)
    done = build(small_site, link)
    assert (done.returncode == 0) == (fault is None), done.stderr
    assert fault is None or fault in done.stderr
