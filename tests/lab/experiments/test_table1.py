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
    assert "114.6 M" in render([missing])


def test_a_small_set_that_is_not_here_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with pytest.raises(ValueError, match=r"out1_node_feature_label\.txt was expected"):
        table1(root=tmp_path, names=["texas"], download=False)


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
        ({"edges": 114_600_000}, {"edges": 114_649_999}, []),
        ({"edges": 114_600_000}, {"edges": 114_650_001}, ["edges"]),
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
