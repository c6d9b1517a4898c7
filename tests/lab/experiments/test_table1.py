import dataclasses
import os
from pathlib import Path

import pytest

from sgat_lab.experiments.table1 import (
    NOTES,
    PAPER,
    Counts,
    Row,
    differing,
    render,
    table1,
)

REPOSITORY = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def benchmarks() -> Path:
    given = os.environ.get("SGAT_DATA")
    root = Path(given) if given else REPOSITORY.parent / "shared" / "datasets"
    if not (root / "Planetoid").is_dir():
        pytest.skip(f"no benchmark files in {root}; set SGAT_DATA to their folder")
    return root


@pytest.fixture(scope="module")
def rows(benchmarks):
    return {row.name: row for row in table1(root=benchmarks, download=False)}


def row(paper, ours, notes=()):
    return Row("made", Counts(**paper), Counts(**ours), notes)


def test_our_numbers_differ_from_the_paper_s_only_where_it_is_explained(rows):
    different = {name: differing(row) for name, row in rows.items() if differing(row)}
    assert different == {
        "computers": ["nodes"],
        "photo": ["nodes"],
        "actor": ["features", "homophily"],
    }
    assert all(rows[name].notes for name in different)


def test_the_table_has_all_eleven_rows_of_the_paper(rows):
    assert list(rows) == list(PAPER)
    assert len(rows) == 11
    assert rows["pubmed"].ours == Counts(
        nodes=19717,
        edges=108365,
        features=500,
        classes=3,
        homophily=rows["pubmed"].ours.homophily,
    )
    assert rows["texas"].ours.edges == 741


def test_data_that_is_not_here_is_said_to_be_missing(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (missing,) = table1(root=tmp_path, names=["reddit"])
    assert missing.ours is None
    assert differing(missing) == []
    assert missing.notes == (
        "Not counted here: the file Reddit/raw/reddit_data.npz is missing.",
    )
    assert "114,848,857" in render([missing])


def test_a_small_set_that_is_not_here_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with pytest.raises(ValueError, match=r"out1_node_feature_label\.txt was expected"):
        table1(root=tmp_path, names=["texas"], download=False)


# Nodes, edges, features, classes and H(G) of the paper's rows.
PRINTED = """
cora 2,708 13,264 1,433 7 0.83
citeseer 3,327 12,431 3,703 6 0.71
pubmed 19,717 108,365 500 3 0.79
computers 13,381 505,474 767 10 0.79
photo 7,487 245,812 745 8 0.84
actor 7,600 60,918 931 5 0.24
cornell 183 737 1,703 5 0.11
texas 183 741 1,703 5 0.06
wisconsin 251 1,151 1,703 5 0.16
ppi 56,944 818,716 50 121 -
reddit 232,965 114,848,857 602 41 0.81
"""


def test_the_numbers_of_the_paper_are_those_it_prints():
    lines = [line.split() for line in PRINTED.strip().splitlines()]
    assert [line[0] for line in lines] == list(PAPER)
    for name, *cells in lines:
        printed = [_text(value) for value in dataclasses.astuple(PAPER[name])]
        assert printed == cells, name


def _text(value):
    return "-" if value is None else f"{value:,}"


def test_an_unknown_row_is_refused():
    with pytest.raises(ValueError, match="Table 1 has no row 'karate'; choose from"):
        table1(names=["karate"])


@pytest.mark.parametrize(
    ("paper", "ours", "columns"),
    [
        ({"homophily": 0.16}, {"homophily": 0.1552}, []),
        ({"homophily": 0.16}, {"homophily": 0.1542}, ["homophily"]),
        ({"nodes": 7}, {"nodes": 7, "edges": 11}, []),
        ({"nodes": 7, "edges": 13}, {"nodes": 5, "edges": 11}, ["edges", "nodes"]),
    ],
)
def test_a_number_differs_beyond_the_paper_s_rounding(paper, ours, columns):
    assert differing(row(paper, ours)) == columns


def test_text_marks_differences_and_numbers_the_notes():
    made = row({"nodes": 1009}, {"nodes": 1013, "homophily": 0.12345}, ("Why.",))
    same = dataclasses.replace(made, name="again")
    text = render([made, same])
    lines = text.splitlines()
    assert lines[2].split()[:3] == ["made", "1,013*", "1,009"]
    assert "0.123" in lines[2]
    assert lines[2].endswith("[1]")
    assert lines[3].endswith("[1]")
    assert text.endswith("\n[1] Why.\n")
    assert text.count("Why.") == 1


def test_markdown_has_as_many_cells_in_every_line():
    table = [
        line
        for line in render([row({}, {})], markdown=True).splitlines()
        if line.startswith("|")
    ]
    assert len(table) == 3
    assert {line.count("|") for line in table} == {13}


def test_notes_are_about_rows_of_the_table():
    assert set(NOTES) <= set(PAPER)
