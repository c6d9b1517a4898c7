"""Rows cut into pieces, so that a long row is shared by threads or GPU programs.

How a matrix is cut depends on where its entries stand alone. It is worked out once, and
owned by the graph or by the sparse features it was worked out for.
"""

from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from sgat.graph.compressed_rows import once

SPLIT = {"cpu": 1 << 13, "gpu": 1024}
"""Longest piece of a row that one thread at a time, or one GPU program, handles."""


class RowPieces(NamedTuple):
    """Rows cut into pieces of at most `SPLIT` entries, at least one for each row.

    A compiler cannot wait for the device, so under it there is room for the most pieces
    there can be, P = N + M // SPLIT. Spare pieces have no entries and stand last.
    A piece of a split row leaves its sum at its place in `partial`, which is -1 for a
    row of one piece, -2 for a spare piece.
    """

    first: Tensor  # pieces of row i are first[i] to first[i + 1], [N + 1]
    bound: Tensor  # piece p covers the entries bound[p] to bound[p + 1], [P + 1]
    row: Tensor  # row of each piece, [P]; spare ones name the last
    partial: Tensor  # place of the sum of each piece, [P]
    split_row: Tensor  # the split rows, then -1, [P - N]
    longest: Tensor  # entries of the longest row, 1 at least, [1]

    @property
    def most_partial(self) -> int:
        """Most places that pieces of split rows can take."""
        return 2 * len(self.split_row)


def cut_rows(ptr: Tensor, num_entries: int, backend: str) -> Tensor:
    """Cut rows into the pieces of a backend; `unpacked` makes `RowPieces` of them.

    Row i has the entries ptr[i] to ptr[i + 1] of M. All is in one tensor, for each
    argument of an operator takes time.
    """
    split, device = SPLIT[backend], ptr.device
    num_rows, length = len(ptr) - 1, ptr.diff()
    count = torch.div(length + split - 1, split, rounding_mode="floor").clamp(min=1)
    first = torch.cat([count.new_zeros(1), count.cumsum(0)])
    # Programs for spare pieces cost a GPU a few per cent of a step, a wait nothing.
    is_compiled = torch.compiler.is_compiling()
    num_pieces = num_rows + num_entries // split if is_compiled else int(first[-1])
    piece = torch.arange(num_pieces, device=device)
    row = torch.searchsorted(first, piece, right=True) - 1
    is_spare = row == num_rows
    row = row.clamp(max=max(num_rows - 1, 0))
    start = ptr[row] + (piece - first[row]) * split
    is_split = (count > 1)[row] & ~is_spare
    partial = torch.where(is_split, is_split.cumsum(0) - 1, -1)
    number = torch.arange(1, num_pieces - num_rows + 1, device=device)
    split_row = torch.searchsorted((count > 1).cumsum(0), number)
    parts = RowPieces(
        first,
        torch.cat([start.where(~is_spare, ptr[-1]), ptr[-1:]]),
        row,
        partial.masked_fill(is_spare, -2),
        split_row.where(split_row < num_rows, -1),
        torch.cat([length, length.new_ones(1)]).amax(0, keepdim=True),
    )
    # Each begins at a multiple of 16 bytes, as GPUs like pointers.
    width = num_pieces + 1
    padded = [F.pad(part, (0, width + width % 2 - len(part))) for part in parts]
    return torch.stack(padded)[:, :width]


def unpacked(packed: Tensor, num_rows: int) -> RowPieces:
    """The pieces that `cut_rows` packed, as views."""
    num_pieces = packed.shape[1] - 1
    num_extra = num_pieces - num_rows
    sizes = (num_rows + 1, num_pieces + 1, num_pieces, num_pieces, num_extra, 1)
    parts = zip(packed, sizes, strict=True)
    return RowPieces(*(part[:size] for part, size in parts))


def owned_pieces(
    derived: dict[str, Any], name: str, ptr: Tensor, num_entries: int, backend: str
) -> Tensor:
    """Rows cut by `cut_rows` at the first call of this name, then kept in `derived`."""
    name = f"{name} in pieces of {SPLIT[backend]}"
    return once(derived, name, lambda: cut_rows(ptr, num_entries, backend))
