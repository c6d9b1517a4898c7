"""The attention of GAT and of SuperGAT as one operation with its gradient."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import torch
from torch import Tensor

from sgat.ops import HAS_TRITON
from sgat_lab.unseen.attention.edges import AttendInputs, AttentionEdges


def _loops(device: torch.device, backend: str) -> ModuleType:
    """The backend that fits a device, or the one that is named."""
    if backend == "gpu" or (backend == "auto" and device.type == "cuda"):
        if not HAS_TRITON:
            raise ValueError("Attention on a GPU needs Triton, which is not installed.")
        from sgat_lab.unseen.attention import gpu

        return gpu
    from sgat_lab.unseen.attention import cpu

    return cpu


class _Attend(torch.autograd.Function):
    """`attend`, with the gradients that its backend works out."""

    @staticmethod
    def forward(ctx: Any, loops: ModuleType, *given: Any) -> Tensor:
        inputs = AttendInputs(*given)
        out, share = loops.forward(inputs)
        tensors = (inputs.x, inputs.src_score, inputs.dst_score, inputs.kept)
        ctx.save_for_backward(*tensors, out, share)
        ctx.options = (loops, inputs.edges, inputs.with_products)
        found: Tensor = out
        return found

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        *tensors, out, share = ctx.saved_tensors
        loops, *options = ctx.options
        grad = grad.contiguous()
        # Σ_j a_ij ∂a_ij, which softmax takes off each ∂a_ij.
        mean = (grad * out).sum(dim=-1)  # [N, H]
        found = loops.backward(AttendInputs(*tensors, *options), share, grad, mean)
        return (None, *found, None, None, None)


def attend(
    x: Tensor,
    src_score: Tensor,
    dst_score: Tensor,
    edges: AttentionEdges,
    *,
    kept: Tensor | None = None,
    with_products: bool = False,
    backend: str = "auto",
) -> Tensor:
    """Means of the in-neighbours of each node, weighted by a softmax for each head.

        r_ij = s_j + t_i                              GAT
        r_ij = (s_j + t_i) σ(x_i · x_j)               SuperGAT, `with_products`
        a_ij = softmax over j of LeakyReLU(r_ij)
        out_i = Σ_j m_ij a_ij x_j

    A node without edges gets zeros. On a GPU the gradient by t is summed in no fixed
    order without products; all else is the same at every call.

    Args:
        x: Features, [N, H, D].
        src_score: Score s of each node as a source, [N, H].
        dst_score: Score t of each node as a target, [N, H].
        edges: The edges.
        kept: Factor m of each edge, in the order in which they were given, [E, H]: 0 if
            dropout takes it; None for 1. It has no gradient.
        with_products: Whether scores are multiplied as in SuperGAT.
        backend: "cpu" or "gpu" to force one.

    Returns:
        The means, [N, H, D].
    """
    found: Tensor = _Attend.apply(
        _loops(x.device, backend),
        x.contiguous(),
        src_score.contiguous(),
        dst_score.contiguous(),
        kept,
        edges,
        with_products,
    )
    return found
