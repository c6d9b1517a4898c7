"""GAT top-k: the formula written as loops, what is removed and when."""

import dataclasses

import pytest
import torch
from support.awkward import GRAPHS, random_edges
from support.small_data import block_graph, several_graphs
from torch import Tensor

from sgat.config import TrainConfig
from sgat.graph import Graph
from sgat.training.loop import Training
from sgat_lab.baselines.gat import GAT
from sgat_lab.baselines.gat_topk import METHOD, GATTopK, fit, is_among_smallest
from sgat_lab.config import MethodConfig
from sgat_lab.trials.evaluation import evaluate

N, K, D, C = 23, 7, 5, 3


@pytest.fixture
def graph() -> Graph:
    return Graph.from_edges(random_edges(N, 127), N)


@pytest.fixture
def x(seed: int) -> Tensor:
    return torch.randn(N, K)


def model(**options) -> GATTopK:
    made = GATTopK(
        K, D, C, heads=2, **({"dropout": 0.3, "attention_dropout": 0.3} | options)
    )
    made.reset_parameters(torch.Generator().manual_seed(1))
    return made.eval()


def settings(**options) -> MethodConfig:
    return MethodConfig(
        method="gat_topk",
        hidden=8,
        dropout=0.2,
        attention_dropout=0.2,
        options=options,
    )


def coefficients_by_loops(made: GAT, x: Tensor, graph: Graph) -> dict:
    """Mean coefficient of the first layer by (target, source), loops included."""
    first = made.convs[0]
    h = (x @ made.projection.weight).view(len(x), 2, D)
    found: dict[tuple[int, int], float] = {}
    for i in range(len(x)):
        row = [*graph.src[graph.dst == i].tolist(), i]
        heads = []
        for head in range(2):
            score = torch.stack(
                [
                    first.att_dst[0, head] @ h[i, head]
                    + first.att_src[0, head] @ h[j, head]
                    for j in row
                ]
            )
            score = torch.where(score > 0, score, 0.2 * score)
            heads.append(score.exp() / score.exp().sum())
        mean = (heads[0] + heads[1]) / 2
        found |= {(i, j): float(a) for j, a in zip(row, mean, strict=True)}
    return found


@torch.no_grad()
def test_edges_are_ranked_by_the_mean_coefficient_of_the_first_layer(x, graph):
    made = model()
    found = coefficients_by_loops(made, x, graph)
    pairs = zip(graph.dst.tolist(), graph.src.tolist(), strict=True)
    expected = torch.tensor([found[pair] for pair in pairs])
    torch.testing.assert_close(made.score_edges(x, graph), expected)
    size = torch.bincount(graph.dst, minlength=N) + 1
    relative = model(rank="relative").score_edges(x, graph)
    torch.testing.assert_close(relative, expected * size[graph.dst.long()])


@torch.no_grad()
@pytest.mark.parametrize("remove", [0.0, 0.3, 0.7, 1.0])
def test_a_pass_is_a_gat_on_the_edges_that_are_left(remove, x, graph):
    made = model(remove=remove)
    plain = GAT(K, D, C, heads=2)
    plain.load_state_dict(made.state_dict())
    score = made.score_edges(x, graph)
    smallest = score.argsort()[: round(remove * graph.num_edges)]
    keep = torch.ones(graph.num_edges, dtype=torch.bool)
    keep[smallest] = False
    output = made.compute(x, graph)
    torch.testing.assert_close(output.logits, plain.eval()(x, graph.select(keep)))
    assert output.num_used == keep.sum()


def test_gradients_are_those_of_a_gat_on_the_edges_that_are_left(x, graph):
    made, plain = model(remove=0.4), GAT(K, D, C, heads=2)
    plain.load_state_dict(made.state_dict())
    score = made.score_edges(x, graph)
    keep = ~is_among_smallest(score, 0.4, graph)
    target = torch.randn(N, C)
    (made(x, graph) * target).sum().backward()
    (plain.eval()(x, graph.select(keep)) * target).sum().backward()
    pairs = zip(made.parameters(), plain.parameters(), strict=True)
    for mine, theirs in pairs:
        torch.testing.assert_close(mine.grad, theirs.grad)


def test_training_ranks_by_the_features_that_dropout_left(x, graph):
    made = model(dropout=0.5).train()
    seed = torch.tensor(5)
    dropped, all_features = made.ranking(x, graph, seed), made.ranking(x, graph)
    assert not torch.allclose(dropped, all_features)
    assert torch.equal(dropped, made.ranking(x, graph, seed)), "no attention dropout"


@pytest.mark.parametrize("name", GRAPHS)
def test_awkward_graphs_lose_the_share(name, seed):
    graph = GRAPHS[name]()
    x = torch.randn(graph.num_nodes, K)
    output = model(remove=0.25).compute(x, graph)
    assert output.num_used == graph.num_edges - round(0.25 * graph.num_edges)
    assert output.logits.isfinite().all()


def test_the_smallest_are_found_by_hand():
    graph = Graph.from_edges(torch.tensor([[0, 1, 2, 3, 0], [1, 0, 1, 2, 3]]))
    score = torch.tensor([0.3, 0.1, 0.2, 0.1, 0.1])
    small = is_among_smallest(score, 0.4, graph)
    assert small.tolist() == [False, True, False, True, False], "first of equals"


def test_merged_graphs_lose_their_share_each():
    small = Graph.from_edges(torch.tensor([[0, 1, 2, 0], [1, 2, 0, 2]]))
    merged = Graph.merge([small, small])
    score = torch.tensor([0.1, 0.2, 0.3, 0.4, 1.1, 1.2, 1.3, 1.4])
    small_ones = is_among_smallest(score, 0.5, merged)
    assert small_ones.tolist() == [True, True, False, False] * 2


@pytest.fixture(scope="module")
def two_phases():
    train = TrainConfig(epochs=9, device="cpu", lr=0.02)
    return fit([block_graph()], settings(remove=0.3, when="converged"), train)


def test_two_trainings_leave_one_run_of_records(two_phases):
    shares = [record.kept_share for record in two_phases.records]
    num_edges = block_graph().graph.num_edges
    left = 1 - round(0.3 * num_edges) / num_edges
    assert shares == pytest.approx([1.0] * 9 + [left] * 9)
    assert [record.epoch for record in two_phases.records] == list(range(1, 19))
    seconds = [record.seconds for record in two_phases.records]
    assert seconds == sorted(seconds)
    assert two_phases.best_epoch > 9
    assert two_phases.best.epoch == two_phases.best_epoch


def test_the_record_of_the_selected_epoch_is_that_of_the_model(two_phases):
    (val,) = evaluate(two_phases.model, [block_graph()], ["val"])
    assert val.score == pytest.approx(two_phases.best.val)


def test_the_second_training_starts_from_the_selected_model(monkeypatch):
    started = []
    train = TrainConfig(epochs=5, device="cpu", lr=0.02)

    def run(self, **options):
        started.append({k: v.clone() for k, v in self.model.state_dict().items()})
        results.append(plain_run(self, **options))
        return results[-1]

    results: list = []
    plain_run = Training.run
    monkeypatch.setattr(Training, "run", run)
    fit([block_graph()], settings(remove=0.3, when="converged"), train)
    selected = results[0].model.state_dict()
    assert len(started) == 2
    for name, tensor in started[1].items():
        if "frozen" not in name:
            assert torch.equal(tensor, selected[name]), name
    assert torch.equal(started[1]["frozen_weight"], selected["projection.weight"])


def test_the_removed_edges_stay_removed_whatever_the_weights_become(x, graph):
    made = model(remove=0.5, when="converged")
    assert made.compute(x, graph).num_used == graph.num_edges
    made.freeze_ranking()
    before = made.score_edges(x, graph)
    assert made.compute(x, graph).num_used == graph.num_edges - round(127 / 2)
    made.reset_parameters(torch.Generator().manual_seed(2))
    assert torch.equal(made.score_edges(x, graph), before)
    made.train()
    assert torch.equal(made.ranking(x, graph, torch.tensor(3)), before), "no dropout"


def test_a_saved_ranking_removes_the_same(two_phases):
    data = block_graph()
    config = settings(remove=0.3, when="converged")
    fresh = METHOD.build(config, data)
    fresh.load_state_dict(two_phases.model.state_dict())
    with torch.no_grad():
        again, first = (
            each.eval().compute(data.x, data.graph)
            for each in (fresh, two_phases.model)
        )
    assert torch.equal(again.logits, first.logits)
    assert again.num_used == first.num_used < data.graph.num_edges


@pytest.mark.parametrize("when", ["start", "converged"])
def test_several_graphs_train_in_batches(when):
    train = TrainConfig(epochs=2, device="cpu", batch_size=2)
    graphs = several_graphs()
    result = fit(graphs, settings(remove=0.5, when=when), train)
    seen = [data.graph for data in graphs if bool((data.train | data.val).any())]
    left = sum(graph.num_edges - round(graph.num_edges / 2) for graph in seen)
    total = sum(graph.num_edges for graph in seen)
    assert result.best.kept_share == pytest.approx(left / total)


def test_the_same_seed_gives_the_same_two_trainings(two_phases):
    train = TrainConfig(epochs=9, device="cpu", lr=0.02)
    again = fit([block_graph()], settings(remove=0.3, when="converged"), train)
    losses = [[r.loss for r in each.records] for each in (two_phases, again)]
    assert losses[0] == losses[1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"remove": 1.5}, "`remove` must be in [0, 1], got 1.5."),
        ({"when": "later"}, "`when` must be start or converged, got 'later'."),
        ({"rank": "size"}, "`rank` must be score or relative, got 'size'."),
    ],
)
def test_options_that_mean_nothing_are_refused(options, message):
    config = dataclasses.replace(settings(), options=options)
    with pytest.raises(ValueError) as error:
        METHOD.build(config, block_graph())
    assert str(error.value) == message
