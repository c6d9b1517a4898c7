import dataclasses

import numpy as np
import pytest
import torch
from sklearn.metrics import confusion_matrix, precision_recall_fscore_support
from support.small_data import block_graph, several_graphs

from sgat.report.confusion import confusion, judged_nodes, label_scores
from sgat.scored import ScoredGraph
from sgat.training import metrics


def predicted(graphs, seed, never=()):
    """The graphs with random predictions; some labels are never predicted."""
    generator = torch.Generator().manual_seed(seed)
    scored = []
    for data in graphs:
        logits = torch.randn(data.num_nodes, data.num_classes, generator=generator)
        logits[:, list(never)] = -99.0
        prediction = metrics.decide(logits, data.is_multilabel)
        scored.append(ScoredGraph(data, None, prediction, logits))
    return scored


def test_counts_are_those_of_the_test_nodes_of_all_graphs(seed):
    graphs = [block_graph(), block_graph(seed=5)]
    scored = predicted(graphs, seed)
    found = confusion(scored)
    true = torch.cat([data.y[data.test] for data in graphs])
    chosen = torch.cat([part.prediction[part.data.test] for part in scored])
    expected = confusion_matrix(true, chosen, labels=range(3))
    assert np.array_equal(found.counts, expected)
    assert found.names == graphs[0].classes
    assert found.nodes == "test nodes"


def test_rare_classes_share_a_row(seed):
    data = block_graph(num_classes=11)
    scored = predicted([data], seed)
    whole, merged = confusion(scored), confusion(scored, most=4)
    assert merged.counts.shape == (4, 4) and merged.names[-1] is None
    assert merged.counts.sum() == whole.counts.sum()
    kept = [data.classes.index(name) for name in merged.names[:-1]]
    assert kept == sorted(kept)
    assert np.array_equal(merged.counts[:3, :3], whole.counts[np.ix_(kept, kept)])
    rest = [k for k in range(11) if k not in kept]
    assert merged.counts[3, 3] == whole.counts[np.ix_(rest, rest)].sum()


def test_without_test_nodes_others_are_judged():
    data = block_graph()
    nobody = torch.zeros_like(data.test)
    for roles, text in (
        ((data.train, data.val, nobody), "validation nodes"),
        ((data.train, nobody, nobody), "training nodes"),
        ((nobody, nobody, nobody), "no nodes"),
    ):
        (part,) = predicted([data.with_split(*roles)], 0)
        assert judged_nodes([part])[-1] == text


def test_labels_are_scored_as_scikit_learn_does(seed):
    graphs = several_graphs()
    # A label nobody has and nobody is predicted to have.
    graphs = [dataclasses.replace(d, y=d.y * (torch.arange(7) != 2)) for d in graphs]
    scored = predicted(graphs, seed, never=[2])
    found, nodes = label_scores(scored)
    precision, recall, f1, support = precision_recall_fscore_support(
        graphs[-1].y > 0, scored[-1].prediction, zero_division=np.nan
    )
    assert nodes == "test nodes"
    order = np.argsort(-support, kind="stable")
    for k, label in zip(order, found, strict=True):
        assert label.name == graphs[0].classes[k]
        assert label.support == support[k]
        for value, expected in (
            (label.precision, precision[k]),
            (label.recall, recall[k]),
            (label.f1, f1[k]),
        ):
            is_none = value is None and np.isnan(expected)
            assert is_none or value == pytest.approx(expected)
    assert found[-1].f1 is None


def test_without_nodes_to_judge_by_no_label_has_a_score():
    data = several_graphs()[0]
    nobody = torch.zeros_like(data.test)
    found, nodes = label_scores(predicted([data.with_split(*[nobody] * 3)], 0))
    assert nodes == "no nodes"
    assert [label[1:] for label in found] == [(0, None, None, None)] * 7
