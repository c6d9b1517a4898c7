"""Gates from evidence: log α, when the odds are worked out, and training with them."""

import dataclasses
import importlib
from collections.abc import Iterator

import pytest
import torch
from support.settings import paper_model
from support.small_data import block_graph
from torch import Tensor

import sgat
from sgat import SGATClassifier
from sgat.config import TrainConfig
from sgat.data.node_data import NodeData
from sgat.features import SparseFeatures
from sgat.gates import HardConcrete
from sgat.graph import Graph
from sgat.judging import EdgeEvidence
from sgat.ops import log_alphas, open_edges
from sgat.scorers import EvidenceScorer
from sgat.scorers.evidence import odds
from sgat.training import checkpoint
from sgat.training.loop import Training, fit

THRESHOLD = HardConcrete().threshold
MODEL = paper_model(hidden=5, heads=2, scorer="evidence")
TRAIN = TrainConfig(epochs=5, device="cpu", l0_weight=1e-4)


@pytest.fixture(autouse=True, scope="module")
def few_pairs() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        module = importlib.import_module("sgat.judging.evidence")
        patch.setattr(module, "MOST_PAIRS", 2003)
        yield


@pytest.fixture
def data() -> NodeData:
    return block_graph(noise_rate=0.4, feature_signal=3.0)


@pytest.fixture
def scorer(data: NodeData) -> EvidenceScorer:
    found = EvidenceScorer(13, 3, 7, threshold=THRESHOLD)
    found.observe([data], seed=0)
    return found


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """One entry for each time that odds are worked out."""
    made: list[int] = []
    forward = EdgeEvidence.forward

    def counted(self, x, graph) -> Tensor:
        made.append(1)
        return forward(self, x, graph)

    monkeypatch.setattr(EdgeEvidence, "forward", counted)
    return made


def test_log_alpha_is_the_odds_and_the_threshold(data: NodeData, scorer):
    h = torch.randn(data.num_nodes, 5)
    scores = scorer(h, data.graph, data.x)
    odds = scorer.evidence(data.x, data.graph)
    log_alpha = log_alphas(data.graph, *scores)
    assert torch.allclose(log_alpha, odds + THRESHOLD)
    assert torch.equal(
        log_alphas(data.graph, *scorer(2 * h, data.graph, data.x)), log_alpha
    )
    opened = open_edges(data.graph, *scores)
    assert torch.equal(opened.edge, (odds > 0).nonzero()[:, 0])
    assert 0 < len(opened.edge) < data.graph.num_edges


def test_odds_are_worked_out_once_for_a_graph(data: NodeData, scorer, calls: list[int]):
    h = torch.randn(data.num_nodes, 5)
    for _ in range(3):
        scorer(h, data.graph, data.x)
    assert len(calls) == 1


def test_odds_are_worked_out_anew_after_weights_are_loaded(
    data: NodeData, scorer, calls: list[int]
):
    h = torch.randn(data.num_nodes, 5)
    before = scorer(h, data.graph, data.x).edge
    other = EvidenceScorer(13, 3, 7, threshold=THRESHOLD)
    scorer.load_state_dict(other.state_dict())
    after = scorer(h, data.graph, data.x).edge
    assert len(calls) == 2
    assert torch.allclose(after, torch.full_like(after, 8 + THRESHOLD))
    assert not torch.equal(before, after)
    scorer.observe([data], seed=0)
    assert torch.equal(scorer(h, data.graph, data.x).edge, before)


@pytest.mark.parametrize("is_sparse", [False, True])
def test_odds_are_worked_out_anew_after_features_change_in_place(
    data: NodeData, scorer, calls: list[int], is_sparse: bool
):
    h, x = torch.randn(data.num_nodes, 5), data.x.clone()
    given = SparseFeatures.from_dense(x) if is_sparse else x
    before = scorer(h, data.graph, given).edge
    (given.value if is_sparse else given)[::2] *= -1
    after = scorer(h, data.graph, given).edge
    assert len(calls) == 2 and not torch.equal(before, after)


def test_odds_are_never_those_of_a_model_or_features_that_are_gone(data: NodeData):
    # Memory is given out again: a new tensor stands where an old one stood.
    h = torch.zeros(data.num_nodes, 1)
    for seed in range(8):
        scorer = EvidenceScorer(13, 3, 7, threshold=THRESHOLD)
        scorer.observe([data], seed)
        for shift in (0.0, 0.5):
            x = data.x + shift * torch.arange(13)
            found = scorer(h, data.graph, x).edge
            expected = scorer.evidence(x, data.graph) + THRESHOLD
            assert torch.equal(found, expected), (seed, shift)
            del x
        del scorer


def test_the_operator_is_registered_as_torch_expects(data: NodeData, scorer):
    graph = data.graph
    ends = graph.dst, graph.src, graph.row_ptr
    learned = list(scorer.evidence.buffers())
    sparse = SparseFeatures.from_dense(data.x)
    for parts in ([data.x], [sparse.row_ptr, sparse.column, sparse.value]):
        torch.library.opcheck(odds, (*ends, parts, 13, learned))


def test_inference_mode_is_no_obstacle(data: NodeData, scorer):
    h = torch.randn(data.num_nodes, 5)
    expected = scorer(h, data.graph, data.x).edge
    with torch.inference_mode():
        x = data.x.clone()
        found = scorer(h, data.graph, x).edge
        x[::2] *= -1
        other = scorer(h, data.graph, x).edge
    assert torch.equal(found, expected) and not torch.equal(other, expected)


def test_reset_forgets(data: NodeData, scorer):
    scorer.reset_parameters()
    found = scorer(torch.randn(data.num_nodes, 5), data.graph, data.x).edge
    assert torch.allclose(found, torch.full_like(found, 8 + THRESHOLD))


def test_odds_are_spread_by_what_the_best_share_needs(monkeypatch, data: NodeData):
    found = torch.arange(data.graph.num_edges).flip(0) / data.graph.num_edges + 3
    monkeypatch.setattr(EdgeEvidence, "forward", lambda self, x, graph: found)
    scorer = EvidenceScorer(13, 3, 7, threshold=THRESHOLD)
    # 211 of 2110 odds from 3.9 to 4: their mean is 105 steps above the least.
    scorer.observe([data], seed=0, keep=0.1)
    assert float(scorer.scale) == pytest.approx(2 / (105 / 2110), rel=1e-5)
    log_alpha = scorer(data.x, data.graph, data.x).edge
    assert float(log_alpha.mean()) == pytest.approx(3.5 + THRESHOLD, abs=1e-3)
    best = log_alpha.topk(211).values
    assert float(best.mean() - best.min()) == pytest.approx(2, rel=1e-4)


@pytest.mark.parametrize(
    ("factor", "keep", "scale"),
    [(1.0, None, 1), (1.0, 0.5, 4 * 2), (16.0, 0.5, 1), (0.0, 0.5, 100)],
)
def test_odds_are_not_spread_where_free_far_apart_or_the_same(
    monkeypatch, data: NodeData, factor: float, keep: float | None, scale: float
):
    steps = torch.linspace(0, 1, data.graph.num_edges)
    monkeypatch.setattr(EdgeEvidence, "forward", lambda self, x, graph: steps * factor)
    scorer = EvidenceScorer(13, 3, 7, threshold=THRESHOLD)
    scorer.observe([data], seed=0, keep=keep)
    assert float(scorer.scale) == pytest.approx(scale, rel=2e-3)
    found = scorer(data.x, data.graph, data.x).edge
    if scale == 1:
        assert torch.equal(found, steps * factor + THRESHOLD)
    scorer.observe([data], seed=0)
    assert (float(scorer.scale), float(scorer.shift)) == (1, 0)


def test_without_edges_a_share_spreads_nothing(data: NodeData):
    graph = Graph.from_edges(torch.zeros(2, 0).long(), data.num_nodes)
    scorer = EvidenceScorer(13, 3, 7, threshold=THRESHOLD)
    scorer.observe([dataclasses.replace(data, graph=graph)], seed=0, keep=0.5)
    assert (float(scorer.scale), float(scorer.shift)) == (1, 0)


def test_training_follows_the_same_losses_with_every_backend(data: NodeData):
    runs = []
    for backend in ("reference", "cpu"):
        model = dataclasses.replace(MODEL, backend=backend)
        runs.append([record.loss for record in fit([data], model, TRAIN).records])
    assert runs[0] == pytest.approx(runs[1], rel=1e-4)
    assert runs[0][-1] < runs[0][0]


def test_training_looks_at_the_data_first_and_leaves_what_it_saw(
    data: NodeData, calls: list[int]
):
    training = Training([data], MODEL, TRAIN)
    scorer = training.model.gating.scorer
    seen = {name: part.clone() for name, part in scorer.state_dict().items()}
    alone = EdgeEvidence(13, 3).fit([data], seed=TRAIN.seed)
    for name, part in alone.state_dict().items():
        assert torch.equal(seen[f"evidence.{name}"], part), name
    while not training.is_done:
        training.run_epochs()
    for name, part in scorer.state_dict().items():
        assert torch.equal(seen[name], part), name
    assert len(calls) == 1, "training and evaluation share the odds of a graph"
    kept = training.records[-1].kept_share
    odds = alone(data.x, data.graph)
    bias = training.model.gating.gate_bias
    shift = 0.0 if bias is None else float(bias.detach())
    assert kept == pytest.approx(float((odds + shift > 0).float().mean()))


@pytest.mark.parametrize("noise_rate", [0.0, 0.4])
def test_a_budget_keeps_the_likeliest_edges_open(noise_rate: float):
    data = block_graph(noise_rate=noise_rate, feature_signal=3.0)
    config = dataclasses.replace(TRAIN, keep=0.3, epochs=40)
    model = dataclasses.replace(MODEL, gate_bias=True, symmetric=False)
    result = fit([data], model, config)
    # Training comes to the share as well, however sure all odds are (clean: 3000 : 1).
    assert result.records[-1].expected_open == pytest.approx(0.3, abs=0.02)
    log_alpha = result.sgat.log_alpha(data.x, data.graph)
    is_kept = result.sgat.gating.gates.is_kept(log_alpha)
    # Both directions of an edge have the same odds.
    assert abs(int(is_kept.sum()) - round(0.3 * data.graph.num_edges)) <= 1
    odds = result.sgat.gating.scorer.evidence(data.x, data.graph)
    assert odds[is_kept].min() >= odds[~is_kept].max()
    gate = result.sgat.gating.gates.value(log_alpha).detach()
    assert float(gate[is_kept].mean()) > 0.4
    assert result.sgat.noise_share == pytest.approx(noise_rate, abs=0.15)


@pytest.mark.parametrize("keep", [None, 0.3])
def test_an_interrupted_run_goes_on_to_the_same_bits(
    data: NodeData, tmp_path, keep: float | None
):
    config = dataclasses.replace(TRAIN, keep=keep)
    whole = Training([data], MODEL, config)
    assert (float(whole.model.gating.scorer.scale) > 1) == (keep is not None)
    while not whole.is_done:
        whole.run_epochs()
    begun = Training([data], MODEL, config)
    for _ in range(2):
        begun.run_epochs()
    begun.save(tmp_path / "state.safetensors")
    resumed = Training([data], MODEL, config)
    resumed.restore(tmp_path / "state.safetensors")
    while not resumed.is_done:
        resumed.run_epochs()
    for name, part in whole.model.state_dict().items():
        assert torch.equal(resumed.model.state_dict()[name], part), name
    losses = [[record.loss for record in run.records] for run in (whole, resumed)]
    assert losses[0] == losses[1]


def test_a_run_from_before_odds_were_spread_goes_on_without(data: NodeData, tmp_path):
    config, path = dataclasses.replace(TRAIN, keep=0.3), tmp_path / "state.safetensors"
    begun = Training([data], MODEL, config)
    begun.model.gating.scorer.scale.fill_(1)
    begun.model.gating.scorer.shift.fill_(0)
    while not begun.best_epoch:
        begun.run_epochs()
    begun.save(path)
    tensors, state = checkpoint.load_tensors(path)
    spread = [name for name in tensors if name.endswith(("scorer.scale", "r.shift"))]
    assert len(spread) == 4, "of the model and of the best one"
    for name in spread:
        del tensors[name]
    checkpoint.save_tensors(path, tensors, state)
    resumed = Training([data], MODEL, config)
    resumed.restore(path)
    for model in (resumed.model, resumed.selected_model()):
        scorer = model.gating.scorer
        assert (float(scorer.scale), float(scorer.shift)) == (1, 0)
    begun.run_epochs()
    resumed.run_epochs()
    assert begun.records[-1].loss == resumed.records[-1].loss


def test_a_saved_classifier_spreads_the_odds_as_before(data: NodeData, tmp_path):
    clf = SGATClassifier(hidden=5, epochs=3, keep=0.3, device="cpu").fit([data])
    assert float(clf.model_.gating.scorer.scale) > 1
    clf.save(tmp_path / "run")
    loaded = sgat.load(tmp_path / "run").model_
    expected = clf.model_.log_alpha(data.x, data.graph)
    assert torch.equal(loaded.log_alpha(data.x, data.graph), expected)


def test_a_saved_classifier_knows_its_training_nodes_again(data: NodeData, tmp_path):
    order = torch.randperm(data.num_nodes, generator=torch.Generator().manual_seed(3))
    place = order.argsort()
    clf = SGATClassifier(hidden=5, epochs=3, device="cpu").fit([data])
    clf.save(tmp_path / "run")
    evidence = sgat.load(tmp_path / "run").model_.gating.scorer.evidence
    assert len(evidence.known_label) == int(data.train.sum())
    graph = Graph.from_edges(place[data.graph.edge_index], data.num_nodes)
    odds = evidence(data.x[order], graph)[graph.input_edge]
    expected = clf.model_.gating.scorer.evidence(data.x, data.graph)
    assert torch.allclose(odds, expected, atol=1e-3)
    nobody = dict.fromkeys(("known_fingerprint", "known_label"), torch.zeros(0).long())
    evidence.load_state_dict(evidence.state_dict() | nobody)
    assert not torch.allclose(evidence(data.x, data.graph), expected, atol=1e-2)
