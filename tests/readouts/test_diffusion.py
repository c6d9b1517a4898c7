"""The read-out of diffusion: formula, gradients, and how far a node is heard."""

import pytest
import torch
import torch.nn.functional as F
from support.awkward import GRAPHS
from torch import Tensor

from sgat import SGAT, ops
from sgat.graph import Graph
from sgat.ops import OpenEdges
from sgat.readouts.diffusion import DiffusionReadout

C, STEPS, RESTART = 3, 4, 0.3


def opened_edges(graph: Graph, *, backend: str = "reference", dtype=torch.float64):
    """Gates of evaluation, some open, some half open and some closed."""
    generator = torch.Generator().manual_seed(7)
    score = torch.randn(graph.num_edges, generator=generator, dtype=dtype) * 3
    zero = torch.zeros(graph.num_nodes, dtype=dtype)
    return ops.open_edges(graph, zero, zero, score, backend=backend)


def readout(steps: int = STEPS, **options) -> DiffusionReadout:
    return DiffusionReadout(5, C, steps, restart=RESTART, **options).double()


def attention(opened: OpenEdges) -> Tensor:
    """A_ij z_ij over its sum with the self-loop, as a matrix."""
    graph = opened.graph
    matrix = torch.diag(graph.loop_weights.double())
    src, dst = graph.edge_index
    weight = opened.gate.double() * graph.edge_weight.double()[opened.edge]
    matrix[dst[opened.edge], src[opened.edge]] += weight
    # A node that hears neither itself nor anybody has nothing to share.
    return matrix / matrix.sum(dim=1, keepdim=True).clamp(min=1e-300)


def by_hand(own: Tensor, opened: OpenEdges, steps: int = STEPS) -> Tensor:
    """Σ_k r (1 - r)^k P^k f, and all that is left at the end of the walk."""
    walk, logits, left = own, torch.zeros_like(own), 1.0
    for _ in range(steps):
        logits = logits + left * RESTART * walk
        walk, left = attention(opened) @ walk, left * (1 - RESTART)
    return logits + left * walk


@pytest.mark.parametrize("backend", ["reference", "cpu"])
@pytest.mark.parametrize("name", list(GRAPHS))
def test_the_logits_are_those_of_the_formula(name: str, backend: str, seed: int):
    graph = GRAPHS[name]()
    opened = opened_edges(graph, backend=backend)
    own = torch.randn(graph.num_nodes, C, dtype=torch.float64)
    expected = by_hand(own, opened)
    assert torch.allclose(readout()(own, opened), expected, atol=1e-6)


def test_gradients_are_those_of_differences(seed: int):
    graph = GRAPHS["random directed"]()
    module = readout()
    own = torch.randn(graph.num_nodes, C, dtype=torch.float64, requires_grad=True)
    score = torch.randn(graph.num_edges, dtype=torch.float64, requires_grad=True)
    zero = torch.zeros(graph.num_nodes, dtype=torch.float64)
    found = []
    for backend in ("reference", "cpu"):
        opened = ops.open_edges(graph, zero, zero, score, backend=backend)
        loss = module(own, opened).square().sum()
        found.append(torch.autograd.grad(loss, (own, score)))
    for one, other in zip(*found, strict=True):
        assert one.any() and torch.allclose(one, other)

    def logits(own: Tensor, score: Tensor) -> Tensor:
        opened = ops.open_edges(graph, zero, zero, score, backend="reference")
        return module(own, opened)

    assert torch.autograd.gradcheck(logits, (own, score))


def test_a_node_that_hears_nobody_is_classified_by_itself(seed: int):
    graph = GRAPHS["random directed"]()
    far = torch.full((graph.num_nodes,), -50.0, dtype=torch.float64)
    own = torch.randn(graph.num_nodes, C, dtype=torch.float64)
    for backend in ("reference", "cpu"):
        closed = ops.open_edges(graph, far, far, backend=backend)
        assert int(closed.num_open) == 0
        assert torch.allclose(readout()(own, closed), own)
    assert torch.equal(readout(0)(own, opened_edges(graph)), own)


@pytest.mark.parametrize("steps", [1, 2, 5])
def test_a_node_hears_as_far_as_scores_travel(steps: int, seed: int):
    graph = GRAPHS["chain"]()
    opened = ops.all_open(graph, dtype=torch.float64)
    module = readout(steps)
    own = torch.randn(11, C, dtype=torch.float64)
    changed = own.clone()
    changed[3] += torch.randn(C, dtype=torch.float64)
    moved = (module(changed, opened) - module(own, opened)).abs().amax(dim=1) > 1e-12
    assert moved.nonzero()[:, 0].tolist() == list(range(3, 3 + steps + 1))


def test_every_step_drops_other_coefficients(seed: int):
    graph = GRAPHS["random undirected"]()
    opened = ops.all_open(graph, dtype=torch.float64)
    module = readout(2, attention_dropout=0.5)
    own = torch.randn(graph.num_nodes, C, dtype=torch.float64)

    def step(logits: Tensor, layer: int) -> Tensor:
        heard = ops.aggregate(opened, logits, dropout=0.5, seed=seed, layer=layer)
        return (1 - RESTART) * heard + RESTART * own

    found = module(own, opened, seed=seed)
    assert torch.allclose(found, step(step(own, 0), 1))
    assert not torch.allclose(found, step(step(own, 0), 0))
    assert torch.allclose(module(own, opened), by_hand(own, opened, 2))


def test_pruned_edges_give_the_same_logits(seed: int):
    graph = GRAPHS["random undirected"]()
    own, module = torch.randn(graph.num_nodes, C, dtype=torch.float64), readout()
    for backend in ("reference", "cpu"):
        opened = opened_edges(graph, backend=backend)
        assert 0 < int(opened.num_open) < graph.num_edges
        expected = module(own, opened)
        assert torch.allclose(module(own, ops.prune(opened)), expected, atol=1e-6)


def test_the_model_is_a_perceptron_whose_scores_travel(seed: int):
    graph = GRAPHS["random directed"]()
    x = torch.randn(graph.num_nodes, 7, dtype=torch.float64)
    model = SGAT(
        7, 5, C, heads=2, steps=STEPS, readout="diffusion", restart=RESTART
    ).double()
    torch.nn.init.normal_(model.gating.bias)
    torch.nn.init.normal_(model.classifier.bias)
    logits, embedding, opened, *_ = model.eval().compute(x, graph)
    hidden = F.elu(x @ model.gating.weight + model.gating.bias)
    own = hidden @ model.classifier.weight + model.classifier.bias
    assert logits.dtype == torch.float64
    assert torch.allclose(embedding, hidden)
    assert torch.allclose(logits, by_hand(own, opened), atol=1e-6)
    assert len(model.convs) == 1 and model.reach == STEPS
    assert model.classifier.attention_dropout == 0.5


def test_the_model_drops_other_coefficients_for_another_seed(seed: int):
    graph = GRAPHS["random undirected"]()
    x = torch.randn(graph.num_nodes, 7, dtype=torch.float64)
    model = SGAT(7, 5, C, readout="diffusion", dropout=0.0, attention_dropout=0.5)
    model = model.double().train()
    logits, hidden, opened, *_ = model.compute(x, graph, seed=seed)
    own = hidden @ model.classifier.weight + model.classifier.bias
    assert torch.allclose(logits, model.classifier(own, opened, seed=seed))
    assert not torch.allclose(logits, model.classifier(own, opened))
    assert not torch.allclose(logits, model.classifier(own, opened, seed=seed + 1))


def test_scores_travel_in_full_precision(seed: int):
    graph = GRAPHS["random undirected"]()
    model = SGAT(7, 5, C, readout="diffusion").eval()
    with torch.autocast("cpu", torch.bfloat16):
        logits = model(torch.randn(graph.num_nodes, 7), graph)
    assert logits.dtype == torch.float32


def test_nobody_is_heard_where_every_step_starts_again(seed: int):
    graph = GRAPHS["random directed"]()
    module = DiffusionReadout(5, C, 4, restart=1.0).double()
    own = torch.randn(graph.num_nodes, C, dtype=torch.float64)
    assert torch.allclose(module(own, opened_edges(graph)), own)
    assert module.reach == 0 and readout().reach == STEPS


def test_a_nodes_own_share_is_its_weight_in_one_step(seed: int):
    graph = GRAPHS["random directed"]()
    opened, module = opened_edges(graph), readout(1)
    own = torch.zeros(graph.num_nodes, C, dtype=torch.float64)
    own[4, 0] = 1
    found = module.own_share(float(attention(opened)[4, 4]))
    assert found == pytest.approx(float(module(own, opened)[4, 0]), abs=1e-6)
    assert found > RESTART


def test_weights_come_from_the_generator():
    one, other = DiffusionReadout(5, C, 2), DiffusionReadout(5, C, 2)
    for each in (one, other):
        torch.nn.init.ones_(each.bias)
        each.reset_parameters(torch.Generator().manual_seed(5))
    assert torch.equal(one.weight, other.weight)
    assert not one.bias.any()
    wide = DiffusionReadout(400, C, init_gain=0.5)
    wide.reset_parameters(torch.Generator().manual_seed(5))
    # Uniform up to 0.5 / √400.
    assert 0.024 < float(wide.weight.detach().abs().max()) <= 0.025


@pytest.mark.parametrize("restart", [-0.1, 1.1, float("nan")])
def test_a_share_beyond_0_and_1_is_refused(restart: float):
    with pytest.raises(ValueError, match=r"`restart` must be in \[0, 1\], got"):
        DiffusionReadout(5, C, 2, restart=restart)


def test_steps_back_are_refused():
    with pytest.raises(ValueError, match="`steps` must be at least 0, got -1"):
        DiffusionReadout(5, C, -1)


def test_its_repr_is_one_line():
    expected = "DiffusionReadout(5, 3, steps=10, restart=0.15)"
    assert repr(DiffusionReadout(5, 3)) == expected
