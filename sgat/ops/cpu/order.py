"""How rows are cut into pieces, and the entries of a sparse matrix by column.

Both depend on the graph alone and are kept as long as the memory they come from.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from sgat.ops.cache import Kept
from sgat.ops.cpu.lanes import compiled
from sgat.ops.cpu.memory import Array
from sgat.ops.operators import passes as fused_passes


class Pieces(NamedTuple):
    """Rows cut into pieces of at most `SPLIT` entries, at least one for each row.

    Attributes:
        ptr: Where the entries of each piece begin, [P + 1]; the row pointers if no row
            is cut.
        row: Row of each piece, [P].
        first: First piece of each row, [N + 1].
        extra: Number of each piece among those that do not begin their row; -1 for
            those that do, [P].
        num_extra: How many do not, P - N.
    """

    ptr: Array
    row: Array
    first: Array
    extra: Array
    num_extra: int


class Columns(NamedTuple):
    """The entries of a sparse matrix sorted by column, then by row.

    Attributes:
        pieces: The columns, cut.
        row: Row of each entry.
        entry: Position of each entry in the order by row.
    """

    pieces: Pieces
    row: Array
    entry: Array


def cut_rows(row_ptr: Array, split: int) -> Pieces:
    """Cut rows into pieces of at most `split` entries."""
    num_rows = len(row_ptr) - 1
    pieces_of_row = np.maximum((np.diff(row_ptr) + (split - 1)) // split, 1)
    first = np.concatenate([[0], np.cumsum(pieces_of_row)])
    row = np.repeat(np.arange(num_rows), pieces_of_row)
    if len(row) == num_rows:
        return Pieces(row_ptr, row, first, np.full(num_rows, -1), 0)
    number = np.arange(len(row)) - first[row]  # of the piece in its row
    ptr = np.append(row_ptr[row] + number * split, row_ptr[-1])
    is_extra = number > 0
    extra = np.where(is_extra, np.cumsum(is_extra) - 1, -1)
    return Pieces(ptr, row, first, extra, len(row) - num_rows)


_pieces = Kept()


def pieces(row_ptr: Tensor) -> Pieces:
    """The pieces of the rows, kept as long as the memory of `row_ptr`."""
    split = fused_passes.SPLIT["cpu"]
    known = _pieces.get(row_ptr)
    if known is None or known[0] != split:
        # A copy, since what is kept must not keep the memory it is kept for.
        known = (split, cut_rows(row_ptr.numpy().copy(), split))
        _pieces.set(row_ptr, known)
    return known[1]


@compiled
def place_kernel(row_ptr, column, column_ptr, row, entry):
    """List the entries of each column in the order of the rows."""
    filled = column_ptr[:-1].copy()
    for i in range(len(row_ptr) - 1):
        for q in range(row_ptr[i], row_ptr[i + 1]):
            p = filled[column[q]]
            row[p] = i
            entry[p] = q
            filled[column[q]] = p + 1


_columns = Kept()


def columns(row_ptr: Tensor, column: Tensor, num_columns: int) -> Columns:
    """The entries by column, kept as long as the memory of `column`."""
    split = fused_passes.SPLIT["cpu"]
    known = _columns.get(column)
    if known is None or known[0] != (split, num_columns):
        count = torch.bincount(column, minlength=num_columns)
        column_ptr = torch.cat([count.new_zeros(1), count.cumsum(0)]).numpy()
        num_rows, num_entries = len(row_ptr) - 1, len(column)
        small = max(num_rows, num_entries) < 2**31
        row, entry = np.empty((2, num_entries), np.int32 if small else np.int64)
        place_kernel(row_ptr.numpy(), column.numpy(), column_ptr, row, entry)
        known = (
            (split, num_columns),
            Columns(cut_rows(column_ptr, split), row, entry),
        )
        _columns.set(column, known)
    return known[1]


@compiled
def add_pieces(partial, first, out):
    """out_i = Σ partial over the pieces of row i, in their order."""
    for i in range(len(out)):
        total = partial[first[i]]
        for p in range(first[i] + 1, first[i + 1]):
            total += partial[p]
        out[i] = total


@compiled
def add_rows(first, extra, partial, out):
    """Add the sums of further pieces to the rows they belong to, in order."""
    for i in range(len(out)):
        for p in range(first[i] + 1, first[i + 1]):
            for d in range(out.shape[1]):
                out[i, d] += partial[extra[p], d]


@compiled
def longest_piece(ptr, first, last):
    """Entries of the longest of the pieces first to last."""
    longest = 0
    for piece in range(first, last):
        longest = max(longest, ptr[piece + 1] - ptr[piece])
    return longest
