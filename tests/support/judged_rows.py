"""Verdicts of our own on the rows of a file, and the page on them."""

from pathlib import Path

import numpy as np

from sgat.data.files import open_graph
from sgat.judging.edge_judge import EdgeNumbers
from sgat.judging.judged_rows import JudgedRows
from sgat.report.judged import JudgedPart, JudgedTally, write_judged


def rows_judged(path: Path, probability: np.ndarray, reason: int = 0) -> JudgedRows:
    """The rows of a file with one batch, each with its probability; both directions
    of an edge have the same."""
    files = open_graph(path)
    ends = [files.ids.to_pylist().index(end.as_py()) for end in _ends(files)]
    src, dst = np.array(ends).reshape(2, -1)
    low, high = np.minimum(src, dst), np.maximum(src, dst)
    key = (low * files.data.num_nodes + high)[src != dst]
    key, first, number = np.unique(key, return_index=True, return_counts=True)
    edges = EdgeNumbers.of(key, files.data.num_nodes)
    real = np.asarray(probability, dtype=np.float32)[src != dst][first]
    number, why = number.astype(np.int32), np.full(len(key), reason, dtype=np.int8)
    return JudgedRows(files, edges, number, real, why)


def _ends(files):
    (table,) = (source.table for source, _ in files.rows.batches())
    return [*table.column(0), *table.column(1)]


def write_page(judged: JudgedRows, path: Path, why: str = "those", **promise) -> None:
    """The page as `sgat judge` writes it."""
    tally, data = JudgedTally(), judged.files.data
    for batch in judged.batches(judged.choose(**promise).limit):
        tally.add(JudgedPart(data.name, data.ids, *batch.of_edges))
    write_judged(tally, data, why, path)
