"""Dropout and projection of features by the Triton kernels, against the reference."""

from __future__ import annotations

import pytest
import torch
from support.agreement import assert_as_close
from support.triton_device import DEVICE, needs_triton
from torch import Tensor

from sgat import ops
from sgat.features import SparseFeatures
from sgat.ops import noise

pytestmark = needs_triton


@pytest.mark.parametrize("rate", [0.3, 0.5])
@pytest.mark.parametrize("names", [None, torch.tensor([5, 3, 2**32 + 3, 8, 1])])
def test_feature_dropout_has_the_mask_of_noise(
    rate: float, names: Tensor | None
) -> None:
    seed = 2**63 + 11
    x = torch.ones(5, 37)
    node = torch.arange(5) if names is None else names
    mask = noise.dense_feature_mask(
        seed, node, 37, noise.FEATURE_DROPOUT + 2, rate=rate
    )
    names = None if names is None else names.to(DEVICE)
    options = {"dropout": rate, "seed": seed, "layer": 2, "node_id": names}
    eye = torch.eye(37, device=DEVICE)
    dense = ops.project(x.to(DEVICE), eye, backend="gpu", **options)
    assert torch.equal(dense.cpu(), mask)
    sparse = SparseFeatures.from_dense(x).to(DEVICE)
    assert torch.equal(ops.project(sparse, eye, backend="gpu", **options).cpu(), mask)


@pytest.mark.parametrize("dropout", [0.0, 0.6])
def test_sparse_projection_follows_the_reference(
    dropout: float, short_pieces: None
) -> None:
    generator = torch.Generator().manual_seed(1)
    dense = torch.randn(29, 41, generator=generator)
    dense *= torch.rand(29, 41, generator=generator) < 0.4
    dense[:, 7], dense[3] = 1.0, 0.0
    start = torch.randn(41, 13, generator=generator)

    def run(dtype: torch.dtype, backend: ops.Backend, device: str) -> dict[str, Tensor]:
        weight = start.to(device, dtype, copy=True).requires_grad_()
        x = SparseFeatures.from_dense(dense.to(dtype)).to(device)
        out = ops.project(x, weight, dropout=dropout, seed=9, layer=1, backend=backend)
        out.square().sum().backward()
        return {"out": out.detach().cpu(), "weight": weight.grad.cpu()}

    plain = run(torch.float32, "reference", "cpu")
    exact = run(torch.float64, "reference", "cpu")
    assert_as_close(run(torch.float32, "gpu", DEVICE), plain, exact, torch.float32)
