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


def fitted(*graphs: NodeData, **options) -> EdgeJudge:
    found = EdgeJudge()
    examples = [Example.of(d.graph, d.x, d.y, d.train) for d in graphs]
    found.fit(examples, **options)
    return found


def odds_of(data: NodeData) -> Tensor:
    return fitted(data).log_odds(data.x, data.graph)


@pytest.fixture(scope="module")
def noisy() -> Block:
    return block()


@pytest.fixture(scope="module")
def known(noisy: Block) -> EdgeJudge:
    return fitted(noisy[0])


def test_noise_is_told_from_real_edges(noisy: Block, known: EdgeJudge):
    data, is_signal = noisy
    odds = known.log_odds(data.x, data.graph)
    assert odds.shape == (data.graph.num_edges,)
    assert roc_auc_score(is_signal, odds) > 0.9
    # A tenth of the noise joins one class, as real edges do.
    assert known.noise_share == pytest.approx(0.36, abs=0.05)
    assert float((odds <= 0).float().mean()) == pytest.approx(0.4, abs=0.15)
    assert float(is_signal[odds > 0].float().mean()) > 0.8


def test_clean_graphs_keep_almost_every_edge():
    data, _ = block(noise_rate=0.0)
    assert (odds_of(data) > 0).float().mean() > 0.98


def test_before_it_learns_every_edge_counts_as_real(noisy: Block):
    data = noisy[0]
    fresh = EdgeJudge()
    assert (fresh.log_odds(data.x, data.graph) > 5).all()
    assert fresh.noise_share == 0
    used = fitted(data)
    used.reset_parameters()
    for name, part in fresh.state_dict().items():
        assert torch.equal(used.state_dict()[name], part), name


def test_the_same_seed_finds_the_same_and_another_about_the_same(
    noisy: Block, known: EdgeJudge
):
    data = noisy[0]
    odds = known.log_odds(data.x, data.graph)
    assert torch.equal(odds_of(data), odds)
    other = fitted(data, seed=3).log_odds(data.x, data.graph)
    assert not torch.equal(other, odds)
    assert ((other > 0) == (odds > 0)).float().mean() > 0.9


def test_the_order_of_the_edges_does_not_matter(noisy: Block, known: EdgeJudge):
    data = noisy[0]
    order = torch.randperm(data.graph.num_edges)
    graph = Graph.from_edges(data.graph.edge_index[:, order], 701)
    assert torch.equal(
        known.log_odds(data.x, graph), known.log_odds(data.x, data.graph)
    )


def test_weights_and_loops_do_not_matter(noisy: Block, known: EdgeJudge):
    data = noisy[0]
    graph = dataclasses.replace(
        data.graph,
        weight=torch.rand(data.graph.num_edges),
        loop_weight=torch.rand(701),
    )
    expected = known.log_odds(data.x, data.graph)
    assert torch.allclose(known.log_odds(data.x, graph), expected, atol=1e-5)


def test_what_was_learned_is_saved_and_loaded(noisy: Block, known: EdgeJudge, tmp_path):
    data = noisy[0]
    torch.save(known.state_dict(), tmp_path / "judge.pt")
    other = EdgeJudge()
    other.load_state_dict(torch.load(tmp_path / "judge.pt", weights_only=True))
    assert torch.equal(
        other.log_odds(data.x, data.graph), known.log_odds(data.x, data.graph)
    )
    assert other.noise_share == known.noise_share


@pytest.mark.parametrize("has_classes", [True, False])
def test_fitting_gives_the_odds_of_its_graphs(noisy: Block, has_classes: bool):
    data = noisy[0]
    one_way = data.graph.select(data.graph.src < data.graph.dst)
    graphs = [data.graph, one_way]
    label = data.y if has_classes else None
    examples = [Example.of(graph, data.x, label, data.train) for graph in graphs]
    judge = EdgeJudge()
    for graph, odds in zip(graphs, judge.fit(examples), strict=True):
        assert torch.equal(odds, judge.log_odds(data.x, graph))


@pytest.mark.gpu
def test_odds_on_the_gpu_are_those_of_the_cpu(noisy: Block, known: EdgeJudge):
    data, _ = noisy
    there = data.to("cuda")
    expected = known.log_odds(data.x, data.graph)
    moved = copy.deepcopy(known).cuda()
    assert torch.allclose(
        moved.log_odds(there.x, there.graph).cpu(), expected, atol=1e-2
    )
    found = EdgeJudge().cuda()
    found.fit([Example.of(there.graph, there.x, there.y, there.train)])
    assert torch.equal(found.known_label.cpu(), known.known_label)
    odds = found.log_odds(there.x, there.graph).cpu()
    assert ((odds > 0) == (expected > 0)).float().mean() > 0.98


def test_both_directions_have_the_same_odds(noisy: Block, known: EdgeJudge):
    data = noisy[0]
    odds = known.log_odds(data.x, data.graph)
    assert torch.equal(odds, odds[data.graph.by_source.edge])


def test_edges_with_directions_are_judged_as_those_without():
    data, is_signal = block(undirected=False)
    found = fitted(data)
    odds = found.log_odds(data.x, data.graph)
    assert roc_auc_score(is_signal, odds) > 0.85
    both = Graph.from_edges(data.graph.edge_index, 701, make_undirected=True)
    position = {
        pair: k for k, pair in enumerate(map(tuple, both.edge_index.T.tolist()))
    }
    whole = found.log_odds(data.x, both)
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
    found = fitted(data)
    odds = found.log_odds(data.x, graph)
    assert odds.shape == (graph.num_edges,)
    assert bool(odds.isfinite().all())
    empty = Graph.from_edges(torch.zeros(2, 0, dtype=torch.long), number)
    assert found.log_odds(data.x, empty).shape == (0,)


def test_several_graphs_of_classes_are_learned_from():
    parts = [block(num_nodes=401, seed=1), block(num_nodes=401, seed=1, noise_rate=0.2)]
    found = fitted(*(data for data, _ in parts))
    for data, is_signal in parts:
        assert roc_auc_score(is_signal, found.log_odds(data.x, data.graph)) > 0.85


def test_labels_of_other_than_training_nodes_are_not_looked_at(
    noisy: Block, known: EdgeJudge
):
    data = noisy[0]
    hidden = dataclasses.replace(data, y=torch.where(data.train, data.y, -1))
    assert torch.equal(odds_of(hidden), known.log_odds(data.x, data.graph))


def sparse_words(number: int) -> SparseFeatures:
    x = torch.rand(number, 17, generator=torch.Generator().manual_seed(8))
    return SparseFeatures.from_dense(torch.where(x > 0.6, x, 0))


@pytest.mark.parametrize("part", ["row_ptr", "column", "value"])
def test_sparse_features_are_judged_as_they_are_whichever_part_changes(part: str):
    # Odds were once kept where only the columns changed.
    data, _ = block(num_nodes=211)
    data = dataclasses.replace(data, x=sparse_words(211))
    judge, x = fitted(data), data.x
    before = judge.log_odds(x, data.graph)
    changed = {
        "row_ptr": torch.cat([x.row_ptr[:1], x.row_ptr[1:-1] - 1, x.row_ptr[-1:]]),
        "column": x.column.flip(0),
        "value": x.value.flip(0),
    }[part]
    after = judge.log_odds(dataclasses.replace(x, **{part: changed}), data.graph)
    assert not torch.equal(after, before)
    if part != "row_ptr":
        getattr(x, part).copy_(changed)
        assert torch.equal(judge.log_odds(x, data.graph), after), "in place"


def test_a_copy_judges_alike_until_it_learns_something_else(noisy: Block):
    data, _ = noisy
    judge = fitted(data)
    before = judge.log_odds(data.x, data.graph)
    other = copy.deepcopy(judge)
    assert torch.equal(other.log_odds(data.x, data.graph), before)
    other.seed += 1
    assert not torch.equal(other.log_odds(data.x, data.graph), before)
    assert torch.equal(judge.log_odds(data.x, data.graph), before)
    judge.reset_parameters()
    assert (judge.log_odds(data.x, data.graph) > 5).all()


def test_graphs_side_by_side_are_not_judged_as_each_by_itself(
    noisy: Block, known: EdgeJudge
):
    # Nodes of one batch change what is known of each other, so nothing judges batches.
    data, other = noisy[0], block(seed=2, noise_rate=0.2)[0]
    merged = Graph.merge([data.graph, other.graph])
    together = known.log_odds(torch.cat([data.x, other.x]), merged)
    alone = known.log_odds(data.x, data.graph)
    assert (together[: len(alone)] - alone).abs().max() > 0.01


def test_relabelled_nodes_are_judged_about_the_same(noisy: Block, known: EdgeJudge):
    # The pairs that edges are compared with are drawn by the numbers of the nodes.
    data = noisy[0]
    new = torch.randperm(701, generator=torch.Generator().manual_seed(5))
    graph = Graph.from_edges(new[data.graph.edge_index], 701)
    x = torch.empty_like(data.x)
    x[new] = data.x
    found = known.log_odds(x, graph)[graph.input_edge]
    expected = known.log_odds(data.x, data.graph)
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


def test_labelled_nodes_are_known_in_a_part_of_the_graph(noisy: Block):
    data, judge = noisy[0], fitted(noisy[0])
    assert len(judge.known_label) == int(data.train.sum())
    left = torch.randperm(701, generator=torch.Generator().manual_seed(3))[:631]
    known = KnownNodes(judge.known_fingerprint, judge.known_label)
    expected = torch.where(data.train, data.y, -1)[left]
    assert torch.equal(known.labels(data.x[left]), expected)


def test_a_judge_of_another_number_of_labels_is_loaded(noisy: Block, known: EdgeJudge):
    other = fitted(block(num_nodes=401, seed=2)[0])
    assert len(other.known_label) != len(known.known_label)
    other.load_state_dict(known.state_dict())
    data = noisy[0]
    expected = known.log_odds(data.x, data.graph)
    assert torch.equal(other.log_odds(data.x, data.graph), expected)


def test_several_labels_per_node_are_no_obstacle():
    graphs = several_graphs()
    training = [data for data in graphs if bool(data.train.any())]
    assert training[0].is_multilabel and len(training) == 3
    found = fitted(*training)
    assert len(found.known_label) == 0
    for data in graphs:
        odds = found.log_odds(data.x, data.graph)
        assert bool(odds.isfinite().all()) and len(odds) == data.graph.num_edges
