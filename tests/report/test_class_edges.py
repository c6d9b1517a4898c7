import dataclasses

import numpy as np
import torch

from sgat.report.confusion import class_edges
from sgat.scored import score_graphs


def test_edges_are_counted_by_the_predicted_classes_of_their_ends(undirected_run):
    run = undirected_run
    kind = run.scored[0].prediction.tolist()
    expected = np.zeros((2, 3, 3), dtype=int)
    graph = run.graphs[0].graph
    edges = zip(graph.src.tolist(), graph.dst.tolist(), strict=True)
    for (src, dst), is_kept in zip(
        edges, run.scored[0].edges.kept.tolist(), strict=True
    ):
        expected[0, kind[src], kind[dst]] += 1
        expected[1, kind[src], kind[dst]] += is_kept
    found = class_edges(run.scored)
    assert found.names == run.graphs[0].classes
    assert np.array_equal(found.counts, np.stack(expected, axis=-1))


def test_a_graph_without_edges_has_no_table(undirected_run):
    (part,) = undirected_run.scored
    none = torch.zeros(part.data.graph.num_edges, dtype=torch.bool)
    data = dataclasses.replace(part.data, graph=part.data.graph.select(none))
    assert class_edges(score_graphs(undirected_run.model, [data])) is None
