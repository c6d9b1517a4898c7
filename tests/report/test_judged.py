"""The section and the page on judged edges: numbers, words, and ids of any kind."""

import dataclasses
import html
import json
import re

import numpy as np
import pandas as pd
import pytest
import torch
from support.judged_rows import rows_judged, write_page
from support.small_data import block_graph

from sgat.judging.edge_judge import judge
from sgat.judging.promise import choose_removed
from sgat.judging.reasons import REASONS
from sgat.report.judged import MOST_SUSPECTS, JudgedPart, JudgedTally, run_section
from sgat.report.page import is_report
from sgat.scored import EdgeScores, ScoredGraph

NASTY = ("<script>window.hacked = 1</script>", "\"'`&", "{{ x }} &lt;")


def part(probability, ends=None, *, limit=0.5, name="g"):
    probability = np.asarray(probability, dtype=np.float32)
    size = len(probability)
    src, dst = ends if ends is not None else (np.zeros(size, int), np.arange(size) + 1)
    ids = np.array([f"n{k}" for k in range(max(size, 2) + 1)], dtype=object)
    reason = np.zeros(size, dtype=int)
    return JudgedPart(name, ids, src, dst, probability, probability <= limit, reason)


def section_of(parts):
    tally = JudgedTally()
    for graph, each in enumerate(parts):
        tally.add(each, graph)
    return tally.section()


@pytest.fixture
def judged(tmp_path):
    """Rows of a file with a loop, nasty ids and probabilities of our own."""
    names = [*NASTY, "d", "e"]
    rows = [(0, 1), (2, 0), (3, 3), (1, 2), (4, 0), (2, 1)]
    edges = pd.DataFrame([(names[a], names[b]) for a, b in rows])
    edges.columns = ["src", "dst"]
    edges.to_csv(tmp_path / "edges.csv", index=False)
    wanted = np.array([0.9, 0.125, 1.0, 0.25, 0.75, 0.25])
    found = rows_judged(tmp_path / "edges.csv", wanted)
    found.reason[found.probability < 0.2] = REASONS.index("its ends are unlike")
    return found


def text_of(judged, path, why="those", **promise):
    write_page(judged, path, why, **promise)
    return path.read_text(encoding="utf-8")


def rows_of(text):
    table = re.search(r'<table class="full sortable">(.*?)</table>', text, re.DOTALL)
    rows = re.findall(r"<tr>(<td.*?)</tr>", table[1], re.DOTALL)
    found = [re.findall(r"<td[^>]*>(.*?)</td>", row, re.DOTALL) for row in rows]
    cells = [[re.sub(r"</?bdi[^>]*>", "", cell) for cell in row] for row in found]
    return [[html.unescape(cell) for cell in row] for row in cells]


def test_expected_numbers_are_sums_of_probabilities():
    random = np.random.default_rng(0)
    parts = [part(random.random(997)), part(random.random(13)), part([])]
    section = section_of(parts)
    every = np.concatenate([p.probability for p in parts]).astype(float)
    for level in (*section.levels, section.suspicious, section.removed, section.every):
        chosen = every[every <= level.limit]
        assert level.number == len(chosen) > 0
        assert level.right == pytest.approx(chosen.sum())
        assert level.wrong == pytest.approx((1 - chosen).sum())
    assert (section.every.number, section.suspicious.limit) == (1010, 0.5)
    assert section.removed.number == section.suspicious.number
    counts = {card.chart.key: card.chart.data for card in section.cards}
    stays, goes = map(sum, counts["judged"]["y"])
    assert (stays, goes) == (1010 - section.removed.number, section.removed.number)
    found, among = (np.array(line[1:], float) for line in counts["trade"]["y"])
    limits = counts["trade"]["x"][1:]
    wrong = (1 - every).sum()
    low = [every[every <= limit] for limit in limits]
    assert found == pytest.approx([(1 - p).sum() / wrong for p in low])
    assert among == pytest.approx([p.mean() for p in low])


def test_the_promise_and_the_page_count_the_same(judged, tmp_path):
    gone = judged.choose(find_at_least=0.6)
    of_rows = torch.tensor([0.9, 0.125, 0.25, 0.75, 0.25])
    assert gone.number == choose_removed(of_rows, find_at_least=0.6).number == 3
    text = text_of(judged, tmp_path / "p.html", find_at_least=0.6)
    said = html.unescape(text)
    assert "3 of the 5 edges look wrong" in said
    assert (
        "2.7 wrong edges are expected in all (54.5\u00a0%), 2.4 of them among" in said
    )
    assert f"To remove: {gone.number} edges, those. Of these, 2.4 are" in said
    assert "87.2\u00a0% of all wrong edges, and 0.6 right, 20.8\u00a0% of those" in said


def test_nothing_to_remove_is_said_in_words(tmp_path, judged):
    text = text_of(judged, tmp_path / "p.html", "as 10% say", at_most_wrong=0.01)
    assert "To remove: none. Asked for: as 10\u00a0% say.</p>" in text
    judged.probability[:] = 1
    assert "None of the 5 edges looks wrong. 0.0 wrong" in text_of(
        judged, tmp_path / "q.html"
    )


def test_the_least_likely_edges_come_first_each_once_as_the_user_wrote_them(
    judged, tmp_path
):
    rows = rows_of(text_of(judged, tmp_path / "p.html"))
    a, b, c = NASTY
    fine = REASONS[0]
    assert rows == [
        [c, a, "0.125", "yes", "its ends are unlike"],
        [b, c, "0.250", "yes", fine],
        ["e", a, "0.750", "no", fine],
        [a, b, "0.900", "no", fine],
    ]


def test_text_of_the_user_stays_text_and_the_page_asks_for_nothing(judged, tmp_path):
    text = text_of(judged, tmp_path / "p.html", NASTY[0])
    assert "<script>window" not in text and "&lt;script&gt;window" in text
    assert not re.search(r"""(?:src|href)\s*=\s*["'](?!#)""", text)
    assert len(re.findall(r"<script>", text)) == 2 and "sigma" not in text
    charts = re.search(r'id="charts">(.*?)</script>', text)[1]
    assert set(json.loads(charts)) == {"judged", "trade"}
    # `sgat report` replaces its own pages alone.
    assert not is_report(tmp_path / "p.html") and len(text) < 100_000


def test_of_many_edges_and_graphs_the_worst_are_listed():
    random = np.random.default_rng(1)
    size = 3 * MOST_SUSPECTS
    ends = np.arange(size) % 300, np.arange(size) % 300 + 1
    one, other = random.random(300), random.random(size) / 2
    both = part(np.concatenate([one, one]), (ends[0], ends[1]), name="both")
    back = both._replace(src=np.r_[ends[0][:300], ends[1][:300]])
    back = back._replace(dst=np.r_[ends[1][:300], ends[0][:300]])
    suspects = section_of([back, part(other, name="b")]).suspects
    every = np.sort(np.r_[one, other].astype(np.float32))[:MOST_SUSPECTS]
    assert [s.probability for s in suspects] == pytest.approx(every.tolist())
    assert {s.graph for s in suspects} == {"both", "b"}
    assert {s.why for s in suspects} == {REASONS[0]}
    assert len({s[:3] for s in suspects}) == MOST_SUSPECTS


def test_no_edges_have_no_section():
    assert section_of([part([])]) is None


def test_a_run_is_shown_as_it_was_stored(undirected_run):
    section = run_section(undirected_run.stored(), True)
    table = pd.read_parquet(undirected_run.folder.edges)
    ends = np.sort(table[["src", "dst"]], axis=1)
    table = table[~pd.DataFrame(ends).duplicated().to_numpy()]
    # Each pair counts once, as in the file.
    assert section.every.number == len(table)
    assert section.removed.number == int((~table["kept"]).sum())
    lowest = table["probability"].sort_values()[:MOST_SUSPECTS].to_numpy()
    shown = [suspect.probability for suspect in section.suspects]
    assert shown == pytest.approx(lowest, abs=1e-6)


@pytest.mark.parametrize("has_features", [True, False])
@pytest.mark.parametrize("has_directions", [True, False])
def test_the_reasons_of_a_run_are_those_of_the_judge(has_directions, has_features):
    # A run stores no reasons: they are found again from edges and probabilities.
    noisy = block_graph(
        num_nodes=233, num_classes=13, degree=16.0, undirected=not has_directions
    )
    data = dataclasses.replace(noisy, has_directions=has_directions)
    x = data.x if has_features else None
    found = judge(data.graph, x, data.y)
    scores = EdgeScores(
        log_alpha=found.graph.log_odds,
        probability=found.probability,
        gate=found.probability,
        kept=found.probability > 0.5,
    )
    scored = ScoredGraph(data, scores, data.y, torch.zeros(data.num_nodes, 13))
    section = run_section([scored], has_features)
    ends = zip(data.graph.src.tolist(), data.graph.dst.tolist(), strict=True)
    due = dict(zip(ends, found.reason.tolist(), strict=True))
    wrong = [edge for edge in section.suspects if edge.probability < 0.5]
    assert len(wrong) > 50
    assert [REASONS.index(edge.why) for edge in wrong] == [
        due[edge.src, edge.dst] for edge in wrong
    ]
    assert len({edge.why for edge in wrong}) > has_features
    # Of others a run does not say whether their ends are alike.
    shared = REASONS.index("its ends share neighbours")
    for edge in section.suspects[len(wrong) :]:
        assert (edge.why == REASONS[shared]) == (due[edge.src, edge.dst] == shared)
