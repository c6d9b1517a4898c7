"""EdgeScores: what follows from log α. ScoredGraph: made with one scoring."""

import dataclasses

import numpy as np
import pyarrow as pa
import pytest
import torch
from support.counting import count_scorings
from support.small_data import block_graph, several_graphs

from sgat.data.files import from_tables
from sgat.gates import HardConcrete
from sgat.graph import Graph
from sgat.models import SGAT
from sgat.ops import reference
from sgat.scored import (
    SCORES,
    EdgeScores,
    edge_table,
    node_score,
    node_table,
    score_graphs,
    score_table,
    uneven_scores,
)
from sgat.training import metrics
from sgat_lab.trials.evaluation import evaluate

GATES = HardConcrete()


def scored(graph: Graph, dtype: torch.dtype = torch.float64) -> EdgeScores:
    log_alpha = torch.randn(graph.num_edges).to(dtype) * 3
    return EdgeScores.from_log_alpha(log_alpha, graph, GATES)


def test_attention_of_a_row_and_its_loop_sums_to_one(awkward_graph: Graph, seed: int):
    graph, scores = awkward_graph, scored(awkward_graph)
    total = scores.loop_attention.index_add(0, graph.dst, scores.attention)
    heard = graph.loop_weights.double().index_add(
        0, graph.dst, scores.gate * graph.edge_weight
    )
    assert torch.allclose(total, (heard > 0).double())
    assert total.sum() > 0


def test_an_edge_is_kept_iff_its_probability_is_above_one_half(
    awkward_graph: Graph, seed: int
):
    scores = scored(awkward_graph)
    assert torch.equal(scores.kept, scores.probability > 0.5)
    assert torch.equal(scores.kept, scores.log_alpha > GATES.threshold)
    assert torch.equal(scores.kept, scores.gate > 0)
    assert bool(((scores.gate >= 0) & (scores.gate <= 1)).all())


def test_gates_and_attention_are_those_of_the_evaluation_pass(
    awkward_graph: Graph, seed: int
):
    graph, scores = awkward_graph, scored(awkward_graph)
    zero = torch.zeros(graph.num_nodes, dtype=torch.float64)
    opened = reference.open_edges(graph, zero, zero, scores.log_alpha)
    coefficient, loop = reference.coefficients(opened)
    assert torch.equal(scores.kept.nonzero()[:, 0], opened.edge)
    assert torch.equal(scores.gate[opened.edge], opened.gate)
    assert torch.allclose(scores.attention[opened.edge], coefficient)
    assert torch.allclose(scores.loop_attention, loop)


def test_a_row_of_sum_zero_has_attention_zero():
    edges = torch.tensor([[0, 1], [0, 0]])
    graph = Graph.from_edges(edges, 2, torch.tensor([0.0, 1.0]))
    scores = EdgeScores.from_log_alpha(torch.tensor([-9.0]), graph, GATES)
    assert scores.attention.tolist() == [0.0]
    assert scores.loop_attention.tolist() == [0.0, 1.0]


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
def test_weights_may_be_of_another_type_than_the_scores(dtype: torch.dtype):
    edges = torch.tensor([[1, 2], [0, 0]])
    graph = Graph.from_edges(edges, 3, torch.tensor([3.0, 1.0], dtype=dtype))
    log_alpha = torch.tensor([20.0, -20.0])
    scores = EdgeScores.from_log_alpha(log_alpha, graph, GATES)
    assert scores.attention.tolist() == [0.75, 0.0]
    assert scores.loop_attention.tolist() == [0.25, 1.0, 1.0]


def test_scores_carry_no_gradient():
    graph = Graph.from_edges(torch.tensor([[0], [1]]))
    log_alpha = torch.tensor([0.3], requires_grad=True)
    scores = EdgeScores.from_log_alpha(log_alpha, graph, GATES)
    assert not scores.log_alpha.requires_grad and not scores.attention.requires_grad


def test_to_moves_every_tensor():
    graph = Graph.from_edges(torch.tensor([[0], [1]]))
    moved = scored(graph).to("meta")
    for name in ("log_alpha", "probability", "gate", "kept", "attention"):
        assert getattr(moved, name).device.type == "meta", name
    assert moved.loop_attention.device.type == "meta"


def test_rows_of_the_user_get_scores_and_self_loops_are_open():
    rows = {"src": ["c", "a", "b"], "dst": ["a", "b", "b"], "note": ["x", "y", "z"]}
    files = from_tables(pa.table(rows))
    # Edges of the graph by (dst, src): c→a, a→b; the row b→b is a loop.
    scores = EdgeScores.from_log_alpha(
        torch.tensor([5.0, -5.0]), files.data.graph, GATES
    )
    table = score_table(files, scores)
    assert table.column_names == [*rows, *SCORES]
    assert table.column("log_alpha").to_pylist() == [5.0, -5.0, None]
    assert table.column("gate").to_pylist() == [1.0, 0.0, 1.0]
    assert table.column("kept").to_pylist() == [True, False, True]
    assert table.column("probability").to_pylist()[2] == 1.0
    assert table.column("attention").to_pylist() == [0.5, 0.0, 1.0]


def some_model(data, **options) -> SGAT:
    model = SGAT(data.num_features, 5, data.num_classes, gate_bias=0.0, **options)
    model.reset_parameters(torch.Generator().manual_seed(0))
    return model.eval()


@pytest.mark.parametrize("scorer", ["additive", "cosine", "gatv2", "structure"])
@pytest.mark.parametrize("readout", ["linear", "attention", "diffusion", "beliefs"])
def test_one_scoring_gives_what_the_model_says_of_edges_and_nodes(scorer, readout):
    data = block_graph()
    model = some_model(data, scorer=scorer, readout=readout)
    with count_scorings() as count:
        (found,) = score_graphs(model, [data])
    assert count() == {data.graph.num_edges: 1}
    with torch.no_grad():
        logits = model(data.x, data.graph)
        log_alpha = model.log_alpha(data.x, data.graph)
    assert torch.equal(found.edges.log_alpha, log_alpha)
    assert torch.equal(found.prediction, logits.argmax(dim=1))
    assert torch.equal(found.probability, logits.double().softmax(dim=1))
    assert found.data is data


@pytest.mark.parametrize("readout", ["linear", "diffusion", "beliefs"])
def test_attention_is_in_tables_where_the_read_out_uses_it(readout):
    data = block_graph()
    (found,) = score_graphs(some_model(data, readout=readout), [data])
    is_used = readout != "beliefs"
    assert ("attention" in edge_table([found]).columns) == is_used
    files = from_tables(pa.table({"src": ["a", "b"], "dst": ["b", "a"]}))
    loops = found.edges.loop_attention
    scores = {name: part[:2] for name, part in found.edges.columns.items()}
    small = EdgeScores(**scores, loop_attention=None if loops is None else loops[:2])
    names = score_table(files, small).column_names
    assert names == ["src", "dst", *SCORES[: 5 if is_used else 4]]


def test_labels_are_each_predicted_by_themselves():
    graphs = several_graphs()
    model = some_model(graphs[0])
    scored = score_graphs(model, graphs)
    with torch.no_grad():
        logits = model(graphs[3].x, graphs[3].graph)
    assert torch.equal(scored[3].prediction, logits > 0)
    assert torch.equal(scored[3].probability, logits.double().sigmoid())
    # Data without labels does not say whether a node can have several.
    bare = dataclasses.replace(graphs[3], y=torch.full((len(logits),), -1))
    (same,) = score_graphs(model, [bare], is_multilabel=True)
    assert torch.equal(same.prediction, logits > 0)


def test_tables_have_a_row_for_each_edge_and_node_of_every_graph():
    graphs = several_graphs()
    scored = score_graphs(some_model(graphs[0]), graphs)
    edges, nodes = edge_table(scored), node_table(scored).to_pandas()
    assert len(edges) == sum(data.graph.num_edges for data in graphs)
    assert list(edges["graph"].unique()) == [data.name for data in graphs]
    assert list(nodes["graph"].unique()) == [data.name for data in graphs]
    mine = edges[edges["graph"] == graphs[2].name]
    assert np.array_equal(mine["kept"], scored[2].edges.kept)
    mine = nodes[nodes["graph"] == graphs[2].name]
    name = graphs[2].classes[1]
    assert np.array_equal(mine[f"prediction_{name}"], scored[2].prediction[:, 1])
    assert list(edge_table(scored[:1]).columns) == list(edges.columns[1:])


def test_predictions_are_scored_over_all_graphs_of_a_role():
    graphs = several_graphs()
    scored = score_graphs(some_model(graphs[0]), graphs)
    (test,) = evaluate(some_model(graphs[0]), graphs, ["test"])
    assert node_score(scored) == (test.score, graphs[4].num_nodes)
    assert node_score(scored, "train")[1] == sum(g.num_nodes for g in graphs[:3])


def test_without_a_role_test_nodes_are_scored_else_all_that_are_labelled():
    data = block_graph()
    y = data.y.clone()
    y[:100] = -1
    nobody = torch.zeros_like(data.test)
    untested = dataclasses.replace(data.with_split(data.train, nobody, nobody), y=y)
    model = some_model(data)
    (made,) = score_graphs(model, [data])
    right = made.prediction == data.y
    for graph, role, mask in (
        (data, None, data.test),
        (data, "train", data.train),
        (untested, None, y >= 0),
    ):
        score, number = node_score([dataclasses.replace(made, data=graph)], role)
        assert number == int(mask.sum()) > 0
        assert score == pytest.approx(right[mask].double().mean().item())
    assert node_score([dataclasses.replace(made, data=untested)], "test") == (None, 0)


@pytest.mark.parametrize("metric", ["roc_auc", "average_precision", "macro_f1"])
def test_other_metrics_go_by_stored_probabilities_and_predictions(metric):
    data = block_graph()
    model = some_model(data)
    model.class_temperature.fill_(3)
    scored = score_graphs(model, [data])
    logits = model(data.x, data.graph)[data.test]
    expected = metrics.score(logits, data.y[data.test], metric).item()
    assert node_score(scored, "test", metric)[0] == pytest.approx(expected)
    same = dataclasses.replace(data, y=torch.zeros_like(data.y))
    score, number = node_score(score_graphs(model, [same]), None, metric)
    assert number == int(data.test.sum())
    assert (score is None) == (metric in metrics.RANKED)


def test_uneven_classes_are_scored_by_every_metric():
    data = block_graph()
    y = torch.arange(data.num_nodes) % 3
    even = dataclasses.replace(data, y=y)
    model = some_model(data)
    assert uneven_scores(score_graphs(model, [even])) is None
    y = torch.where(torch.arange(data.num_nodes) % 6 == 0, 2, y % 2)
    scored = score_graphs(model, [dataclasses.replace(data, y=y)])
    found = uneven_scores(scored)
    assert list(found) == [
        *("accuracy", "balanced_accuracy", "macro_f1", "roc_auc"),
        *("average_precision", "largest_class"),
    ]
    share = found.pop("largest_class")
    assert share == pytest.approx(y[data.test].bincount().max() / data.test.sum())
    for name, value in found.items():
        assert value == node_score(scored, "test", name)[0]
    nobody = torch.zeros_like(data.test)
    untested = dataclasses.replace(data, y=y, test=nobody)
    assert uneven_scores(score_graphs(model, [untested])) is None
    graphs = several_graphs()
    assert uneven_scores(score_graphs(some_model(graphs[0]), graphs)) is None
