"""Compressed rows: pointers, and the same entries once more by column.

The edges of a graph and sparse node features are both stored in this form: the entries
of row i stand at positions row_ptr[i] to row_ptr[i + 1].
"""

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

Array = NDArray[Any]
T = TypeVar("T")


def once(known: dict[str, Any], name: str, work_out: Callable[[], T]) -> T:
    """The result of `work_out`, from `known` if it is there, else kept there.

    As `functools.cached_property`, which a compiler does not look into. What is worked
    out in inference mode can be trained with later.
    """
    if name not in known:
        with torch.inference_mode(False):
            known[name] = work_out()
    found: T = known[name]
    return found


def index_type(size: int) -> torch.dtype:
    """The smaller type that holds the numbers below `size`, int32 or int64."""
    return torch.int32 if size < 2**31 else torch.int64


def pointers(row: Tensor, num_rows: int) -> Tensor:
    """Where the entries of each row begin once they are sorted by row, [N + 1]."""
    count = torch.bincount(row, minlength=num_rows)
    return torch.cat([count.new_zeros(1), count.cumsum(0)])


def entry_rows(row_ptr: Tensor, column: Tensor, dtype: Any = torch.int64) -> Tensor:
    """Row of each entry, [M]."""
    row = torch.arange(len(row_ptr) - 1, device=row_ptr.device, dtype=dtype)
    return torch.repeat_interleave(row, row_ptr.diff(), output_size=len(column))


def to_scipy(
    row_ptr: Tensor, column: Tensor, value: Array, shape: tuple[int, int]
) -> Any:
    """A SciPy array of the entries, with these values."""
    from scipy.sparse import csr_array

    rows = (value, column.numpy(force=True), row_ptr.numpy(force=True))
    return csr_array(rows, shape=shape)


# An operator, for a compiler cannot look into SciPy.
@torch.library.custom_op("sgat::by_column", mutates_args=())
def by_column(
    row_ptr: Tensor, column: Tensor, num_columns: int
) -> tuple[Tensor, Tensor, Tensor]:
    """The entries sorted by column and, within a column, by row.

    On a CPU they are counted and placed, in linear time; elsewhere they are sorted.
    Returns where the entries of each column begin, [K + 1]; the row of each entry in
    this order, [M]; its position in the order by row, [M]. The last two are int32 if
    there are less than 2³¹ rows and entries, each on its own.
    """
    num_rows, num_entries = len(row_ptr) - 1, len(column)
    if column.is_cpu:
        place = np.arange(num_entries, dtype=np.int32 if num_entries < 2**31 else None)
        rows = to_scipy(row_ptr, column, place, (num_rows, num_columns))
        columns = rows.tocsc()
        found = (columns.indptr, columns.indices, columns.data)
        ptr, row, entry = (torch.from_numpy(part) for part in found)
        return ptr.long(), row.to(index_type(num_rows)), entry
    # Stable, so that entries of a column stay in the order of their rows.
    sorted_column, entry = torch.sort(column, stable=True)
    bounds = torch.arange(num_columns + 1, device=column.device, dtype=column.dtype)
    row = entry_rows(row_ptr, column, index_type(num_rows))
    return (
        torch.searchsorted(sorted_column, bounds),
        row[entry],
        entry.to(index_type(num_entries)),
    )


@by_column.register_fake
def _(
    row_ptr: Tensor, column: Tensor, num_columns: int
) -> tuple[Tensor, Tensor, Tensor]:
    num_rows, num_entries = row_ptr.shape[0] - 1, column.shape[0]
    return (
        row_ptr.new_empty(num_columns + 1),
        column.new_empty(num_entries, dtype=index_type(num_rows)),
        column.new_empty(num_entries, dtype=index_type(num_entries)),
    )
