"""The passes of `sgat.ops.operators` in Numba, and how threads share them.

A kernel is compiled without the interpreter's lock and handles the pieces of rows
`first` to `last`; threads take such ranges one after the other. A piece is summed by
one thread in a fixed order, and pieces of one row are added in order, so results do not
depend on the number of threads. Features are summed in float32 or float64; gates are
computed in the type of the scores and their sums in float64.

Tested by tests/ops/test_cpu.py and by tests of their own names.
"""

from sgat.ops.cpu.aggregate import aggregate_rows, aggregate_rows_bwd
from sgat.ops.cpu.gates import open_rows
from sgat.ops.cpu.gates_bwd import open_rows_bwd
from sgat.ops.cpu.heap import widen_heap
from sgat.ops.cpu.project import drop_features, project_sparse, project_sparse_bwd

__all__ = [
    "aggregate_rows",
    "aggregate_rows_bwd",
    "drop_features",
    "open_rows",
    "open_rows_bwd",
    "project_sparse",
    "project_sparse_bwd",
]

# Once in a process: this package is imported when the backend is first used.
widen_heap()
