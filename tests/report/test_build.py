import dataclasses
import json
import re

import pandas as pd
import pytest
import torch

from sgat.explaining.removal import STEPS, Contrast, removal_curve, removal_of
from sgat.report.build import write_report
from sgat.report.confusion import confusion
from sgat.report.page import percent
from sgat.scored import score_graphs

LARGEST_PAGE = 15_000_000


def block(text, key):
    pattern = rf'<script type="application/json" id="{key}">(.*?)</script>'
    return json.loads(re.search(pattern, text).group(1))


def tiles(text):
    pairs = re.findall(r"<dt>([^<]*)</dt><dd>([^<]*)</dd>", text)
    return dict(pairs)


def test_the_share_of_a_few_nodes_is_given_as_their_number(hostile_run, tmp_path):
    write_report(hostile_run.content(), tmp_path / "r.html")
    text = (tmp_path / "r.html").read_text(encoding="utf-8")
    counts = confusion(hostile_run.stored()).counts
    totals = counts.sum(axis=1).tolist()
    assert 0 < min(totals) < 10
    for right, total in zip(counts.diagonal().tolist(), totals, strict=True):
        shown = f"{right} of {total}" if total < 10 else percent(right / total)
        assert f"<td>{shown}</td></tr>" in text


def test_the_numbers_are_those_of_the_run(hostile_run, tmp_path):
    report = write_report(hostile_run.content(), tmp_path / "r.html")
    text = (tmp_path / "r.html").read_text(encoding="utf-8")
    summary = hostile_run.summary
    shown = tiles(text)
    assert shown["Test accuracy"] == percent(summary["accuracy"], 2)
    assert shown["Edges removed"] == percent(summary["removed_share"])
    assert f"{summary['edges_removed']:,} of {summary['edges']:,}" in text
    charts = block(text, "charts")
    assert set(charts) == {
        *("loss", "score", "open", "removal", "degrees", "judged", "trade"),
    }
    lines = hostile_run.folder.metrics.read_text().splitlines()
    losses = [json.loads(line)["data_loss"] for line in lines]
    assert charts["loss"]["y"][0] == losses
    table = pd.read_parquet(hostile_run.folder.edges)
    assert sum(charts["judged"]["y"][0]) == int(table["kept"].sum())
    assert block(text, "graph-data")["edges"] == report.edges == len(table)
    assert len(block(text, "removal-curve")) == len(report.curve) == STEPS + 2
    assert report.bytes == (tmp_path / "r.html").stat().st_size < LARGEST_PAGE
    json.dumps(report.to_dict())


def test_estimated_noise_is_shown_where_the_run_knows_it(hostile_run, tmp_path):
    share = hostile_run.model.judge.noise_share
    assert hostile_run.summary["noise_share"] == share
    content = hostile_run.content()
    for summary, shown in (
        (hostile_run.summary, percent(share)),
        (hostile_run.summary | {"noise_share": 0.234, "keep": None}, percent(0.234)),
        (hostile_run.summary | {"noise_share": None}, None),
    ):
        changed = dataclasses.replace(content, summary=summary)
        write_report(changed, tmp_path / "r.html")
        text = (tmp_path / "r.html").read_text(encoding="utf-8")
        assert tiles(text).get("Estimated noise") == shown
        count = round(0.234 * summary["edges"])
        told = f"about {count} of {summary['edges']} edges"
        assert (told in text) == (shown == percent(0.234))
        charts = block(text, "charts")
        assert ("judged" in charts) == ('id="suspects"' in text) == (shown is not None)


def test_the_same_run_gives_the_same_bytes(hostile_run, tmp_path):
    for name in ("a.html", "b.html"):
        write_report(hostile_run.content(), tmp_path / name)
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


def test_an_error_leaves_the_earlier_page_as_it_was(hostile_run, tmp_path, monkeypatch):
    path = tmp_path / "r.html"
    path.write_text("earlier")

    def fail(*arguments, **options):
        raise ValueError("on the way")

    monkeypatch.setattr("sgat.report.build.build_view", fail)
    with pytest.raises(ValueError, match="on the way"):
        write_report(hostile_run.content(), path)
    assert path.read_text() == "earlier"
    assert [file.name for file in tmp_path.iterdir()] == ["r.html"]


def test_several_graphs_are_drawn_one_at_a_time(several_run, tmp_path):
    content = several_run.content()
    report = write_report(content, tmp_path / "r.html")
    assert report.graph == "part-4"  # the one that is tested on
    assert "one of the 5 graphs" in report.notes[0]
    other = write_report(content, tmp_path / "r.html", graph="part-1")
    assert other.edges == several_run.graphs[1].graph.num_edges
    total = sum(data.graph.num_edges for data in several_run.graphs)
    assert other.removal.before.edges == total
    text = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "Each label" in text and "Confusion matrix" not in text
    assert "Test micro-F1" in text and "Micro-F1 against" in text
    with pytest.raises(ValueError, match=r"must be one of part-0, part-1.*'part-9'"):
        write_report(content, tmp_path / "r.html", graph="part-9")


def test_a_graph_without_edges_or_test_nodes_has_a_page(hostile_run, tmp_path):
    content, data = hostile_run.content(), hostile_run.graphs[0]
    none = torch.zeros(data.graph.num_edges, dtype=torch.bool)
    nobody = torch.zeros_like(data.test)
    bare = dataclasses.replace(data, graph=data.graph.select(none))
    bare = bare.with_split(data.train, nobody, nobody)
    scored = score_graphs(hostile_run.model, [bare])
    summary = {**content.summary, "accuracy": None, "validation": None}
    summary |= {"edges": 0, "edges_removed": 0, "removed_share": 0.0, "test_nodes": 0}
    changed = dataclasses.replace(
        content,
        summary=summary,
        scored=scored,
        history=content.history[:0],
        removal=removal_of(scored),
        curve=removal_curve(hostile_run.model, scored),
        snapshots=None,
    )
    report = write_report(changed, tmp_path / "r.html")
    text = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert report.edges == 0 and len(report.curve) == 1
    assert "no edges" in text and "training nodes are right" in text
    assert "No epoch was recorded" in text


def test_a_page_of_many_classes_stays_small(tmp_path, large_run):
    report = write_report(large_run.content(), tmp_path / "r.html")
    assert not report.whole
    assert report.edges_in_page == report.edges
    assert report.bytes < LARGEST_PAGE


def test_what_was_removed_is_told_in_two_tables(hostile_run, tmp_path):
    content = hostile_run.content()
    contrasts = (
        Contrast("same_label", "same label", 0.5, 0.25),
        Contrast("common_neighbours", "common", 3.0, None, is_sampled=True),
    )
    removal = dataclasses.replace(content.removal, contrasts=contrasts, sample=7)
    write_report(dataclasses.replace(content, removal=removal), tmp_path / "r.html")
    text = (tmp_path / "r.html").read_text(encoding="utf-8")
    before, after = removal.before, removal.after
    assert f"<td>{before.edges:,}</td><td>{after.edges:,}</td>" in text
    rows = re.findall(r'<th scope="row">([^<]*)</th><td>([^<]*)</td><td>([^<]*)', text)
    assert ("same label", "50.0\u00a0%", "25.0\u00a0%") in rows
    assert ("common *", "3", "–") in rows
    # A share has a scale to 1; other numbers one to the larger of the two.
    widths = re.findall(r'class="box s\d" x="0" y="\d+" height="9" width="(.*?)"', text)
    assert widths == ["75.0", "37.5", "150.0", "0.0"]
    assert "look at 7 kept and as many removed" in text
