"""The passes of `sgat.ops.operators` in Triton.

Rows are cut into pieces of at most `SPLIT` edges and one program handles a piece, so a
hub costs no more time than its edges do. No result depends on the order in which
programs run. Calls never wait for the device but for the first with a graph.

Masked lanes hold 0 unless said otherwise. Every index that is multiplied by a width is
widened to 64 bits first. Sums run in float32, or float64 if the features are float64;
those of gates in the type of the scores.

Tested by tests/ops/test_gpu.py and by tests of their own names.
"""

from sgat.ops.gpu.aggregate import aggregate_rows, aggregate_rows_bwd
from sgat.ops.gpu.gates import open_rows
from sgat.ops.gpu.gates_bwd import open_rows_bwd
from sgat.ops.gpu.project import drop_features, project_sparse, project_sparse_bwd

__all__ = [
    "aggregate_rows",
    "aggregate_rows_bwd",
    "drop_features",
    "open_rows",
    "open_rows_bwd",
    "project_sparse",
    "project_sparse_bwd",
]
