"""The hidden layer of each edge, a part of the edges at a time."""

import pytest
import torch
import torch.nn.functional as F
from support.awkward import GRAPHS

from sgat.graph import Graph
from sgat.ops import log_alphas
from sgat.scorers import GATv2Scorer, gatv2


@pytest.fixture(autouse=True)
def few_edges_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gatv2, "EDGES_AT_ONCE", 11)


def test_scores_and_gradients_are_those_of_the_whole_layer(
    awkward_graph: Graph, seed: int
):
    graph = awkward_graph
    h = torch.randn(graph.num_nodes, 5, dtype=torch.float64, requires_grad=True)
    scorer = GATv2Scorer(5, 3).double()
    dense = (h @ scorer.left_weight)[:, None] + (h @ scorer.right_weight)[None]
    dense = F.leaky_relu(dense, 0.2) @ scorer.weight
    left, right = (h @ scorer.additive.weight).T
    dense = dense + left[:, None] + right[None]
    sender, target = graph.edge_index
    expected = dense[target, sender]
    found = log_alphas(graph, *scorer(h, graph))
    assert torch.allclose(found, expected, rtol=1e-10, atol=1e-10)
    leaves = (h, *scorer.parameters())
    upstream = torch.randn(graph.num_edges, dtype=torch.float64)
    grads = [
        torch.autograd.grad(score, leaves, upstream, allow_unused=True)
        for score in (found, expected)
    ]
    for value, wanted in zip(*grads, strict=True):
        assert torch.allclose(value, wanted, rtol=1e-10, atol=1e-10)


def test_gradients_are_right_by_finite_differences(seed: int):
    graph = GRAPHS["isolated node"]()
    scorer = GATv2Scorer(3, 2).double()
    h = torch.randn(7, 3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda h: log_alphas(graph, *scorer(h, graph)), h)


def test_no_hidden_numbers_are_kept_for_the_gradient(seed: int):
    graph = GRAPHS["star"]()
    h = torch.randn(graph.num_nodes, 3, requires_grad=True)
    sizes: list[int] = []

    def note(tensor: torch.Tensor) -> torch.Tensor:
        sizes.append(tensor.numel())
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        GATv2Scorer(3, 97)(h, graph)
    # The two projections are the largest, [N, W]; the hidden numbers would be [E, W].
    assert max(sizes) == graph.num_nodes * 97 < graph.num_edges * 97


def test_a_compiler_takes_the_scorer(seed: int):
    graph, scorer = GRAPHS["random directed"](), GATv2Scorer(3, 5)
    h = torch.randn(graph.num_nodes, 3, requires_grad=True)
    compiled = torch.compile(scorer, fullgraph=True, backend="aot_eager")
    found = [score(h, graph).edge for score in (scorer, compiled)]
    assert torch.allclose(*found)
    grads = [torch.autograd.grad(score.sum(), h)[0] for score in found]
    assert torch.allclose(*grads, atol=1e-6)


def test_a_width_of_zero_is_refused():
    with pytest.raises(ValueError, match="`width` must be at least 1, got 0"):
        GATv2Scorer(5, 0)
