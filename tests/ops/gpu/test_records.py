"""Records hold the score and the vector of a node, bit for bit."""

from __future__ import annotations

import math

import pytest
import torch
from support.triton_device import DEVICE, needs_triton
from torch import Tensor

pytestmark = needs_triton

# Where the words of a lane stand; those in the first two places are read as one tile.
PLACES = [0, 2, 1, 3]


def unpacked(record: Tensor, shape: dict[str, int]) -> tuple[Tensor, Tensor]:
    """The vectors and the last words of all lanes of records."""
    lanes = record.cpu().reshape(len(record), shape["LANES"], 4)[:, :, PLACES]
    words = lanes[:, :, : shape["WORDS"]].contiguous()
    if shape["HALVES"] == 2:
        words, lanes = words.view(torch.bfloat16), lanes.view(torch.float32)
    return words.reshape(len(record), -1)[:, : shape["RANK"]], lanes[:, :, 3]


@pytest.mark.parametrize("rank", [1, 7, 16, 24, 31, 48, 49, 64])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_records_hold_scores_and_vectors(rank: int, dtype: torch.dtype) -> None:
    from sgat.ops.gpu.records import Records

    scores = torch.randn(2, 37, dtype=dtype)
    vectors = torch.randn(2, 37, rank, dtype=dtype)
    # Halfway between two numbers of bfloat16, and none at all.
    vectors[0, 0, 0], vectors[0, 1, 0] = 1 + 2**-8, 1 + 3 * 2**-8
    vectors[1, 2, 0], vectors[1, 3, 0] = math.nan, -math.inf
    records = Records.packed(*scores.to(DEVICE), *vectors.to(DEVICE))
    assert records is not None
    assert records.transposed().row is records.column
    for record, score, vector in zip(records[:2], scores, vectors, strict=True):
        found, last = unpacked(record, records.shape)
        nearest = vector.bfloat16() if dtype == torch.float32 else vector
        torch.testing.assert_close(found, nearest, rtol=0, atol=0, equal_nan=True)
        if records.shape["WORDS"] < 4:
            assert torch.equal(last[:, 0], score)
            assert not last[:, 1:].any()


def test_a_record_of_rank_16_is_one_request() -> None:
    from sgat.ops.gpu.records import shape_of

    # 64 bytes in one place, the score with them.
    assert shape_of(16, torch.float32) == (4, 2)
    # 128 bytes of vector leave no room for the score.
    assert shape_of(64, torch.float32) == (8, 4)
