"""Training by evidence: every graph is judged once, before the epochs start."""

import dataclasses

import pytest
import torch
from support.settings import paper_model
from support.small_data import block_graph
from torch import Tensor

import sgat
from sgat import SGATClassifier
from sgat.config import TrainConfig
from sgat.data.node_data import NodeData, merge
from sgat.features import SparseFeatures
from sgat.graph import Graph
from sgat.judging import EdgeJudge
from sgat.pruning import Rules
from sgat.pruning.choice import apply_rules
from sgat.scored import score_graphs
from sgat.training import checkpoint, files
from sgat.training.epoch import Epochs
from sgat.training.fresh_model import (
    examples,
    fresh_model,
    judge_anew,
    observe,
    resolved,
)
from sgat.training.loop import Training, fit
from sgat_lab.trials.evaluation import evaluate

MODEL = paper_model(hidden=5, heads=2, scorer="evidence")
TRAIN = TrainConfig(epochs=5, device="cpu")


@pytest.fixture(scope="module")
def data() -> NodeData:
    """A small graph on which many edges are clearly wrong."""
    sizes = {"num_nodes": 101, "num_classes": 5, "degree": 8, "num_features": 17}
    return block_graph(**sizes, noise_rate=0.4, feature_signal=3.0)


@pytest.fixture(scope="module")
def judge(data: NodeData) -> EdgeJudge:
    """A judge that has seen the data, as training is to fit it: only to be read."""
    found = EdgeJudge()
    found.fit(examples([data]), seed=TRAIN.seed)
    return found


@pytest.fixture(scope="module")
def odds(judge: EdgeJudge, data: NodeData) -> Tensor:
    """The odds of the data by that judge, some on each side of the border."""
    found = judge.log_odds(data.x, data.graph)
    assert 0 < int((found > 0).sum()) < len(found)
    return found


def in_roles(parts: list[NodeData]) -> list[NodeData]:
    """Five graphs: three train, one validates, one tests."""
    made = []
    for number, part in enumerate(parts):
        every = torch.ones(part.num_nodes, dtype=torch.bool)
        roles = [every if number in who else ~every for who in ((0, 1, 2), (3,), (4,))]
        made.append(part.with_split(*roles))
    return made


@pytest.fixture(scope="module")
def several() -> list[NodeData]:
    """Five graphs of one kind; each verdict takes time, so they are small."""
    return in_roles([block_graph(num_nodes=37 + 2 * k, seed=k) for k in range(5)])


@pytest.fixture
def judged_sizes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Number of edges of each graph that is judged."""
    sizes: list[int] = []
    log_odds = EdgeJudge.log_odds

    def counted(self, x, graph) -> Tensor:
        sizes.append(graph.num_edges)
        return log_odds(self, x, graph)

    monkeypatch.setattr(EdgeJudge, "log_odds", counted)
    return sizes


@pytest.mark.parametrize("batch_size", [None, 2])
@pytest.mark.parametrize("keep", [None, 0.5])
def test_a_fit_judges_each_graph_once_and_what_follows_none(
    judged_sizes: list[int], keep: float | None, batch_size: int | None
):
    # So few edges that a verdict takes no time: how often there is one matters here.
    several = in_roles(
        [block_graph(num_nodes=11 + k, degree=4, seed=k) for k in range(5)]
    )
    config = dataclasses.replace(
        TRAIN, epochs=3, keep=keep, batch_size=batch_size, snapshots=2
    )
    result = fit(several, MODEL, config)
    sizes = [data.graph.num_edges for data in several]
    assert judged_sizes == sizes and len(set(sizes)) == 5
    assert all(data.graph.log_odds is None for data in several)
    for seen, given in zip(result.graphs, several, strict=True):
        assert torch.equal(seen.graph.src, given.graph.src)
        result.model(seen.x, seen.graph)
        result.sgat.log_alpha(seen.x, seen.graph)
        result.sgat.prune(seen.x, seen.graph)
    evaluate(result.model, result.graphs, ["val", "test"])
    assert judged_sizes == sizes


@pytest.fixture(scope="module")
def trained_on_several(several: list[NodeData]) -> Training:
    """Training that has not begun: only to be read."""
    return Training(several, MODEL, TRAIN)


def test_the_odds_of_a_graph_are_its_own_in_every_batch(
    several: list[NodeData], trained_on_several: Training
):
    model, graphs = trained_on_several.model, trained_on_several.graphs
    alone = [model.judge.log_odds(data.x, data.graph) for data in several]
    for data, odds in zip(graphs, alone, strict=True):
        assert torch.equal(data.graph.log_odds, odds)
    for batch_size, steps in ((None, 1), (2, 2)):
        config = dataclasses.replace(TRAIN, batch_size=batch_size)
        epochs = Epochs(model, graphs, config)
        batches = [data.graph.log_odds for _, data, _ in epochs._batches(0)]
        assert len(batches) == steps
        found = torch.cat(batches).sort()[0]
        assert torch.equal(found, torch.cat(alone[:3]).sort()[0])


def test_models_whose_gates_go_by_something_else_see_the_data_as_it_is(
    data: NodeData, judged_sizes: list[int]
):
    result = fit([data], dataclasses.replace(MODEL, scorer="additive"), TRAIN)
    assert judged_sizes == [] and result.graphs[0].graph.log_odds is None
    assert result.sgat.noise_share is None


def test_odds_of_another_judge_are_replaced(data: NodeData, odds: Tensor):
    wrong = torch.full((data.graph.num_edges,), -9.0)
    graph = dataclasses.replace(data.graph, log_odds=wrong)
    given = dataclasses.replace(data, graph=graph)
    found = Training([given], MODEL, TRAIN)
    assert torch.equal(found.graphs[0].graph.log_odds, odds)
    again = judge_anew(found.model, given)
    assert torch.equal(again.graph.log_odds, odds)
    assert torch.equal(given.graph.log_odds, wrong)


def test_only_graphs_with_training_nodes_are_learned_from(several: list[NodeData]):
    assert [example.graph for example in examples(several)] == [
        data.graph for data in several[:3]
    ]
    model = fresh_model(resolved(MODEL, several), several, TRAIN, None)
    learned = []
    for seed in (3, 7):
        parts = [block_graph(num_nodes=31, seed=seed + k) for k in range(2)]
        nobody = torch.zeros(31, dtype=torch.bool)
        val = parts[0].with_split(nobody, ~nobody, nobody)
        test = parts[1].with_split(nobody, nobody, ~nobody)
        found = observe(model, [*several[:2], val, test], seed=0, keep=0.5)
        state = model.judge.state_dict() | model.gating.scorer.state_dict()
        odds = [data.graph.log_odds for data in found[:2]]
        learned.append([part.clone() for part in (*state.values(), *odds)])
    for one, other in zip(*learned, strict=True):
        assert torch.equal(one, other)


def test_only_the_labels_of_training_nodes_are_learned_from(
    data: NodeData, odds: Tensor
):
    model = fresh_model(resolved(MODEL, [data]), [data], TRAIN, None)
    other = dataclasses.replace(data, y=torch.where(data.train, data.y, data.y.flip(0)))
    assert not torch.equal(other.y, data.y)
    (found,) = observe(model, [other], seed=TRAIN.seed)
    assert torch.equal(found.graph.log_odds, odds)
    (example,) = examples([data])
    assert torch.equal(example.label, torch.where(data.train, data.y, -1))


def test_training_follows_the_same_losses_with_every_backend(data: NodeData):
    runs = []
    for backend in ("reference", "cpu"):
        model = dataclasses.replace(MODEL, backend=backend)
        runs.append([record.loss for record in fit([data], model, TRAIN).records])
    assert runs[0] == pytest.approx(runs[1], rel=1e-4)
    assert runs[0][-1] < runs[0][0]


def test_training_fits_the_judge_first_and_leaves_it_as_it_is(
    data: NodeData, judge: EdgeJudge, odds: Tensor, judged_sizes: list[int]
):
    training = Training([data], MODEL, TRAIN)
    fitted, scorer = training.model.judge, training.model.gating.scorer
    for name, part in judge.state_dict().items():
        assert torch.equal(fitted.state_dict()[name], part), name
    while not training.is_done:
        training.run_epochs()
    for name, part in judge.state_dict().items():
        assert torch.equal(fitted.state_dict()[name], part), name
    assert (float(scorer.scale), float(scorer.shift)) == (1, 0)
    assert len(judged_sizes) == 1
    kept = training.records[-1].kept_share
    assert kept == pytest.approx(float((odds > 0).float().mean()))


def test_training_leaves_the_border_where_the_judge_set_it(data: NodeData):
    model = dataclasses.replace(MODEL, gate_bias=True)
    assert TRAIN.l0_weight > 0
    result = fit([data], model, TRAIN)
    assert float(result.sgat.gating.gate_bias) == 0
    (found,) = score_graphs(result.sgat, [data], result.graphs)
    odds = result.graphs[0].graph.log_odds
    assert torch.equal(found.edges.kept, odds > 0)
    assert torch.allclose(found.edges.probability, odds.sigmoid(), atol=1e-6)
    assert result.records[-1].price == 0


def test_a_budget_moves_the_border_and_not_the_probability(data: NodeData):
    config = dataclasses.replace(TRAIN, keep=0.3)
    result = fit([data], dataclasses.replace(MODEL, gate_bias=True), config)
    (found,) = score_graphs(result.sgat, [data], result.graphs)
    odds = result.graphs[0].graph.log_odds
    assert float(result.sgat.gating.scorer.scale) > 1
    assert not torch.equal(found.edges.kept, odds > 0)
    assert torch.allclose(found.edges.probability, odds.sigmoid(), atol=1e-4)
    (ruled,) = apply_rules(
        Rules(keep=0.2), [data], [found.edges], None, result.sgat.gating.gates
    )
    assert torch.equal(ruled.probability, found.edges.probability)


def test_graphs_of_a_batch_are_judged_each_by_itself(
    several: list[NodeData], trained_on_several: Training
):
    model, seen = trained_on_several.model, trained_on_several.graphs
    batch = merge(several)
    found = model.judged(batch.x, batch.graph).log_odds
    assert torch.equal(found, torch.cat([data.graph.log_odds for data in seen]))


def test_sparse_graphs_of_a_batch_are_judged_each_by_itself(
    several: list[NodeData], trained_on_several: Training
):
    model = trained_on_several.model
    sparse = [
        dataclasses.replace(part, x=SparseFeatures.from_dense(part.x))
        for part in several[:2]
    ]
    alone = [model.judged(data.x, data.graph).log_odds for data in sparse]
    batch = merge(sparse)
    found = model.judged(batch.x, batch.graph).log_odds
    assert torch.equal(found, torch.cat(alone))


@pytest.mark.parametrize("noise_rate", [0.0, 0.4])
def test_a_budget_keeps_the_likeliest_edges_open(noise_rate: float):
    data = block_graph(noise_rate=noise_rate, feature_signal=3.0)
    config = dataclasses.replace(TRAIN, keep=0.3, epochs=40)
    model = dataclasses.replace(MODEL, gate_bias=True, symmetric=False)
    result = fit([data], model, config)
    # Training comes to the share as well, or near it where all odds are alike (clean).
    near = 0.02 if noise_rate else 0.35
    assert result.records[-1].expected_open == pytest.approx(0.3, abs=near)
    (seen,) = result.graphs
    log_alpha, odds = result.sgat.log_alpha(seen.x, seen.graph), seen.graph.log_odds
    is_kept = result.sgat.gating.gates.is_kept(log_alpha)
    # Both directions of an edge have the same odds.
    assert abs(int(is_kept.sum()) - round(0.3 * data.graph.num_edges)) <= 1
    assert odds[is_kept].min() >= odds[~is_kept].max()
    gate = result.sgat.gating.gates.value(log_alpha).detach()
    assert float(gate[is_kept].mean()) > 0.4
    # A third of the noise joins one class, as real edges do.
    assert result.sgat.noise_share == pytest.approx(noise_rate * 2 / 3, abs=0.1)


@pytest.mark.judged_anew
@pytest.mark.parametrize("keep", [None, 0.3])
def test_an_interrupted_run_goes_on_to_the_same_bits(
    data: NodeData, tmp_path, keep: float | None
):
    config = dataclasses.replace(TRAIN, keep=keep)
    whole = Training([data], MODEL, config)
    assert (float(whole.model.gating.scorer.scale) > 1) == (keep is not None)
    for _ in range(2):
        whole.run_epochs()
    checkpoint.save(whole, tmp_path / "state.safetensors")
    while not whole.is_done:
        whole.run_epochs()
    resumed = Training([data], MODEL, config)
    checkpoint.restore(resumed, tmp_path / "state.safetensors")
    while not resumed.is_done:
        resumed.run_epochs()
    for name, part in whole.model.state_dict().items():
        assert torch.equal(resumed.model.state_dict()[name], part), name
    losses = [[record.loss for record in run.records] for run in (whole, resumed)]
    assert losses[0] == losses[1]


def test_a_resumed_run_goes_by_the_judge_of_its_file(
    data: NodeData, odds: Tensor, judged_sizes: list[int], tmp_path
):
    path = tmp_path / "state.safetensors"
    begun = Training([data], MODEL, TRAIN)
    begun.run_epochs()
    checkpoint.save(begun, path)
    same = Training([data], MODEL, TRAIN)
    checkpoint.restore(same, path)
    assert len(judged_sizes) == 2, "the same judge does not judge again"
    tensors, state = files.load_tensors(path)
    for group in ("model", "best"):
        tensors[f"{group}.judge.seed"] += 1
    files.save_tensors(path, tensors, state)
    other = Training([data], MODEL, TRAIN)
    checkpoint.restore(other, path)
    (seen,) = other.graphs
    expected = other.model.judge.log_odds(data.x, data.graph)
    assert torch.equal(seen.graph.log_odds, expected)
    assert other.epochs.training[0] is seen and other.epoch == 1
    assert not torch.equal(seen.graph.log_odds, odds)


def test_a_saved_classifier_spreads_the_odds_as_before(data: NodeData, tmp_path):
    clf = SGATClassifier(hidden=5, epochs=3, keep=0.3, device="cpu", fast=True).fit(
        [data]
    )
    assert float(clf.model_.gating.scorer.scale) > 1
    clf.save(tmp_path / "run")
    loaded = sgat.load(tmp_path / "run").model_
    expected = clf.scored_[0].edges.log_alpha
    assert torch.equal(loaded.log_alpha(data.x, data.graph), expected)


def test_a_saved_classifier_knows_its_training_nodes_again(tmp_path):
    # Large enough that other numbers of the nodes change few verdicts.
    data = block_graph(noise_rate=0.4, feature_signal=3.0)
    order = torch.randperm(data.num_nodes, generator=torch.Generator().manual_seed(3))
    place = order.argsort()
    clf = SGATClassifier(hidden=5, epochs=3, device="cpu", fast=True).fit([data])
    clf.save(tmp_path / "run")
    judge = sgat.load(tmp_path / "run").model_.judge
    assert len(judge.known_label) == int(data.train.sum())
    graph = Graph.from_edges(place[data.graph.edge_index], data.num_nodes)
    odds = judge.log_odds(data.x[order], graph)[graph.input_edge]
    expected = clf.model_.judge.log_odds(data.x, data.graph)
    assert ((odds > 0) == (expected > 0)).float().mean() > 0.8
    nobody = dict.fromkeys(("known_fingerprint", "known_label"), torch.zeros(0).long())
    judge.load_state_dict(judge.state_dict() | nobody)
    assert not torch.allclose(judge.log_odds(data.x, data.graph), expected, atol=1e-2)
