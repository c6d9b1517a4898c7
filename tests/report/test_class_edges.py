import re

import numpy as np

from sgat.report.class_edges import class_edges_card, count_class_edges


def test_edges_are_counted_by_the_predicted_classes_of_their_ends(undirected_run):
    run = undirected_run
    every, kept = count_class_edges(run.scored)
    kind = run.scored[0].prediction.tolist()
    expected = np.zeros((2, 3, 3), dtype=int)
    graph = run.graphs[0].graph
    edges = zip(graph.src.tolist(), graph.dst.tolist(), strict=True)
    for (src, dst), is_kept in zip(
        edges, run.scored[0].edges.kept.tolist(), strict=True
    ):
        expected[0, kind[src], kind[dst]] += 1
        expected[1, kind[src], kind[dst]] += is_kept
    assert np.array_equal(every, expected[0])
    assert np.array_equal(kept, expected[1])
    card = class_edges_card(run.scored)
    told = re.findall(r'title="([\d,]+) of ([\d,]+) kept"', card)
    pairs = [(int(a), int(b)) for a, b in told]
    cells = zip(kept.ravel().tolist(), every.ravel().tolist(), strict=True)
    assert pairs == [cell for cell in cells if cell[1]]


def test_names_of_classes_are_escaped(hostile_run):
    run = hostile_run
    card = class_edges_card(run.scored)
    assert "<script>" not in card and "<b>" not in card
