"""Attention on the CPU: loops over rows of edges, a range of rows in each thread.

Tested by tests/lab/unseen/attention/test_operation.py.
"""

import itertools
import math
from concurrent.futures import ThreadPoolExecutor

import numba
import numpy as np
import torch
from torch import Tensor

from sgat_lab.unseen.attention.edges import SLOPE, AttendInputs, EdgeRows

SERIAL_WORK = 1 << 20
"""Products and sums, below which a second thread costs more than it saves."""

# Sums may be reordered into vector lanes; NaN and infinity keep their meaning.
compiled = numba.njit(
    nogil=True,
    cache=True,
    error_model="numpy",
    fastmath={"reassoc", "contract", "nsz"},
)


@compiled
def product(x, y, i, j, h):
    """x_i · y_j of a head."""
    total = x[0, 0, 0] * 0
    for d in range(x.shape[2]):
        total += x[i, h, d] * y[j, h, d]
    return total


@compiled
def forward_rows(
    first, last, ptr, column, x, src, dst, slope, products, edge, kept, share, out
):
    """Shares a_ij in the order by target, and the means."""
    one = x.dtype.type(1)
    for i in range(first, last):
        for h in range(x.shape[1]):
            top = x.dtype.type(-np.inf)
            for e in range(ptr[i], ptr[i + 1]):
                j = column[e]
                raw = src[j, h] + dst[i, h]
                if products:
                    raw *= one / (one + math.exp(-product(x, x, i, j, h)))
                score = raw if raw > 0 else raw * slope
                share[e, h] = score
                top = max(top, score)
            total = x.dtype.type(0)
            for e in range(ptr[i], ptr[i + 1]):
                share[e, h] = math.exp(share[e, h] - top)
                total += share[e, h]
            for d in range(x.shape[2]):
                out[i, h, d] = 0
            for e in range(ptr[i], ptr[i + 1]):
                share[e, h] /= total
                factor = share[e, h]
                if len(kept):
                    factor *= kept[edge[e], h]
                j = column[e]
                for d in range(x.shape[2]):
                    out[i, h, d] += factor * x[j, h, d]


@compiled
def backward_targets(
    first,
    last,
    ptr,
    column,
    x,
    src,
    dst,
    slope,
    products,
    edge,
    kept,
    share,
    grad,
    mean,
    factor,
    change,
    pull,
    grad_dst,
    grad_x,
):
    """∂t_i, ∂x_i as a target of products, and three numbers of each edge as given.

    These are m_ij a_ij, ∂s_j and the factor of x_i in ∂x_j.
    """
    one = x.dtype.type(1)
    for i in range(first, last):
        for h in range(x.shape[1]):
            total = x.dtype.type(0)
            for d in range(x.shape[2]):
                grad_x[i, h, d] = 0
            for e in range(ptr[i], ptr[i + 1]):
                j, at = column[e], edge[e]
                both = src[j, h] + dst[i, h]
                likely = one
                if products:
                    likely = one / (one + math.exp(-product(x, x, i, j, h)))
                keep = kept[at, h] if len(kept) else one
                by_score = share[e, h] * (keep * product(grad, x, i, j, h) - mean[i, h])
                if not both * likely > 0:
                    by_score *= slope
                factor[at, h] = share[e, h] * keep
                change[at, h] = by_score * likely
                total += by_score * likely
                if products:
                    weight = by_score * both * likely * (one - likely)
                    pull[at, h] = weight
                    for d in range(x.shape[2]):
                        grad_x[i, h, d] += weight * x[j, h, d]
            grad_dst[i, h] = total


@compiled
def backward_sources(
    first,
    last,
    ptr,
    column,
    x,
    products,
    edge,
    grad,
    factor,
    change,
    pull,
    grad_src,
    grad_x,
):
    """∂s_j, and ∂x_j as a source, which is added to `grad_x`."""
    for j in range(first, last):
        for h in range(x.shape[1]):
            total = x.dtype.type(0)
            for e in range(ptr[j], ptr[j + 1]):
                i, at = column[e], edge[e]
                total += change[at, h]
                for d in range(x.shape[2]):
                    grad_x[j, h, d] += factor[at, h] * grad[i, h, d]
                if products:
                    for d in range(x.shape[2]):
                        grad_x[j, h, d] += pull[at, h] * x[i, h, d]
            grad_src[j, h] = total


def _run(kernel, rows: EdgeRows, width: int, *given) -> None:
    """Call a kernel on ranges of rows with about as many edges each."""
    arrays = [part.numpy() if isinstance(part, Tensor) else part for part in given]
    ptr = rows.ptr.numpy()
    threads = torch.get_num_threads()
    work = ptr + np.arange(len(ptr))
    number = 1 if work[-1] * width < SERIAL_WORK else threads
    bounds = np.searchsorted(work, np.linspace(0, work[-1], number + 1))
    ranges = [
        (first, last, ptr, rows.column.numpy(), *arrays)
        for first, last in itertools.pairwise(bounds)
    ]
    if number == 1:
        kernel(*ranges[0])
        return
    with ThreadPoolExecutor(number) as pool:
        list(pool.map(lambda arguments: kernel(*arguments), ranges))


def _shared(inputs: AttendInputs) -> tuple[tuple, Tensor]:
    """Arguments of both passes by target, and the dropout, empty without."""
    x, kept = inputs.x, inputs.kept
    scores = inputs.src_score.detach(), inputs.dst_score.detach()
    slope = x.new_tensor(SLOPE).numpy()[()]
    given = (x.detach(), *scores, slope, inputs.with_products)
    return given, x.new_empty(0, x.shape[1]) if kept is None else kept.detach()


def forward(inputs: AttendInputs) -> tuple[Tensor, Tensor]:
    """The means, [N, H, D], and the shares of edges in the order by target, [E, H]."""
    x, rows = inputs.x, inputs.edges.targets
    given, kept = _shared(inputs)
    out, share = torch.empty_like(x), x.new_empty(len(rows.column), x.shape[1])
    width = x.shape[1] * x.shape[2]
    _run(forward_rows, rows, width, *given, rows.edge, kept, share, out)
    return out, share


def backward(
    inputs: AttendInputs, share: Tensor, grad: Tensor, mean: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients by x, by the scores of sources and by those of targets."""
    x, (targets, sources) = inputs.x, inputs.edges
    given, kept = _shared(inputs)
    factor, change = torch.empty_like(share), torch.empty_like(share)
    pull = torch.empty_like(share) if inputs.with_products else share[:0]
    grad_x, grad_src, grad_dst = (torch.empty_like(part) for part in (x, mean, mean))
    width = x.shape[1] * x.shape[2]
    made = (factor, change, pull)
    _run(
        backward_targets,
        targets,
        width,
        *given,
        targets.edge,
        kept,
        share,
        grad,
        mean,
        *made,
        grad_dst,
        grad_x,
    )
    _run(
        backward_sources,
        sources,
        width,
        x.detach(),
        inputs.with_products,
        sources.edge,
        grad,
        *made,
        grad_src,
        grad_x,
    )
    return grad_x, grad_src, grad_dst
