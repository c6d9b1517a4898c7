"""Products of dense matrices whose bits do not depend on the number of threads."""

import itertools
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from sgat.ops import threads

NARROW = 16
ROWS, MOST = 1024, 64
"""Rows of a block, at least, and blocks at most."""


def product(x: Tensor, weight: Tensor) -> Tensor:
    """The product x W of dense features, [N, D].

    A library that shares out a product rounds by the number of threads. On a CPU blocks
    of rows are multiplied, each by one thread; their number follows from N alone.
    """
    if x.is_cpu and weight.shape[1] < NARROW:
        # Up to four times as fast where it is handed over column by column.
        weight = weight.T.contiguous().T
    is_plain = torch.compiler.is_compiling() or torch.is_autocast_enabled("cpu")
    if is_plain or not x.is_cpu:
        return x @ weight
    return _Product.apply(x, weight)  # type: ignore[no-any-return]


class _Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor) -> Tensor:
        ctx.save_for_backward(x, weight)
        return _times(x.detach(), weight.detach())

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> Any:
        x, weight = (tensor.detach() for tensor in ctx.saved_tensors)
        of_x, of_weight = ctx.needs_input_grad
        return (
            _times(grad, weight.T) if of_x else None,
            _over_rows(x, grad) if of_weight else None,
        )


def _times(x: Tensor, weight: Tensor) -> Tensor:
    out = x.new_empty(len(x), weight.shape[1])
    _by_blocks(lambda _, rows: torch.mm(x[rows], weight, out=out[rows]), len(x))
    return out


def _over_rows(x: Tensor, grad: Tensor) -> Tensor:
    """The product xᵀ g, the sums of the blocks added in their order."""
    if grad.shape[1] < NARROW <= x.shape[1]:
        return _over_rows(grad, x).T
    sums: dict[int, Tensor] = {}
    _by_blocks(lambda k, rows: sums.update({k: x[rows].T @ grad[rows]}), len(x))
    return sum((sums[k] for k in range(1, len(sums))), sums[0])


def _by_blocks(work: Any, size: int) -> None:
    """Call it with the number and the rows of each block."""
    number, count = min(size // ROWS, MOST), torch.get_num_threads()
    if number > 1:
        # In their parallel region the library takes one thread for each.
        bounds = itertools.pairwise(size * k // number for k in range(number + 1))
        blocks: Any = [(k, slice(*ends)) for k, ends in enumerate(bounds)]
        threads.run(work, blocks)
        return
    torch.set_num_threads(1)
    try:
        work(0, slice(0, size))
    finally:
        torch.set_num_threads(count)
