"""The results of a run: what training gave, as the files and numbers of its folder."""

from __future__ import annotations

import json
import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import torch

from sgat.config import Config
from sgat.data.files.atomic import write_text
from sgat.data.node_data import NodeData, fingerprint
from sgat.runs.files import write_parquet, write_records, write_snapshots
from sgat.runs.folder import RunFolder
from sgat.runs.provenance import device_name, versions
from sgat.runs.saved_model import model_header
from sgat.scored import EdgeScores, edge_scores, edge_table, node_table
from sgat.training import checkpoint, metrics
from sgat.training.evaluate import evaluate
from sgat.training.loop import chosen_device
from sgat.training.result import Result


def summarise(
    config: Config,
    graphs: Sequence[NodeData],
    result: Result,
    scores: Sequence[EdgeScores],
) -> dict[str, Any]:
    """The numbers of a run; test nodes are looked at here and nowhere before."""
    train, val, test = evaluate(result.model, graphs, ("train", "val", "test"))
    edges = sum(data.graph.num_edges for data in graphs)
    nodes = sum(data.num_nodes for data in graphs)
    removed = sum(int((~found.kept).sum()) for found in scores)
    gates = torch.cat([found.gate[found.kept] for found in scores])
    name = metrics.score_name(graphs[0].is_multilabel)
    has_price = config.train.keep is None and result.sgat.reach > 0
    return {
        "data": graphs[0].name if config.data.name is None else config.data.name,
        name: None if test is None else test.score,
        "validation": None if val is None else val.score,
        "training": None if train is None else train.score,
        "test_nodes": sum(int(data.test.sum()) for data in graphs),
        "nodes": nodes,
        "edges": edges,
        "edges_removed": removed,
        "removed_share": removed / edges if edges else 0.0,
        "removed_share_sampled": 1 - result.best.open_share if edges else 0.0,
        "mean_gate": float(gates.mean()) if len(gates) else None,
        "edges_with_loops": edges + nodes,
        "noise_share": result.sgat.noise_share if edges else None,
        "keep": config.train.keep,
        "l0_weight": config.train.l0_weight if has_price else None,
        "epochs": len(result.records),
        "best_epoch": result.best_epoch,
        "seed": config.train.seed,
        "seconds": result.records[-1].seconds,
        "device": device_name(config.train.device),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "data_sha256": fingerprint(graphs),
        "versions": {**versions(), "python": platform.python_version()},
    }


def write_results(
    folder: RunFolder,
    config: Config,
    graphs: Sequence[NodeData],
    result: Result,
    edge_tables: Sequence[Any] | None = None,
) -> dict[str, Any]:
    """Write all results; once all are there they replace those of an earlier run.

    Args:
        folder: Where they go; its run is under way.
        config: The settings.
        graphs: The data the model was trained on.
        result: What training gave.
        edge_tables: Tables to write in place of the plain edge table (one per graph),
            such as the user's own with the scores added.

    Returns:
        The summary.
    """
    device = chosen_device(config.train.device)
    model = result.sgat.to(device)
    on_device = [data.to(device) for data in graphs]
    scores = edge_scores(model, on_device)
    header = model_header(graphs[0], result.best_epoch)
    draft = folder.draft
    checkpoint.save_tensors(draft.model, model.state_dict(), header)
    write_records(draft.metrics, result.records)
    write_parquet(draft.nodes, node_table(model, on_device))
    if edge_tables is None:
        edge_tables = [edge_table(graphs, scores)]
    write_parquet(draft.edges, *edge_tables)
    if result.snapshots:
        write_snapshots(draft.snapshots, result.snapshots)
    summary = summarise(config, on_device, result, scores)
    summary["run"] = str(folder.path)
    write_text(draft.summary, json.dumps(summary, indent=2) + "\n")
    folder.publish()
    return summary
