"""The sections of the page: what their numbers are, and what is said without any."""

import re

import numpy as np
import pandas as pd
import pytest
import torch
from support.small_data import block_graph

from sgat.explaining.removal import RemovalPoint, describe_removal
from sgat.gates import HardConcrete
from sgat.graph import Graph
from sgat.report.sections import BINS, degree_card, score_cards, training_cards
from sgat.scored import EdgeScores

CURVE = [
    RemovalPoint(0.0, -9.0, 0.5, 0.25),
    RemovalPoint(0.5, -1.0, 0.75, 0.5, is_trained=True),
]


def charts(found):
    return [card.chart for card in found]


def cards(edges, *, is_judged=False):
    return score_cards(edges, CURVE, "accuracy", is_judged=is_judged)


def edge_scores(log_alpha):
    ends = torch.zeros(2, len(log_alpha), dtype=torch.long)
    ends[1] = torch.arange(len(log_alpha)) + 1
    graph = Graph.from_edges(ends, 1 + len(log_alpha))
    return EdgeScores.from_log_alpha(torch.tensor(log_alpha), graph, HardConcrete())


@pytest.mark.parametrize("case", ["spread", "all above", "all below", "one value"])
def test_gates_are_counted_on_their_side_of_one_half(case):
    random = np.random.default_rng(0)
    threshold = HardConcrete().threshold
    scores = {
        "spread": random.standard_normal(500) + threshold,
        "all above": random.uniform(0, 1, 70),
        "all below": random.uniform(-9, -2, 70),
        "one value": np.full(13, threshold),
    }[case].astype(np.float32)
    found = edge_scores(scores.tolist())
    (chart, _), half = charts(cards([found])), len(BINS) // 2
    kept, removed = map(np.array, chart.data["y"])
    assert kept.sum() == (scores > threshold).sum() == found.kept.sum()
    assert removed.sum() == (scores <= threshold).sum()
    assert not kept[:half].any()
    if case != "one value":
        assert not removed[half:].any()
    assert "border 0.5" in chart.svg


def test_judged_edges_have_a_section_of_their_own():
    (chart,) = charts(cards([edge_scores([0.5, -9.0])], is_judged=True))
    assert chart.key == "removal"


def test_the_curve_of_removal_is_drawn_as_it_is():
    _, chart = charts(cards([edge_scores([0.0, 0.0]), edge_scores([0.0])]))
    assert chart.data["x"] == [0.0, 0.5]
    assert chart.data["names"] == ["validation", "test"]
    assert chart.data["y"] == [[0.5, 0.75], [0.25, 0.5]]
    assert "this run: 50.0" in chart.svg


def test_a_graph_without_edges_has_no_scores_to_show():
    assert cards([edge_scores([])]) == []


def test_degrees_are_counted_in_growing_bins():
    data = block_graph()
    kept = data.graph.src > data.graph.dst
    removal = describe_removal(data, kept)
    chart = degree_card(removal).chart
    before = np.bincount(data.graph.dst, minlength=data.num_nodes)
    after = np.bincount(data.graph.dst[kept], minlength=data.num_nodes)
    for label, *shares in zip(chart.data["labels"], *chart.data["y"], strict=True):
        ends = [int(end) for end in re.findall(r"\d+", label)]
        low, high = ends[0], 10**9 if label.endswith("+") else ends[-1]
        for share, degree in zip(shares, (before, after), strict=True):
            expected = ((degree >= low) & (degree <= high)).mean()
            assert share == pytest.approx(expected)
    assert sum(chart.data["y"][0]) == pytest.approx(1)


def test_curves_over_epochs_have_the_recorded_values():
    history = pd.DataFrame(
        {
            "epoch": [1, 2, 3],
            "data_loss": [1.0, np.nan, 0.25],
            "val_loss": [None, None, None],
            "val": [0.5, 0.75, 1.0],
            "train": [0.5, 0.5, 0.5],
            "kept_share": [1.0, 0.5, 0.25],
            "open_share": [1.0, 0.5, 0.25],
            "expected_open": [1.0, 0.5, 0.25],
        }
    )
    cards = training_cards(history, 2, "accuracy")
    loss, score, edges = charts(cards)
    assert loss.data["names"] == ["training labels"]
    assert loss.data["y"] == [[1.0, None, 0.25]]
    assert score.data["names"] == ["validation", "training"]
    assert edges.data["y"][0] == [1.0, 0.5, 0.25]
    assert "model of epoch 2" in loss.svg and "Validation chooses" in cards[1].text
    assert cards[0].head == ("epoch", "training labels")
    assert cards[0].values == [["1", "1"], ["2", "–"], ["3", "0.25"]]


def test_a_run_without_records_says_so():
    assert training_cards(pd.DataFrame(), 1, "accuracy") == []
