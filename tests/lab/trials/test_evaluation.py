import pytest
import torch
from support.small_data import block_graph, several_graphs

from sgat.models import SGAT
from sgat.training.metrics import loss_on
from sgat_lab.trials.evaluation import evaluate


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
