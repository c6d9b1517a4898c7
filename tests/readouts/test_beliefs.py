"""The read-out of beliefs: its formula, its gradients, and how far a node is heard."""

import dataclasses

import pytest
import torch
import torch.nn.functional as F
from support.awkward import GRAPHS
from torch import Tensor

from sgat import SGAT, ops
from sgat.graph import Graph
from sgat.ops import OpenEdges
from sgat.readouts.beliefs import BeliefReadout

C, HOPS = 3, 2


def opened_edges(graph: Graph, *, backend: str = "reference", dtype=torch.float64):
    """Gates of evaluation, some open, some half open and some closed."""
    generator = torch.Generator().manual_seed(7)
    score = torch.randn(graph.num_edges, generator=generator, dtype=dtype) * 3
    zero = torch.zeros(graph.num_nodes, dtype=dtype)
    return ops.open_edges(graph, zero, zero, score, backend=backend)


def readout(hops: int = HOPS) -> BeliefReadout:
    found = BeliefReadout(5, C, hops).double()
    torch.nn.init.normal_(found.compatible)
    return found


def dense(opened: OpenEdges) -> Tensor:
    """A_ij z_ij / √Σ_j A_ij², closed edges too."""
    graph = opened.graph
    matrix = torch.zeros(graph.num_nodes, graph.num_nodes, dtype=torch.float64)
    src, dst = graph.edge_index
    weight = opened.gate.double() * graph.edge_weight.double()[opened.edge]
    matrix[dst[opened.edge], src[opened.edge]] = weight
    square = torch.zeros(graph.num_nodes, dtype=torch.float64)
    square.index_add_(0, dst, graph.edge_weight.double() ** 2)
    return matrix / torch.where(square > 0, square, 1).sqrt()[:, None]


def by_hand(own: Tensor, opened: OpenEdges, compatible: Tensor) -> Tensor:
    logits, heard = own, own.softmax(dim=1) - 1 / C
    for matrix in compatible:
        heard = dense(opened) @ heard
        logits = logits + heard @ matrix
    return logits


@pytest.mark.parametrize("backend", ["reference", "cpu"])
@pytest.mark.parametrize("name", list(GRAPHS))
def test_the_logits_are_those_of_the_formula(name: str, backend: str, seed: int):
    graph = GRAPHS[name]()
    opened = opened_edges(graph, backend=backend)
    own, module = torch.randn(graph.num_nodes, C, dtype=torch.float64), readout()
    expected = by_hand(own, opened, module.compatible)
    assert torch.allclose(module(own, opened), expected, atol=1e-6)


@pytest.mark.parametrize("scale", [1e-3, 7.0, 1e3])
def test_the_scale_of_all_weights_changes_nothing(scale: float, seed: int):
    graph = GRAPHS["random undirected"]()
    weight = torch.rand(graph.num_edges, dtype=torch.float64)
    own, module = torch.randn(graph.num_nodes, C, dtype=torch.float64), readout()
    found = [
        module(own, opened_edges(dataclasses.replace(graph, weight=weight * factor)))
        for factor in (1, scale)
    ]
    assert torch.allclose(*found, atol=1e-9)


def test_gradients_are_those_of_differences(seed: int):
    graph = GRAPHS["random undirected"]()
    opened, module = opened_edges(graph), readout()
    own = torch.randn(graph.num_nodes, C, dtype=torch.float64, requires_grad=True)

    def logits(own: Tensor, compatible: Tensor) -> Tensor:
        return torch.func.functional_call(
            module, {"compatible": compatible}, (own, opened)
        )

    assert torch.autograd.gradcheck(logits, (own, module.compatible))


def test_gradients_reach_the_scores_of_the_gates(seed: int):
    graph = GRAPHS["random directed"]()
    module = readout()
    own = torch.randn(graph.num_nodes, C, dtype=torch.float64)
    score = torch.randn(graph.num_edges, dtype=torch.float64, requires_grad=True)
    zero = torch.zeros(graph.num_nodes, dtype=torch.float64)
    found = []
    for backend in ("reference", "cpu"):
        opened = ops.open_edges(graph, zero, zero, score, backend=backend)
        loss = module(own, opened).square().sum()
        found.append(torch.autograd.grad(loss, score)[0])
    assert found[0].any() and torch.allclose(found[0], found[1])

    def loss_of(score: Tensor) -> Tensor:
        opened = ops.open_edges(graph, zero, zero, score, backend="reference")
        return module(own, opened)

    assert torch.autograd.gradcheck(loss_of, score)


def test_with_all_gates_closed_a_node_is_classified_by_itself(seed: int):
    graph = GRAPHS["random directed"]()
    far = torch.full((graph.num_nodes,), -50.0, dtype=torch.float64)
    own = torch.randn(graph.num_nodes, C, dtype=torch.float64)
    for backend in ("reference", "cpu"):
        opened = ops.open_edges(graph, far, far, backend=backend)
        assert int(opened.num_open) == 0
        assert torch.allclose(readout()(own, opened), own)


def test_training_starts_at_a_classifier_that_hears_nobody(seed: int):
    module = readout()
    assert module.compatible.any()
    module.reset_parameters()
    assert not module.compatible.any() and not module.bias.any()
    graph = GRAPHS["random directed"]()
    own = torch.randn(graph.num_nodes, C, dtype=torch.float64)
    assert torch.equal(module(own, opened_edges(graph)), own)
    one, other = BeliefReadout(5, C, 2), BeliefReadout(5, C, 2)
    for each in (one, other):
        each.reset_parameters(torch.Generator().manual_seed(5))
    assert torch.equal(one.weight, other.weight) and one.weight.any()


@pytest.mark.parametrize("hops", [1, 2, 3])
def test_a_node_hears_as_far_as_beliefs_travel(hops: int, seed: int):
    graph = GRAPHS["chain"]()
    opened = ops.all_open(graph, dtype=torch.float64)
    module = readout(hops)
    own = torch.randn(11, C, dtype=torch.float64)
    before = module(own, opened)
    changed = own.clone()
    changed[3] += torch.randn(C, dtype=torch.float64)
    moved = (module(changed, opened) - before).abs().amax(dim=1) > 1e-12
    assert moved.nonzero()[:, 0].tolist() == list(range(3, 3 + hops + 1))


def test_pruned_edges_give_the_same_logits(seed: int):
    graph = GRAPHS["random undirected"]()
    own, module = torch.randn(graph.num_nodes, C, dtype=torch.float64), readout()
    for backend in ("reference", "cpu"):
        opened = opened_edges(graph, backend=backend)
        assert 0 < int(opened.num_open) < graph.num_edges
        expected = module(own, opened)
        assert torch.allclose(module(own, ops.prune(opened)), expected, atol=1e-6)


def test_the_model_is_a_perceptron_whose_beliefs_travel(seed: int):
    graph = GRAPHS["random directed"]()
    x = torch.randn(graph.num_nodes, 7, dtype=torch.float64)
    model = SGAT(7, 5, C, heads=2, layers=HOPS, readout="beliefs").double().eval()
    torch.nn.init.normal_(model.classifier.compatible)
    torch.nn.init.normal_(model.gating.bias)
    logits, embedding, opened, *_ = model.compute(x, graph)
    hidden = F.elu(x @ model.gating.weight + model.gating.bias)
    own = hidden @ model.classifier.weight + model.classifier.bias
    assert logits.dtype == torch.float64
    assert torch.allclose(embedding, hidden)
    expected = by_hand(own, opened, model.classifier.compatible)
    assert torch.allclose(logits, expected, atol=1e-6)
    assert len(model.convs) == 1 and model.reach == HOPS


def test_its_repr_is_one_line():
    assert repr(BeliefReadout(5, 3, 2)) == "BeliefReadout(5, 3, steps=2)"
