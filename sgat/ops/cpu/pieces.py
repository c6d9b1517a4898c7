"""Tensors and rows in pieces as arrays for the kernels, and sums over the pieces."""

from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sgat.ops.cpu.lanes import compiled
from sgat.ops.operators.pieces import unpacked

Array = NDArray[Any]


def array(tensor: Tensor | None, dtype: Any = np.float32) -> Array:
    """The tensor's memory; an empty array for None."""
    return np.empty(0, dtype) if tensor is None else tensor.detach().numpy()


def noise_key(inputs: Any) -> tuple[Array, Array]:
    """The names of the nodes in the noise, and the seed; both empty without."""
    return array(inputs.node_id, np.int64), array(inputs.seed, np.int64)


def wide(tensor: Tensor) -> Tensor:
    """The tensor in a type the kernels know: float32 or float64."""
    is_known = tensor.dtype in (torch.float32, torch.float64)
    return tensor if is_known else tensor.float()


class PieceArrays(NamedTuple):
    """The pieces of `RowPieces` that are not spare, as arrays."""

    ptr: Array  # where the entries of each piece begin, [P + 1]
    row: Array  # row of each piece, [P]
    first: Array  # first piece of each row, [N + 1]
    place: Array  # where a piece of a split row leaves its sum, [P]; -1 for a whole row
    num_places: int  # how many leave a sum


def pieces(packed: Tensor, num_rows: int) -> PieceArrays:
    """The pieces that `cut_rows` packed for this backend."""
    first, ptr, row, place = (p.numpy() for p in unpacked(packed, num_rows)[:4])
    number = int(first[num_rows])
    place = place[:number]
    num_places = int(place.max()) + 1 if number > num_rows else 0
    return PieceArrays(ptr[: number + 1], row[:number], first, place, num_places)


@compiled
def add_pieces(partial, first, out):
    """out_i = Σ partial over the pieces of row i, in their order, [N, R]."""
    for i in range(len(out)):
        for r in range(out.shape[1]):
            total = partial[first[i], r]
            for p in range(first[i] + 1, first[i + 1]):
                total += partial[p, r]
            out[i, r] = total


@compiled
def add_rows(first, place, partial, out):
    """Fill split rows with the sums of their pieces, added in their order."""
    for i in range(len(out)):
        begin = first[i]
        if place[begin] < 0:
            continue
        for d in range(out.shape[1]):
            out[i, d] = partial[place[begin], d]
        for p in range(begin + 1, first[i + 1]):
            for d in range(out.shape[1]):
                out[i, d] += partial[place[p], d]


@compiled
def longest_piece(ptr, first, last):
    """Entries of the longest of the pieces first to last."""
    longest = 0
    for piece in range(first, last):
        longest = max(longest, ptr[piece + 1] - ptr[piece])
    return longest
