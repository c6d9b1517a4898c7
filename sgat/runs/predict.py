"""Predictions of a finished run: on its own data, or on other nodes and edges."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import torch
from torch import Tensor

from sgat.data.files import (
    Encoding,
    FileGraph,
    FileOptions,
    prediction_table,
    read_graph,
)
from sgat.data.files.source import SUFFIXES
from sgat.data.node_data import NodeData
from sgat.explaining.node_verdict import probabilities
from sgat.models import SGAT
from sgat.runs.files import arrow_table, read_parquet
from sgat.runs.finished_run import FinishedRun, open_model
from sgat.runs.folder import RunFolder
from sgat.scored import edge_scores, edge_table, score_table
from sgat.training import metrics
from sgat.training.evaluate import score_nodes
from sgat.training.loop import chosen_device

if TYPE_CHECKING:
    from sgat.estimator import SGATClassifier


@dataclasses.dataclass(frozen=True, eq=False)
class Prediction:
    """What a model says of nodes and edges.

    Attributes:
        nodes: One row per node: id, prediction, the probabilities, and label and split
            where they are known; a `pyarrow.Table`.
        edges: One row per edge with its scores; a user's own rows, where they came from
            a file.
        num_nodes: Number of nodes.
        num_edges: Number of edges, loops left out and duplicates merged.
        num_kept: How many of them the model keeps.
        score_name: "accuracy" or "micro_f1".
        score: The score on `scored` nodes; None without labels.
        scored: Number of nodes that were scored: the test nodes, or all that have a
            label where there are none.
    """

    nodes: Any
    edges: Any
    num_nodes: int
    num_edges: int
    num_kept: int
    score_name: str
    score: float | None
    scored: int

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
    """What a run says of the data it was trained on."""
    return _predict(run.model, run.graphs, run.loaded.files, has_labels=True)


def predict_files(
    path: str | Path,
    edges: str | Path,
    nodes: str | Path | None = None,
    *,
    options: dict[str, Any] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Prediction:
    """What a run says of other nodes and edges, without training again.

    Columns are read and encoded as those of the run were; its own data need not be
    there. Columns of labels may be missing.

    Args:
        path: The run folder of a training on files.
        edges: The edge file.
        nodes: The node file, with the feature columns of the run.
        options: Changes to the `FileOptions` of the run.
        progress: Called with the number of steps done, and of all.

    Raises:
        ValueError: If the run has a named data set or gates that know their own edges
            only, or the files cannot be read as those of the run were.
    """
    tell = progress or (lambda done, total: None)
    folder, classifier = open_model(path)
    encoding, classes = _encoding(folder, classifier), classifier.header_["classes"]
    chosen = _options(classifier, options or {})
    format = SUFFIXES.get(Path(edges).suffix.lower())
    if nodes is None and format != "graphml":
        raise ValueError("`--edges` needs `--nodes`, the file with the features.")
    tell(0, 3)
    files = read_graph(edges, nodes, options=chosen, encoding=encoding)
    tell(1, 3)
    if not encoding.features:
        _check_same_nodes(folder, files)
    data = files.data
    _check_edges(classifier, data)
    has_labels = bool((data.y >= 0).any())
    if classifier.is_multilabel_ and not data.is_multilabel:
        # The file has no labels; as many columns say what is to be predicted.
        data = dataclasses.replace(data, y=torch.zeros(data.num_nodes, len(classes)))
    tell(2, 3)
    model = classifier.model_.to(chosen_device(str(classifier.device)))
    files = dataclasses.replace(files, data=data)
    return _predict(model, [data], files, has_labels=has_labels)


def _predict(
    model: SGAT, graphs: list[NodeData], files: FileGraph | None, *, has_labels: bool
) -> Prediction:
    device = next(model.parameters()).device
    moved = [data.to(device) for data in graphs]
    with torch.no_grad():
        logits = [model(data.x, data.graph).cpu() for data in moved]
    scores = edge_scores(model, moved)
    edges = (
        edge_table(graphs, scores) if files is None else score_table(files, scores[0])
    )
    score, scored = score_nodes(graphs, logits) if has_labels else (None, 0)
    return Prediction(
        nodes=_node_table(graphs, logits, has_labels),
        edges=arrow_table(edges),
        num_nodes=sum(data.num_nodes for data in graphs),
        num_edges=sum(data.graph.num_edges for data in graphs),
        num_kept=sum(int(found.kept.sum()) for found in scores),
        score_name=metrics.score_name(graphs[0].is_multilabel),
        score=score,
        scored=scored,
    )


def _node_table(
    graphs: Sequence[NodeData], logits: Sequence[Tensor], has_labels: bool
) -> Any:
    """The predictions, without columns that would be empty."""
    tables = []
    for data, found in zip(graphs, logits, strict=True):
        table = prediction_table(data, probabilities(data, found))
        if len(graphs) > 1:
            table = table.add_column(0, "graph", pa.array([data.name] * len(table)))
        tables.append(table)
    whole = pa.concat_tables(tables)
    empty = []
    if not has_labels:
        first = graphs[0]
        empty = [f"label_{c}" for c in first.classes] if first.is_multilabel else []
        empty = empty or ["label"]
    if whole.column("split").null_count == len(whole):
        empty.append("split")
    return whole.drop_columns(empty)


def _encoding(folder: RunFolder, classifier: SGATClassifier) -> Encoding:
    name = classifier.config_.data.name
    if name is not None:
        raise ValueError(
            f"{folder.path} was trained on the data set {name!r} and does not say how"
            " columns of files become features; leave `--edges` and `--nodes` out to"
            " predict on its own data."
        )
    try:
        return Encoding.from_json(folder.encoding.read_text(encoding="utf-8"))
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{folder.encoding} is damaged: {error}.") from None


def _options(classifier: SGATClassifier, changes: dict[str, Any]) -> FileOptions:
    """How the run read its files, with the changes; formats go by the suffixes."""
    known = {
        key: tuple(value) if isinstance(value, list) else value
        for key, value in classifier.config_.data.options.items()
    }
    known |= {"edges_format": None, "nodes_format": None}
    # Gates that both directions share need both directions.
    if classifier.config_.model.symmetric:
        known["undirected"] = True
    return FileOptions(**{**known, **changes})


def _check_edges(classifier: SGATClassifier, data: NodeData) -> None:
    is_free = classifier.config_.model.gate_mode == "transductive"
    if is_free and data.graph.fingerprint != classifier.header_["edges_sha256"]:
        raise ValueError(
            "The gates of this run are transductive: they know the edges it was trained"
            " on and no others; train with `--gate-mode inductive` to predict on new"
            " edges."
        )


def _check_same_nodes(folder: RunFolder, files: FileGraph) -> None:
    """Without feature columns a model knows its nodes by their number alone."""
    before = read_parquet(folder.nodes)
    ids = [] if before is None else before["id"].tolist()
    assert files.data.node_ids is not None
    if ids != files.data.node_ids.tolist():
        raise ValueError(
            f"{folder.path} was trained without feature columns, so it knows its own"
            f" nodes only, and those of {files.nodes_path or files.edges_path} are"
            " others or in another order; train with features to predict on new nodes."
        )
