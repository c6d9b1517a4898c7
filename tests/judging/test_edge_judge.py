"""The odds that edges are real, on graphs whose noise is known and on awkward ones."""

import copy
import dataclasses

import pytest
import torch
from sklearn.metrics import roc_auc_score
from support.awkward import GRAPHS
from support.small_data import several_graphs
from torch import Tensor

from sgat.data.node_data import NodeData
from sgat.features import SparseFeatures
from sgat.graph import Graph
from sgat.judging import EdgeJudge, Example
from sgat.judging.known_nodes import KnownNodes
from sgat_lab.synthetic.block_models import contextual_block_model

Block = tuple[NodeData, Tensor]


def block(**options) -> Block:
    """10 classes, so that little noise joins one class by chance."""
    settings = {
        **{"num_nodes": 701, "num_classes": 10, "degree": 20.0, "noise_rate": 0.4},
        **{"feature_signal": 3.0, "num_features": 17, "seed": 1},
    }
    made = contextual_block_model(**(settings | options))
    return made.data, made.is_signal


def small_block(**options) -> Block:
    """Few edges, for what holds whatever they are: each verdict takes time."""
    return block(**({"num_nodes": 101, "num_classes": 5, "degree": 8.0} | options))


def fit(*graphs: NodeData, **options) -> tuple[EdgeJudge, list[Tensor]]:
    """A judge that has seen the graphs, and the odds it gave them meanwhile."""
    found = EdgeJudge()
    examples = [Example.of(d.graph, d.x, d.y, d.train) for d in graphs]
    return found, found.fit(examples, **options)


def odds_of(data: NodeData, **options) -> Tensor:
    return fit(data, **options)[1][0]


@dataclasses.dataclass(frozen=True)
class Known:
    """A graph, a judge that has seen it and the odds it gave: only to be read."""

    data: NodeData
    judge: EdgeJudge
    odds: Tensor


@pytest.fixture(scope="module")
def known() -> Known:
    data, _ = small_block()
    judge, (odds,) = fit(data)
    assert 0 < (odds > 0).float().mean() < 1
    return Known(data, judge, odds)


def test_noise_is_told_from_real_edges():
    data, is_signal = block()
    judge, (odds,) = fit(data)
    assert odds.shape == (data.graph.num_edges,)
    assert roc_auc_score(is_signal, odds) > 0.9
    # A tenth of the noise joins one class, as real edges do.
    assert judge.noise_share == pytest.approx(0.36, abs=0.05)
    assert float((odds <= 0).float().mean()) == pytest.approx(0.4, abs=0.15)
    assert float(is_signal[odds > 0].float().mean()) > 0.8


def test_clean_graphs_keep_almost_every_edge():
    data, _ = block(noise_rate=0.0)
    assert (odds_of(data) > 0).float().mean() > 0.98


def test_before_it_learns_every_edge_counts_as_real(known: Known):
    data = known.data
    fresh = EdgeJudge()
    assert (fresh.log_odds(data.x, data.graph) > 5).all()
    assert fresh.noise_share == 0
    used = copy.deepcopy(known.judge)
    assert used.noise_share > 0
    used.reset_parameters()
    for name, part in fresh.state_dict().items():
        assert torch.equal(used.state_dict()[name], part), name
    assert (used.log_odds(data.x, data.graph) > 5).all()


def test_the_same_seed_finds_the_same_and_another_about_the_same():
    data, _ = block(num_nodes=211)
    odds, same, other = (odds_of(data, seed=seed) for seed in (0, 0, 3))
    assert torch.equal(same, odds)
    assert not torch.equal(other, odds)
    assert ((other > 0) == (odds > 0)).float().mean() > 0.9


def test_the_order_of_the_edges_does_not_matter(known: Known):
    data = known.data
    order = torch.randperm(data.graph.num_edges)
    graph = Graph.from_edges(data.graph.edge_index[:, order], data.num_nodes)
    assert torch.equal(known.judge.log_odds(data.x, graph), known.odds)


def test_weights_and_loops_do_not_matter(known: Known):
    data = known.data
    graph = dataclasses.replace(
        data.graph,
        weight=torch.rand(data.graph.num_edges),
        loop_weight=torch.rand(data.num_nodes),
    )
    found = known.judge.log_odds(data.x, graph)
    assert torch.allclose(found, known.odds, atol=1e-5)


def test_what_was_learned_is_saved_and_loaded(known: Known, tmp_path):
    data = known.data
    torch.save(known.judge.state_dict(), tmp_path / "judge.pt")
    other = EdgeJudge()
    other.load_state_dict(torch.load(tmp_path / "judge.pt", weights_only=True))
    assert torch.equal(other.log_odds(data.x, data.graph), known.odds)
    assert other.noise_share == known.judge.noise_share


@pytest.mark.parametrize("has_classes", [True, False])
def test_fitting_gives_the_odds_of_its_graphs(known: Known, has_classes: bool):
    data = known.data
    one_way = data.graph.select(data.graph.src < data.graph.dst)
    graphs = [data.graph, one_way.select(torch.arange(one_way.num_edges) % 3 > 0)]
    label = data.y if has_classes else None
    examples = [Example.of(graph, data.x, label, data.train) for graph in graphs]
    judge = EdgeJudge()
    for graph, odds in zip(graphs, judge.fit(examples), strict=True):
        assert torch.equal(odds, judge.log_odds(data.x, graph))


@pytest.mark.gpu
def test_odds_on_the_gpu_are_those_of_the_cpu():
    data, _ = block()
    judge, (expected,) = fit(data)
    there = data.to("cuda")
    moved = copy.deepcopy(judge).cuda()
    assert torch.allclose(
        moved.log_odds(there.x, there.graph).cpu(), expected, atol=1e-2
    )
    found = EdgeJudge().cuda()
    found.fit([Example.of(there.graph, there.x, there.y, there.train)])
    assert torch.equal(found.known_label.cpu(), judge.known_label)
    odds = found.log_odds(there.x, there.graph).cpu()
    assert ((odds > 0) == (expected > 0)).float().mean() > 0.98


def test_both_directions_have_the_same_odds(known: Known):
    assert torch.equal(known.odds, known.odds[known.data.graph.by_source.edge])


def test_edges_with_directions_are_judged_as_those_without():
    data, is_signal = block(num_nodes=401, undirected=False)
    judge, (odds,) = fit(data)
    assert roc_auc_score(is_signal, odds) > 0.85
    both = Graph.from_edges(data.graph.edge_index, 401, make_undirected=True)
    position = {
        pair: k for k, pair in enumerate(map(tuple, both.edge_index.T.tolist()))
    }
    whole = judge.log_odds(data.x, both)
    order = [position[tuple(pair)] for pair in data.graph.edge_index.T.tolist()]
    assert torch.equal(odds, whole[order])
    back = [position[dst, src] for src, dst in data.graph.edge_index.T.tolist()]
    assert torch.equal(whole[order], whole[back])


def test_sparse_features_give_what_dense_ones_give(seed: int):
    data, _ = block(num_nodes=211)
    x = (data.x > 1).float()
    dense = dataclasses.replace(data, x=x)
    sparse = dataclasses.replace(data, x=SparseFeatures.from_dense(x))
    torch.testing.assert_close(odds_of(dense), odds_of(sparse), atol=0.01, rtol=0.01)


@pytest.mark.parametrize("name", list(GRAPHS))
def test_every_awkward_graph_is_judged(name: str, seed: int):
    graph = GRAPHS[name]()
    number = graph.num_nodes
    train = torch.arange(number) % 2 == 0
    data = NodeData(
        graph=graph,
        x=torch.randn(number, 7),
        y=torch.arange(number) % 3,
        train=train,
        val=~train,
        test=~train,
        classes=(0, 1, 2),
    )
    found, (odds,) = fit(data)
    assert odds.shape == (graph.num_edges,)
    assert bool(odds.isfinite().all())
    empty = Graph.from_edges(torch.zeros(2, 0, dtype=torch.long), number)
    assert found.log_odds(data.x, empty).shape == (0,)


def test_several_graphs_of_classes_are_learned_from():
    parts = [block(num_nodes=401, seed=1), block(num_nodes=401, seed=1, noise_rate=0.2)]
    _, found = fit(*(data for data, _ in parts))
    for odds, (_, is_signal) in zip(found, parts, strict=True):
        assert roc_auc_score(is_signal, odds) > 0.85


def test_labels_of_other_than_training_nodes_are_not_looked_at(known: Known):
    data = known.data
    hidden = dataclasses.replace(data, y=torch.where(data.train, data.y, -1))
    assert torch.equal(odds_of(hidden), known.odds)


@pytest.fixture(scope="module")
def words() -> Known:
    """A graph whose nodes have few features each."""
    data, _ = small_block()
    x = torch.rand(101, 17, generator=torch.Generator().manual_seed(8))
    x = SparseFeatures.from_dense(torch.where(x > 0.6, x, 0))
    data = dataclasses.replace(data, x=x)
    judge, (odds,) = fit(data)
    return Known(data, judge, odds)


@pytest.mark.parametrize("part", ["row_ptr", "column", "value"])
def test_sparse_features_are_judged_as_they_are_whichever_part_changes(
    words: Known, part: str
):
    # Odds were once kept where only the columns changed.
    judge, graph = copy.deepcopy(words.judge), words.data.graph
    x = copy.deepcopy(words.data.x)
    assert torch.equal(judge.log_odds(x, graph), words.odds)
    changed = {
        "row_ptr": torch.cat([x.row_ptr[:1], x.row_ptr[1:-1] - 1, x.row_ptr[-1:]]),
        "column": x.column.flip(0),
        "value": x.value.flip(0),
    }[part]
    after = judge.log_odds(dataclasses.replace(x, **{part: changed}), graph)
    assert not torch.equal(after, words.odds)
    if part != "row_ptr":
        getattr(x, part).copy_(changed)
        assert torch.equal(judge.log_odds(x, graph), after), "in place"


def test_a_copy_judges_alike_until_it_learns_something_else(known: Known):
    data, before = known.data, known.odds
    judge = copy.deepcopy(known.judge)
    other = copy.deepcopy(judge)
    assert torch.equal(other.log_odds(data.x, data.graph), before)
    other.seed += 1
    assert not torch.equal(other.log_odds(data.x, data.graph), before)
    assert torch.equal(judge.log_odds(data.x, data.graph), before)


def test_graphs_side_by_side_are_not_judged_as_each_by_itself(known: Known):
    # Nodes of one batch change what is known of each other, so nothing judges batches.
    data, other = known.data, small_block(seed=2, noise_rate=0.2)[0]
    merged = Graph.merge([data.graph, other.graph])
    together = known.judge.log_odds(torch.cat([data.x, other.x]), merged)
    assert (together[: len(known.odds)] - known.odds).abs().max() > 0.01


def test_relabelled_nodes_are_judged_about_the_same():
    # The pairs that edges are compared with are drawn by the numbers of the nodes.
    data, _ = block(num_nodes=211)
    judge, (expected,) = fit(data)
    new = torch.randperm(211, generator=torch.Generator().manual_seed(5))
    graph = Graph.from_edges(new[data.graph.edge_index], 211)
    x = torch.empty_like(data.x)
    x[new] = data.x
    found = judge.log_odds(x, graph)[graph.input_edge]
    assert ((found > 0) == (expected > 0)).float().mean() > 0.9


def test_classes_that_join_others_are_told_from_noise():
    data, is_signal = block(assortative=False)
    assert roc_auc_score(is_signal, odds_of(data)) > 0.9


def test_where_nothing_tells_noise_nothing_is_removed():
    data, _ = block(feature_signal=0.0)
    # Wiring at random too, for common neighbours alone give a block model away.
    edges = torch.randint(701, (2, 7001), generator=torch.Generator().manual_seed(6))
    graph = Graph.from_edges(edges, 701, make_undirected=True, say_merged=False)
    odds = odds_of(dataclasses.replace(data, graph=graph))
    assert (odds > 0).float().mean() > 0.9


def test_labelled_nodes_are_known_in_a_part_of_the_graph(known: Known):
    data, judge = known.data, known.judge
    assert len(judge.known_label) == int(data.train.sum())
    left = torch.randperm(101, generator=torch.Generator().manual_seed(3))[:83]
    nodes = KnownNodes(judge.known_fingerprint, judge.known_label)
    expected = torch.where(data.train, data.y, -1)[left]
    assert torch.equal(nodes.labels(data.x[left]), expected)


def test_a_judge_of_another_number_of_labels_is_loaded(known: Known):
    other, _ = fit(small_block(num_nodes=61, seed=2)[0])
    assert 0 < len(other.known_label) != len(known.judge.known_label)
    other.load_state_dict(known.judge.state_dict())
    data = known.data
    assert torch.equal(other.log_odds(data.x, data.graph), known.odds)


def test_several_labels_per_node_are_no_obstacle():
    graphs = several_graphs()
    training = [data for data in graphs if bool(data.train.any())]
    assert training[0].is_multilabel and len(training) == 3
    judge, found = fit(*training)
    assert len(judge.known_label) == 0
    found += [judge.log_odds(data.x, data.graph) for data in graphs[3:]]
    for data, odds in zip(graphs, found, strict=True):
        assert bool(odds.isfinite().all()) and len(odds) == data.graph.num_edges
