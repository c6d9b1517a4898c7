"""The results of a run: what training gave, as the files and numbers of its folder."""

import dataclasses
import json
import platform
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

import torch

from sgat.config import Config
from sgat.data.files import FileGraph
from sgat.data.files.atomic import write_text
from sgat.data.node_data import fingerprint
from sgat.explaining.removal import STEPS, removal_curve, removal_of
from sgat.runs.folder import RunFolder
from sgat.runs.provenance import device_name, hash_of, versions
from sgat.scored import (
    ScoredGraph,
    edge_table,
    node_score,
    node_table,
    score_parts,
    uneven_scores,
)
from sgat.training import metrics
from sgat.training.files import (
    save_tensors,
    write_parquet,
    write_records,
    write_snapshots,
)
from sgat.training.result import Result
from sgat.training.saved_model import model_header

MANY_EDGES = 1_000_000
"""Edges beyond which the steps of the removal curve are counted against the epochs."""
EPOCHS_PER_STEP = 4
"""Epochs to a step: an epoch takes four evaluations, so that all steps together take a
fifteenth of the training."""


def curve_steps(num_edges: int, num_epochs: int) -> int:
    """Steps of the removal curve that cost little beside the training."""
    if num_edges <= MANY_EDGES:
        return STEPS
    return min(STEPS, num_epochs // EPOCHS_PER_STEP)


def summarise(
    config: Config,
    result: Result,
    scored: Sequence[ScoredGraph],
    files: FileGraph | None = None,
    data_sha256: str | None = None,
) -> dict[str, Any]:
    """The numbers of a run; test nodes are looked at here and nowhere before."""
    graphs = [part.data for part in scored]
    metric, calibration = config.train.metric, result.calibration
    train, val, test = (
        node_score(scored, role, metric)[0] for role in ("train", "val", "test")
    )
    edges = sum(data.graph.num_edges for data in graphs)
    nodes = sum(data.num_nodes for data in graphs)
    removed = sum(int((~part.edges.kept).sum()) for part in scored)
    gates = torch.cat([part.edges.gate[part.edges.kept] for part in scored])
    name = metrics.score_name(graphs[0].is_multilabel, metric)
    is_judged = result.sgat.judge is not None
    chosen = result.chosen
    has_price = config.train.keep is None and result.sgat.reach > 0 and not is_judged
    return {
        "data": graphs[0].name if config.data.name is None else config.data.name,
        "metric": name,
        name: test,
        "validation": val,
        "training": train,
        "test_nodes": sum(int(data.test.sum()) for data in graphs),
        "test_scores": uneven_scores(scored),
        "calibration": dataclasses.asdict(calibration) if calibration else None,
        "nodes": nodes,
        "edges": edges,
        "edges_removed": removed,
        "removed_share": removed / edges if edges else 0.0,
        "removed_share_sampled": 1 - result.best.open_share if edges else 0.0,
        "mean_gate": float(gates.mean()) if len(gates) else None,
        "threshold": result.sgat.gating.gates.threshold,
        "odds_line": list(result.sgat.odds_line),
        "reach": result.sgat.reach,
        "undirected_rows": files is not None and files.undirected,
        "edges_with_loops": edges + nodes,
        "noise_share": result.sgat.noise_share if edges else None,
        "keep": config.train.keep,
        "l0_weight": config.train.l0_weight if has_price else None,
        "chosen": chosen and {"names": list(chosen.names), "why": chosen.why},
        "tried": [dataclasses.asdict(t) for t in (chosen.tried if chosen else ())],
        "epochs": len(result.records),
        "best_epoch": result.best_epoch,
        "seed": config.train.seed,
        "seconds": result.records[-1].seconds,
        "device": device_name(config.train.device),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "data_sha256": data_sha256 or fingerprint(graphs),
        "versions": {**versions(), "python": platform.python_version()},
    }


def write_results(
    folder: RunFolder,
    config: Config,
    result: Result,
    scored: Sequence[ScoredGraph],
    files: FileGraph | None = None,
    data_sha256: str | None = None,
) -> dict[str, Any]:
    """Write all results, which then replace those of an earlier run; the summary.

    Where the data came from `files`, the edges are written as their rows. `data_sha256`
    is the `fingerprint` of the data, where it is known.
    """
    members = result.chosen.members if result.chosen else ()
    header = model_header(scored[0].data, result.best_epoch, members)
    draft = folder.draft
    save_tensors(draft.model, result.sgat.state_dict(), header)
    write_records(draft.metrics, [dataclasses.asdict(r) for r in result.records])
    write_parquet(draft.nodes, node_table(scored))
    table: Any = None if files is None else score_parts(files, scored[0].edges)
    # Of many edges it takes as long as all the rest.
    with ThreadPoolExecutor(1) as thread:
        given = draft.edges, edge_table(scored) if table is None else table
        edges = thread.submit(write_parquet, *given)
        if files is not None:
            write_text(draft.encoding, files.encoding.to_json() + "\n")
        if result.snapshots:
            write_snapshots(draft.snapshots, result.snapshots)
        summary = summarise(config, result, scored, files, data_sha256)
        steps = curve_steps(summary["edges"], summary["epochs"])
        how: dict[str, Any] = {"steps": steps, "metric": config.train.metric}
        curve = removal_curve(result.sgat, scored, result.graphs, **how)
        removal = dataclasses.asdict(removal_of(scored))
        removal["curve"] = [dataclasses.asdict(point) for point in curve]
        write_text(draft.removal, json.dumps(removal) + "\n")
        edges.result()
    if files is not None:
        graph, kept = files.data.graph, scored[0].edges.kept
        kept = graph.larger_direction(kept) if files.undirected else kept
        stays = graph.to_input(kept, loop=True)
        summary |= {"rows": len(stays), "rows_removed": int((~stays).sum())}
    summary["run"] = str(folder.path)
    hashes = {f.name: hash_of(f) for f in draft.files if f != draft.summary}
    # The settings that were taken replace those of the draft.
    hashes[draft.config.name] = hash_of(config.to_toml())
    summary["files_sha256"] = hashes
    write_text(draft.summary, json.dumps(summary, indent=2) + "\n")
    folder.publish(config)
    return summary
