"""Dense products: those of the matrices, with the same bits for any threads."""

import pytest
import torch
from torch import Tensor

from sgat.ops.dense_product import MOST, ROWS, product
from sgat.parallel.part import normalised


@pytest.fixture(autouse=True)
def threads():
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def with_gradients(x: Tensor, weight: Tensor, upstream: Tensor) -> list[Tensor]:
    x, weight = x.clone().requires_grad_(), weight.clone().requires_grad_()
    out = product(x, weight)
    return [out.detach(), *torch.autograd.grad(out, (x, weight), upstream)]


@pytest.mark.parametrize("rows", [0, 1, 29, 2 * ROWS - 1, 2 * ROWS, 5 * ROWS + 3])
@pytest.mark.parametrize("width", [1, 2, 15, 16, 17])
def test_the_product_and_its_gradients_are_those_of_the_matrices(rows, width):
    x = torch.randn(rows, 11, dtype=torch.float64, requires_grad=True)
    weight = torch.randn(11, width, dtype=torch.float64, requires_grad=True)
    upstream = torch.randn(rows, width, dtype=torch.float64)
    outputs = product(x, weight), x @ weight
    torch.testing.assert_close(*outputs)
    for wanted in ((x, weight), (x,), (weight,)):
        grads = [
            torch.autograd.grad(out, wanted, upstream, retain_graph=True)
            for out in outputs
        ]
        torch.testing.assert_close(*grads)


@pytest.mark.parametrize("rows", [7, 100, 1501, 2708, ROWS * MOST + 1])
@pytest.mark.parametrize("shape", [(3, 1), (16, 5), (53, 64), (64, 128), (767, 16)])
def test_the_bits_do_not_depend_on_the_number_of_threads(rows, shape, seed):
    rows = min(rows, 10_000) if shape[0] > 60 else rows
    generator = torch.Generator().manual_seed(seed)
    sizes = (rows, shape[0]), shape, (rows, shape[1])
    given = [torch.randn(size, generator=generator) for size in sizes]
    torch.set_num_threads(1)
    wanted = with_gradients(*given)
    for number in (2, 3, 5):
        torch.set_num_threads(number)
        found = with_gradients(*given)
        assert all(map(torch.equal, found, wanted)), number


@pytest.mark.parametrize("rows", [97, 3001])
def test_columns_without_mean_and_spread_have_the_same_bits(rows, seed):
    h = 3 * torch.randn(rows, 33, generator=torch.Generator().manual_seed(seed)) + 1
    found = []
    for number in (1, 2, 3, 5):
        torch.set_num_threads(number)
        own, known = h.clone().requires_grad_(), (torch.zeros(33), torch.ones(33))
        out = normalised(own, *known, rows)
        out.square().cumsum(1).sum().backward()
        found.append([out.detach(), own.grad, *known])
    for other in found[1:]:
        assert all(map(torch.equal, other, found[0]))
    known = torch.zeros(33), torch.ones(33)
    wanted = torch.nn.functional.batch_norm(h, *known, training=True)
    torch.testing.assert_close(found[0][0], wanted)
    torch.testing.assert_close(tuple(found[0][2:]), known)
