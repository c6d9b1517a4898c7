"""verify_run(): the scores and numbers of a run, computed again from model and data."""

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from sgat.runs.finished_run import FinishedRun
from sgat.runs.provenance import hash_of
from sgat.scored import (
    edge_table,
    node_score,
    node_table,
    score_graphs,
    score_table,
)
from sgat.training.files import damage
from sgat.training.loop import chosen_device
from sgat.training.saved_model import usable_device

TOLERANCE = 1e-3
"""Difference of two numbers, absolute and relative, that another device may make."""
MOST_TIES = 1e-3
"""Share of rows whose words may differ, for their scores are at a border."""


@dataclasses.dataclass(frozen=True)
class Check:
    """Something that was looked at, and what was found."""

    name: str
    same: bool  # but for rounding
    found: str  # in words


def verify_run(run: FinishedRun) -> list[Check]:
    """Compute all that a run says of its data once more, and compare.

    The data must be there; an error if it is not that of the run.
    """
    graphs = run.graphs
    model = run.model.to(chosen_device(usable_device(run.config.train.device)))
    scored = score_graphs(model, graphs)
    metric, summary = run.config.train.metric, run.summary
    counts = {
        "nodes": sum(data.num_nodes for data in graphs),
        "edges": sum(data.graph.num_edges for data in graphs),
        "edges_removed": sum(int((~part.edges.kept).sum()) for part in scored),
    }
    roles = {summary["metric"]: "test", "validation": "val", "training": "train"}
    files = run.loaded.files
    due = score_table(files, scored[0].edges) if files else edge_table(scored)
    scores = {key: node_score(scored, role, metric)[0] for key, role in roles.items()}
    return [
        _files(run),
        _tables(run.folder.edges, run.edges, due),
        _tables(run.folder.nodes, run.nodes, node_table(scored)),
        *(_number(key, summary[key], new) for key, new in (counts | scores).items()),
    ]


def _files(run: FinishedRun) -> Check:
    stored = run.summary.get("files_sha256", {})
    known = {file.name: file for file in run.folder.files}
    bad = [n for n, h in stored.items() if n not in known or hash_of(known[n]) != h]
    found = f"{len(stored) - len(bad)} of {len(stored)} are as they were written"
    return Check("files", not bad, found + (f"; not {', '.join(bad)}" if bad else ""))


def _tables(path: Path, stored: Any, new: Any) -> Check:
    """Compare columns of scores; the others are the user's own."""
    name = path.name
    new = new if isinstance(new, pa.Table) else pa.Table.from_pandas(new)
    if len(stored) != len(new):
        return Check(name, False, f"{len(stored)} rows are stored, {len(new)} are due")
    worst, other, lost = 0.0, 0, []
    for column in new.column_names:
        due = new.column(column)
        if column not in stored.column_names:
            lost.append(column)
        elif pa.types.is_floating(due.type):
            both = stored.column(column), due
            with damage(path):
                one, two = (part.cast(pa.float64()).to_numpy() for part in both)
            gap = np.abs(one - two) / np.maximum(1, np.abs(two))
            gap[np.isnan(one) & np.isnan(two)] = 0
            worst = max(worst, float(np.nan_to_num(gap, nan=np.inf).max(initial=0)))
        else:
            pairs = zip(stored.column(column).to_pylist(), due.to_pylist(), strict=True)
            other = max(other, sum(one != two for one, two in pairs))
    same = worst <= TOLERANCE and other <= MOST_TIES * len(new) and not lost
    found = f"numbers differ by {worst:.1e} at most, words in {other:,} rows"
    return Check(name, same, found + (f"; no {', '.join(lost)}" if lost else ""))


def _number(name: str, stored: float | None, new: float | None) -> Check:
    if stored is None or new is None:
        return Check(name, stored is new, f"{new}, stored {stored}")
    same = abs(stored - new) <= TOLERANCE * max(1, abs(stored))
    return Check(name, same, f"{new:.6g}, stored {stored:.6g}")
