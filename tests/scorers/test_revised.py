"""Judged odds that training corrects: from the judge on, and no further than labels."""

import dataclasses
import re

import pytest
import torch
import torch.nn.functional as F
from support.awkward import GRAPHS
from support.small_data import block_graph, several_graphs
from torch import Tensor

import sgat
from sgat import SGAT
from sgat.config import TrainConfig
from sgat.gates import HardConcrete
from sgat.graph import Graph
from sgat.ops import log_alphas
from sgat.scorers import EvidenceScorer, RevisedScorer
from sgat.training.loop import Training, fit

THRESHOLD = HardConcrete().threshold


def scorer(**options) -> RevisedScorer:
    return RevisedScorer(5, 3, threshold=THRESHOLD, **options)


def judged(name: str = "random directed") -> Graph:
    graph = GRAPHS[name]()
    return dataclasses.replace(graph, log_odds=torch.randn(graph.num_edges) * 3)


@pytest.mark.parametrize("use", ["remove", "weigh"])
def test_without_training_it_is_evidence(use: str, seed: int):
    graph, h = judged(), torch.randn(23, 5)
    found = scorer(judged_edges=use)(h, graph)
    expected = EvidenceScorer(threshold=THRESHOLD, judged_edges=use)(h, graph)
    assert torch.equal(found.edge, expected.edge)
    options = {"heads": 2, "judged_edges": use, "gate_bias": 0.0}
    revised = SGAT(5, 7, 3, scorer="revised", **options)
    plain = SGAT(5, 7, 3, scorer="evidence", **options)
    plain.load_state_dict(revised.state_dict(), strict=False)
    one, other = (model.compute(h, graph, seed=seed) for model in (revised, plain))
    assert torch.equal(one.logits, other.logits)
    assert one.extra_loss.detach() == 0 and other.extra_loss is None


@pytest.mark.parametrize("name", list(GRAPHS))
def test_the_correction_and_its_price_are_those_of_the_formula(name: str, seed: int):
    graph, module = judged(name), scorer().double()
    for part in module.pairs.parameters():
        torch.nn.init.normal_(part)
    h = torch.randn(graph.num_nodes, 5, dtype=torch.float64)
    u = h / h.norm(dim=1, keepdim=True)
    src, dst = graph.edge_index
    q, k = u @ module.pairs.query_weight, u @ module.pairs.key_weight
    ends = u @ module.pairs.additive.weight
    c = (q[dst] * k[src]).sum(1) + ends[dst, 0] + ends[src, 1]
    scores = module(h, graph)
    odds = graph.log_odds.double() + THRESHOLD
    torch.testing.assert_close(log_alphas(graph, *scores), odds + c)
    module.learn_from(17)
    mean = c.square().sum() / max(graph.num_edges, 1)
    torch.testing.assert_close(module.price_of(scores, graph), mean / 17)


def test_the_price_is_part_of_the_loss_with_a_budget_too(seed: int):
    graph = judged("random undirected")
    model = SGAT(5, 7, 3, scorer="revised", symmetric=True)
    for part in model.gating.scorer.pairs.parameters():
        torch.nn.init.normal_(part)
    output = model.compute(torch.randn(graph.num_nodes, 5), graph, seed=seed)
    (grad,) = torch.autograd.grad(
        output.extra_loss, model.gating.scorer.pairs.key_weight
    )
    assert output.extra_loss.detach() > 0 and bool(grad.any())
    data = block_graph(num_nodes=61)
    config = TrainConfig(epochs=3, keep=0.5, device="cpu")
    settings = {"scorer": "revised", "readout": "linear", "hidden": 5}
    losses = {}
    for price in (0.0, 1e4):
        training = Training([data], sgat.ModelConfig(**settings), config)
        training.model.gating.scorer.price.fill_(price)
        for _ in range(3):
            training.run_epochs()
        losses[price] = training.model.gating.scorer.pairs.key_weight.abs().mean()
    assert losses[1e4] < losses[0.0]


def misled(seed: int) -> tuple[Tensor, Tensor, Graph, Tensor]:
    """Features, classes and real edges; those of every second node mislead."""
    draw, size = torch.Generator().manual_seed(seed), 307
    y = torch.randint(2, (size,), generator=draw)
    kind = torch.arange(size) % 2
    x = torch.randn(size, 8, generator=draw)
    x[:, :2] += 0.7 * (2 * y[:, None] - 1)
    x[:, 2] = 4.0 * kind - 2
    src, dst = torch.randint(size, (2, 8 * size), generator=draw)
    fits = (src != dst) & ((y[src] == y[dst]) == (kind[src] == 0))
    graph = Graph.from_edges(torch.stack([src[fits], dst[fits]]), size)
    odds = torch.full((graph.num_edges,), 2.0)
    graph = dataclasses.replace(graph, weight=None, log_odds=odds)
    return x, y, graph, kind[graph.src.long()] == 1


@pytest.mark.parametrize(
    "use", ["remove", pytest.param("weigh", marks=pytest.mark.slow)]
)
def test_labels_move_gates_and_few_labels_do_not(use: str, seed: int):
    x, y, graph, misleads = misled(seed)
    moved = {}
    for labels in (4, 250):
        torch.manual_seed(seed)
        model = SGAT(8, 16, 2, scorer="revised", judged_edges=use)
        model.gating.scorer.learn_from(labels)
        adam = torch.optim.Adam(model.parameters(), 0.01)
        before = model.log_alpha(x, graph).detach()
        for step in range(150):
            output = model.compute(x, graph, seed=step)
            loss = F.cross_entropy(output.logits[:labels], y[:labels])
            adam.zero_grad()
            (loss + output.extra_loss).backward()
            adam.step()
        moved[labels] = (model.log_alpha(x, graph) - before).detach()
    many, few = moved[250], moved[4]
    assert many[misleads].mean() < -0.4 < 0.2 < many[~misleads].mean()
    assert few.abs().mean() < 0.35 * many.abs().mean()


def test_a_classifier_learns_and_is_read_back(tmp_path):
    options = {"hidden": 5, "epochs": 10, "readout": "attention", "device": "cpu"}
    data = block_graph()
    clf = sgat.SGATClassifier(scorer="revised", **options).fit(data)
    model = clf.model_
    assert model.judge is not None and model.gating.scorer.pairs.key_weight.any()
    labels = int(data.train.sum())
    assert float(model.gating.scorer.price) == pytest.approx(1 / labels)
    plain = sgat.SGATClassifier(scorer="evidence", **options).fit(data)
    difference = (clf.edges_["log_alpha"] - plain.edges_["log_alpha"]).abs()
    assert 0 < difference.mean() < 2
    clf.save(tmp_path / "run")
    loaded = sgat.load(tmp_path / "run")
    assert (loaded.predict_proba(data) == clf.predict_proba()).all()
    again = sgat.SGATClassifier(scorer="revised", **options).fit(data)
    assert again.edges_.equals(clf.edges_)


def test_it_learns_on_several_graphs():
    model = sgat.ModelConfig(scorer="revised", readout="linear", hidden=5)
    result = fit(several_graphs(), model, TrainConfig(epochs=2, device="cpu"))
    assert result.sgat.gating.scorer.pairs.key_weight.any()


def test_gates_that_are_all_open_cannot_be_moved():
    sentence = (
        "`judged_edges` must be remove or weigh with the scorer revised, which moves"
        " gates, got 'all'."
    )
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        SGAT(5, 7, 3, scorer="revised", judged_edges="all")
