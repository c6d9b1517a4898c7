"""Attention by the Triton kernels, against the loops of the CPU."""

import itertools

import pytest
import torch
from support.awkward import GRAPHS
from support.triton_device import DEVICE, HAS_CUDA, gpu_test

from sgat_lab.unseen.attention import AttentionEdges, attend

pytest.importorskip("triton", reason="Triton is not installed")


def results(edge_index, shape, backend, *, device, drops, with_products):
    edges = AttentionEdges.of(edge_index.to(device), shape[0])
    generator = torch.Generator().manual_seed(0)
    sizes = [shape, shape[:2], shape[:2], shape]
    *numbers, asked = (torch.randn(s, generator=generator) for s in sizes)
    kept = (torch.rand(edges.num_edges, shape[1], generator=generator) < 0.6) / 0.6
    numbers = [part.to(device).requires_grad_() for part in numbers]
    out = attend(
        *numbers,
        edges,
        kept=kept.to(device) if drops else None,
        with_products=with_products,
        backend=backend,
    )
    grads = torch.autograd.grad(out, numbers, asked.to(device))
    return [part.detach().cpu() for part in (out, *grads)]


def check(edge_index, shape, *, drops, with_products):
    options = {"drops": drops, "with_products": with_products}
    fast = results(edge_index, shape, "gpu", device=DEVICE, **options)
    slow = results(edge_index, shape, "cpu", device="cpu", **options)
    for one, other in zip(fast, slow, strict=True):
        assert one.isfinite().all()
        torch.testing.assert_close(one, other, rtol=1e-4, atol=2e-5)


@pytest.fixture(autouse=True)
def interpreter(monkeypatch):
    if not HAS_CUDA:
        monkeypatch.setenv("TRITON_INTERPRET", "1")


# The interpreter is slow: fast are both options, together and apart, on some graph.
FAST = [("no edges", True, True), ("isolated node", True, False)]
FAST += [("isolated node", False, True), ("random directed", True, True)]


@pytest.mark.parametrize(
    ("name", "drops", "with_products"),
    [
        pytest.param(*case, marks=() if case in FAST else pytest.mark.slow)
        for case in itertools.product(
            ("no edges", "isolated node", "random directed"), *[(False, True)] * 2
        )
    ],
)
def test_outputs_and_gradients_are_those_of_the_cpu(name, drops, with_products):
    graph = GRAPHS[name]()
    every = torch.arange(0, graph.num_nodes, 2).expand(2, -1)
    index = torch.cat([graph.edge_index, every], dim=1)
    shape = (graph.num_nodes, 3, 5)
    check(index, shape, drops=drops, with_products=with_products)


@gpu_test
@pytest.mark.parametrize("with_products", [False, True])
@pytest.mark.parametrize("shape", [(4, 32), (4, 16), (8, 8), (1, 7), (1, 70), (3, 1)])
def test_large_rows_and_all_widths_on_a_gpu(shape, with_products):
    torch.manual_seed(0)
    hub = torch.stack([torch.arange(2_003), torch.zeros(2_003, dtype=torch.long)])
    index = torch.cat([torch.randint(2_003, (2, 50_021)), hub, hub.flip(0)], dim=1)
    check(index, (2_003, *shape), drops=True, with_products=with_products)
