"""RunFolder: what a run leaves behind, and how it is read again.

config.toml         every setting; `sgat fit --config` takes it as it is
model.safetensors   weights, with the classes and sizes in the header
metrics.jsonl       one line per epoch
nodes.parquet       id, split, label, prediction and probabilities of every node
edges.parquet       the edges with their scores
encoding.json       how the columns of the user's files became features
summary.json        the numbers of the run, written last: with it the run is done
snapshots.npz       scores and predictions at some epochs, if asked for
checkpoint/         state of training while it is under way
"""

from __future__ import annotations

import dataclasses
import json
import platform
import shutil
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import torch

from sgat import checkpoint, metrics
from sgat.atomic import replacing
from sgat.config import Config
from sgat.data.node_data import NodeData, fingerprint
from sgat.edge_scores import EdgeScores
from sgat.evaluate import evaluate
from sgat.models import SGAT
from sgat.tables import edge_scores, edge_table, node_table
from sgat.train import EpochRecord, Result, Snapshot, chosen_device

if TYPE_CHECKING:
    from sgat.estimator import SGATClassifier

MODEL_FORMAT = 1
PACKAGES = ("sgat", "torch", "torch_geometric", "numpy")


@dataclasses.dataclass(frozen=True)
class RunFolder:
    """The files of one run."""

    path: Path

    @property
    def config(self) -> Path:
        """The settings."""
        return self.path / "config.toml"

    @property
    def model(self) -> Path:
        """The weights."""
        return self.path / "model.safetensors"

    @property
    def metrics(self) -> Path:
        """The records of the epochs."""
        return self.path / "metrics.jsonl"

    @property
    def nodes(self) -> Path:
        """The predictions."""
        return self.path / "nodes.parquet"

    @property
    def edges(self) -> Path:
        """The scores of the edges."""
        return self.path / "edges.parquet"

    @property
    def summary(self) -> Path:
        """The numbers of the run."""
        return self.path / "summary.json"

    @property
    def encoding(self) -> Path:
        """How the user's files were encoded."""
        return self.path / "encoding.json"

    @property
    def snapshots(self) -> Path:
        """Scores and predictions over the epochs."""
        return self.path / "snapshots.npz"

    @property
    def checkpoint(self) -> Path:
        """The state of training under way."""
        return self.path / "checkpoint" / "state.safetensors"

    @property
    def is_finished(self) -> bool:
        """Whether training came to its end."""
        return self.summary.exists()

    @property
    def is_started(self) -> bool:
        """Whether there is a run here, finished or not."""
        return self.config.exists()

    def start(self, config: Config) -> None:
        """Make the folder and write the settings."""
        self.path.mkdir(parents=True, exist_ok=True)
        write_text(self.config, config.to_toml())

    def clear(self) -> None:
        """Remove the files of an earlier run, and nothing else."""
        files = (self.config, self.model, self.metrics, self.nodes, self.edges)
        more = (self.summary, self.encoding, self.snapshots)
        for file in (*files, *more, *self.path.glob("evolution.*")):
            file.unlink(missing_ok=True)
        shutil.rmtree(self.checkpoint.parent, ignore_errors=True)

    def finish(
        self,
        config: Config,
        graphs: Sequence[NodeData],
        result: Result,
        edge_tables: Sequence[Any] | None = None,
    ) -> dict[str, Any]:
        """Write all results, the summary last, and remove the checkpoint.

        Args:
            config: The settings.
            graphs: The data the model was trained on.
            result: What training gave.
            edge_tables: Tables to write in place of the plain edge table (one per
                graph), such as the user's own with the scores added.

        Returns:
            The summary.
        """
        device = chosen_device(config.train.device)
        model = result.model.to(device)
        on_device = [data.to(device) for data in graphs]
        scores = edge_scores(model, on_device)
        header = model_header(graphs[0], result.best_epoch)
        checkpoint.save_tensors(self.model, model.state_dict(), header)
        write_records(self.metrics, result.records)
        write_parquet(self.nodes, node_table(model, on_device))
        if edge_tables is None:
            edge_tables = [edge_table(graphs, scores)]
        write_parquet(self.edges, *edge_tables)
        if result.snapshots:
            write_snapshots(self.snapshots, result.snapshots)
        summary = summarise(config, on_device, result, scores)
        summary["run"] = str(self.path)
        write_text(self.summary, json.dumps(summary, indent=2) + "\n")
        shutil.rmtree(self.checkpoint.parent, ignore_errors=True)
        return summary


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
    name = metrics.score_name(graphs[0].is_multilabel)
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
        "edges_with_loops": edges + nodes,
        "keep": config.train.keep,
        "l0_weight": None if config.train.keep else config.train.l0_weight,
        "epochs": len(result.records),
        "best_epoch": result.best_epoch,
        "seed": config.train.seed,
        "seconds": result.records[-1].seconds,
        "device": device_name(config.train.device),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "data_sha256": fingerprint(graphs),
        "versions": {**versions(), "python": platform.python_version()},
    }


def model_header(data: NodeData, best_epoch: int) -> dict[str, Any]:
    """What is needed besides the config to build the network again."""
    return {
        "format": MODEL_FORMAT,
        "classes": list(data.classes),
        "multilabel": data.is_multilabel,
        "num_features": data.num_features,
        "num_edges": data.graph.num_edges,
        "best_epoch": best_epoch,
    }


def save_classifier(classifier: SGATClassifier, path: Path) -> None:
    """Write a fitted classifier as a run folder."""
    folder = RunFolder(path)
    if folder.is_started and not folder.is_finished and folder.checkpoint.exists():
        raise ValueError(f"{path} holds an unfinished run; choose another folder.")
    header = classifier.header_
    folder.path.mkdir(parents=True, exist_ok=True)
    write_text(folder.config, classifier.config_.to_toml())
    checkpoint.save_tensors(folder.model, classifier.model_.state_dict(), header)
    history = classifier.history_.to_dict("records")
    write_text(folder.metrics, "".join(json.dumps(row) + "\n" for row in history))
    write_parquet(folder.edges, classifier.edges_)


def load(path: str | Path) -> SGATClassifier:
    """Read a classifier from a run folder (`sgat fit`, `SGATClassifier.save`).

    The data it was trained on is not in the folder: give data to `predict`, `score` and
    `sparsify`. `edges_` and `history_` are there.

    Raises:
        ValueError: If the folder holds no run, or a damaged one.
    """
    from sgat.estimator import SGATClassifier

    folder = RunFolder(Path(path))
    for file in (folder.config, folder.model):
        if not file.exists():
            raise ValueError(
                f"{path} is not a finished run: {file.name} is missing; write one with"
                " `sgat fit` or `SGATClassifier.save`."
            )
    config = Config.from_toml(folder.config)
    tensors, header = checkpoint.load_tensors(folder.model)
    if not isinstance(header, dict) or header.get("format") != MODEL_FORMAT:
        raise ValueError(f"{folder.model} was written by another version of sgat.")
    model = SGAT.from_config(
        config.model,
        header["num_features"],
        len(header["classes"]),
        header["num_edges"],
    )
    checkpoint.load_weights(model, tensors, folder.model)
    return SGATClassifier.from_run(
        config,
        model.eval(),
        header,
        history=read_records(folder.metrics),
        edges=pd.read_parquet(folder.edges) if folder.edges.exists() else None,
    )


def write_records(path: Path, records: Sequence[EpochRecord]) -> None:
    """Write one line per epoch."""
    lines = (json.dumps(dataclasses.asdict(record)) for record in records)
    write_text(path, "".join(line + "\n" for line in lines))


def read_records(path: Path) -> Any:
    """The records of a run as a table; empty if there are none."""
    if not path.exists():
        return pd.DataFrame()
    lines = path.read_text(encoding="utf-8").splitlines()
    return pd.DataFrame([json.loads(line) for line in lines])


def write_text(path: Path, text: str) -> None:
    """Write a text file in full or not at all."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_parquet(path: Path, *tables: Any) -> None:
    """Write tables below each other as one Parquet file, in full or not at all."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    converted = [
        pa.Table.from_pandas(table, preserve_index=False)
        if isinstance(table, pd.DataFrame)
        else table
        for table in tables
    ]
    whole = pa.concat_tables(converted, promote_options="permissive")
    with replacing(path) as temporary:
        pq.write_table(whole, temporary, compression="zstd")


def write_snapshots(path: Path, snapshots: Sequence[Snapshot]) -> None:
    """Write scores and predictions over the epochs as plain arrays."""
    arrays: dict[str, Any] = {
        "epoch": np.array([snapshot.epoch for snapshot in snapshots]),
        "log_alpha": torch.stack([s.log_alpha for s in snapshots]).numpy(),
        "logits": torch.stack([s.logits for s in snapshots]).numpy(),
    }
    with replacing(path) as temporary, temporary.open("wb") as file:
        np.savez_compressed(file, **arrays)


def versions() -> dict[str, str]:
    """Versions of the packages a result depends on."""
    found = {}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "unknown"
    return found


def device_name(name: str) -> str:
    """What the device is called: the name of the GPU, or the CPU's architecture."""
    device = chosen_device(name)
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return f"{device.type} ({platform.machine()}, {torch.get_num_threads()} threads)"
