import dataclasses

import pytest
import torch
import torch.nn.functional as F
from support.small_data import block_graph, several_graphs

from sgat.models import SGAT
from sgat.training.metrics import _cross_entropy, evaluate, loss_on, score_nodes


def test_roles_are_scored_apart_and_missing_ones_are_none():
    data = block_graph()
    model = SGAT(13, 5, 3)
    train, test = evaluate(model, [data], ["train", "test"])
    logits = model.eval()(data.x, data.graph)
    right = logits.argmax(dim=1) == data.y
    assert train.score == pytest.approx(right[data.train].double().mean().item())
    assert test.score == pytest.approx(right[data.test].double().mean().item())
    nobody = torch.zeros_like(data.test)
    assert evaluate(model, [data.with_split(data.train, nobody, nobody)], ["val"]) == [
        None
    ]


def test_several_graphs_are_scored_together():
    graphs = several_graphs()
    model = SGAT(graphs[0].num_features, 5, 7).eval()
    (train,) = evaluate(model, graphs, ["train"])
    logits = torch.cat([model(g.x, g.graph) for g in graphs[:3]])
    labels = torch.cat([g.y for g in graphs[:3]])
    assert train.loss == pytest.approx(loss_on(logits, labels).item())


def test_the_cross_entropy_for_gpus_is_that_of_torch():
    logits = torch.randn(31, 5, dtype=torch.float64)
    # A class that is ruled out has probability 0 and a logarithm without end.
    logits[:, 4] = -torch.inf
    logits.requires_grad_()
    y = torch.randint(4, (31,))
    losses = [function(logits, y) for function in (_cross_entropy, F.cross_entropy)]
    torch.testing.assert_close(*losses)
    grads = [torch.autograd.grad(loss, logits)[0] for loss in losses]
    torch.testing.assert_close(*grads)


def test_without_a_role_test_nodes_are_scored_else_all_that_are_labelled():
    data = block_graph()
    y = data.y.clone()
    y[:100] = -1
    nobody = torch.zeros_like(data.test)
    untested = dataclasses.replace(data.with_split(data.train, nobody, nobody), y=y)
    predicted = torch.randint(3, (data.num_nodes,))
    right = predicted == data.y
    for graph, role, mask in (
        (data, None, data.test),
        (data, "train", data.train),
        (untested, None, y >= 0),
    ):
        score, number = score_nodes([graph], [predicted], role)
        assert number == int(mask.sum()) > 0
        assert score == pytest.approx(right[mask].double().mean().item())
    assert score_nodes([untested], [predicted], "test") == (None, 0)


def test_predictions_on_several_graphs_are_scored_together():
    graphs = several_graphs()
    every = [torch.randn(data.num_nodes, 7) > 0 for data in graphs]
    found, number = score_nodes(graphs, every)
    assert number == graphs[4].num_nodes
    predicted, labels = every[4], graphs[4].y > 0
    both = int((predicted & labels).sum())
    assert found == pytest.approx(2 * both / int(predicted.sum() + labels.sum()))
    trained = sum(data.num_nodes for data in graphs[:3])
    assert score_nodes(graphs, every, "train")[1] == trained
