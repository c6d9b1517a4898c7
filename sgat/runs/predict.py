"""Predictions of a finished run: on its own data, or on other nodes and edges."""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from sgat.data.files import FileGraph, read_graph
from sgat.data.files.source import SUFFIXES, suffix_of
from sgat.runs.finished_run import FinishedRun, stored_encoding
from sgat.runs.folder import RunFolder
from sgat.scored import node_score, node_table, score_graphs, score_table
from sgat.training import metrics
from sgat.training.files import read_parquet
from sgat.training.loop import chosen_device
from sgat.training.saved_model import check_fits, edge_columns, usable_device


@dataclasses.dataclass(frozen=True, eq=False)
class Prediction:
    """Predictions of nodes and scores of edges.

    `nodes` has a row per node: id, prediction, probabilities, and label and split where
    they are known; `edges` a row per edge, or the rows of a user's file, with scores.
    Scored are the test nodes, or where there are none all that have a label.
    """

    nodes: Any  # a `pyarrow.Table`
    edges: Any  # likewise
    num_nodes: int
    num_edges: int  # loops left out and duplicates merged
    num_kept: int  # how many of them the model keeps
    score_name: str  # a key of `sgat.training.metrics.TITLES`
    score: float | None  # None without labels
    scored: int  # number of nodes

    def to_dict(self) -> dict[str, Any]:
        """The counts and the score, for JSON."""
        return {
            "nodes": self.num_nodes,
            "edges": self.num_edges,
            "edges_kept": self.num_kept,
            self.score_name: self.score,
            "scored_nodes": self.scored,
        }


def predict_run(run: FinishedRun) -> Prediction:
    """The predictions and scores of a run for its own data, as it stored them."""
    summary = run.summary
    name = summary["metric"]
    score, scored = summary[name], summary["test_nodes"]
    if not scored:
        score, scored = node_score(run.stored(), metric=run.config.train.metric)
    return Prediction(
        nodes=_without(run.nodes, has_labels=True),
        edges=run.edges,
        num_nodes=summary["nodes"],
        num_edges=summary["edges"],
        num_kept=summary["edges"] - summary["edges_removed"],
        score_name=name,
        score=score,
        scored=scored,
    )


def predict_files(
    run: FinishedRun,
    edges: str | Path,
    nodes: str | Path | None = None,
    *,
    options: dict[str, Any] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Prediction:
    """The predictions of a run on files for other nodes and edges.

    Columns are read and encoded as those of the run were, with changes to its
    `FileOptions`; its own data need not be there. Columns of labels may be missing.
    `progress` is called with the number of steps done, and of all.
    """
    tell = progress or (lambda done, total: None)
    config, header = run.config, run.saved.header
    if config.data.name is not None:
        raise ValueError(
            f"{run.folder.path} was trained on the data set {config.data.name!r} and"
            " does not say how columns of files become features; leave `edges` and"
            " `nodes` out to predict on its own data."
        )
    encoding = stored_encoding(run.folder)
    encoding = dataclasses.replace(encoding, edges=edge_columns(header))
    read = config.data.files
    # Gates that both directions share need both directions; suffixes say the formats.
    both = read.undirected or bool(config.model.symmetric)
    known = {"edges_format": None, "nodes_format": None, "undirected": both}
    chosen = dataclasses.replace(read, **{**known, **(options or {})})
    format = SUFFIXES.get(suffix_of(edges))
    if nodes is None and format != "graphml":
        raise ValueError("`edges` needs `nodes`, the file with the features.")
    tell(0, 3)
    files = read_graph(edges, nodes, options=chosen, encoding=encoding)
    tell(1, 3)
    if not encoding.features:
        _check_same_nodes(run.folder, files)
    data = files.data
    check_fits(data, config, header)
    has_labels = bool((data.y >= 0).any())
    if header["multilabel"] and not data.is_multilabel:
        # The file has no labels; as many columns say what is to be predicted.
        size = data.num_nodes, len(header["classes"])
        data = dataclasses.replace(data, y=torch.zeros(size))
    tell(2, 3)
    model = run.model.to(chosen_device(usable_device(config.train.device)))
    scored = score_graphs(model, [data])
    metric = config.train.metric
    score, number = node_score(scored, metric=metric) if has_labels else (None, 0)
    return Prediction(
        nodes=_without(node_table(scored), has_labels=has_labels),
        edges=score_table(dataclasses.replace(files, data=data), scored[0].edges),
        num_nodes=data.num_nodes,
        num_edges=data.graph.num_edges,
        num_kept=int(scored[0].edges.kept.sum()),
        score_name=metrics.score_name(data.is_multilabel, metric),
        score=score,
        scored=number,
    )


def _without(nodes: Any, *, has_labels: bool) -> Any:
    """The table of the nodes without columns that are empty."""
    labels = (name for name in nodes.column_names if f"{name}_".startswith("label_"))
    empty = [] if has_labels else list(labels)
    if nodes.column("split").null_count == len(nodes):
        empty.append("split")
    return nodes.drop_columns(empty)


def _check_same_nodes(folder: RunFolder, files: FileGraph) -> None:
    """Without feature columns a model knows its nodes by their number alone."""
    ids = read_parquet(folder.nodes, ["id"]).column("id").to_pylist()
    assert files.data.node_ids is not None
    if ids != files.data.node_ids.tolist():
        raise ValueError(
            f"{folder.path} was trained without feature columns, so it knows its own"
            f" nodes only, and those of {files.nodes_path or files.edges_path} are"
            " others or in another order; train with features to predict on new nodes."
        )
