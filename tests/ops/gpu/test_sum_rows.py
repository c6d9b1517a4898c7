"""Weighted sums of rows by the Triton kernel, against a product of dense matrices."""

from __future__ import annotations

import pytest
import torch
from support.triton_device import DEVICE, needs_triton

from sgat.features import SparseFeatures
from sgat.ops.operators.pieces import cut_rows, unpacked

pytestmark = needs_triton


@pytest.mark.parametrize("width", [1, 5, 16, 19, 41])
def test_sums_of_rows_are_a_product_of_matrices(width: int, short_pieces: None) -> None:
    from sgat.ops.gpu.sum_rows import sum_rows

    generator = torch.Generator().manual_seed(width)
    matrix = torch.randn(7, 43, generator=generator)
    matrix *= torch.rand(7, 43, generator=generator) < 0.5
    matrix[2] = 0
    x = torch.randn(43, width, generator=generator)
    sparse = SparseFeatures.from_dense(matrix).to(DEVICE)
    out = torch.full((7, width), torch.nan, device=DEVICE)
    sum_rows(
        unpacked(cut_rows(sparse.row_ptr, len(sparse.value), "gpu"), 7),
        None,
        sparse.column,
        sparse.value,
        x.to(DEVICE),
        out,
    )
    torch.testing.assert_close(out.cpu(), matrix @ x)


def test_rows_are_padded_to_whole_vectors_with_zeros() -> None:
    from sgat.ops.gpu.sum_rows import aligned_width

    widths = [1, 16, 17, 41, 48, 128]
    assert [aligned_width(k) for k in widths] == [1, 16, 32, 48, 48, 128]
