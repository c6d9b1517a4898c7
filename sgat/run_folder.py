"""RunFolder: what a run leaves behind, and how it is read again.

config.toml         every setting; `sgat fit --config` takes it as it is
model.safetensors   weights, with the classes and sizes in the header
metrics.jsonl       one line per epoch
nodes.parquet       id, split, label, prediction and probabilities of every node
edges.parquet       the edges with their scores
encoding.json       how the columns of the user's files became features
summary.json        the numbers of the run, written last: with it the run is done
snapshots.npz       scores and predictions at some epochs, if asked for
evolution.*         drawings of the graph at those epochs
tensorboard/        the epochs once more, for TensorBoard, if asked for
report.html         the page of `sgat report`, if asked for
checkpoint/         a run under way: its settings, its state, results not yet complete

An earlier run in the folder stays as it was until the new one is complete.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import platform
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

LARGEST_HEADER = 100_000_000
"""Bytes of a header beyond which safetensors refuses a file."""
FILES = (
    *("config.toml", "model.safetensors", "metrics.jsonl", "nodes.parquet"),
    *("edges.parquet", "encoding.json", "snapshots.npz", "summary.json"),
)
"""Names of the files of a run; there may be `evolution.*` as well."""
REPORT_SIGN = '<meta name="generator" content="sgat report">'
"""What the head of a report holds."""
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
    def tensorboard(self) -> Path:
        """The folder of the events that TensorBoard shows, if asked for."""
        return self.path / "tensorboard"

    @property
    def events(self) -> list[Path]:
        """The files in it; a link is somebody else's."""
        if self.tensorboard.is_symlink():
            return []
        return sorted(self.tensorboard.glob("events.out.tfevents.*"))

    @property
    def report(self) -> Path:
        """The page on the run."""
        return self.path / "report.html"

    @property
    def checkpoint(self) -> Path:
        """The state of training under way."""
        return self.path / "checkpoint" / "state.safetensors"

    @property
    def draft(self) -> RunFolder:
        """The run under way: its settings, and its results until all are there."""
        return RunFolder(self.checkpoint.parent)

    @property
    def is_finished(self) -> bool:
        """Whether training came to its end and no other run is under way."""
        return self.summary.exists() and not self.is_under_way

    @property
    def is_under_way(self) -> bool:
        """Whether there is a run here that can be resumed."""
        return self.draft.config.exists()

    @property
    def is_started(self) -> bool:
        """Whether there is a run here, finished or not."""
        return self.is_under_way or (self.config.exists() and is_model(self.model))

    @property
    def files(self) -> list[Path]:
        """The files of a run that are here, the summary last."""
        named = (self.config, self.model, self.metrics, self.nodes, self.edges)
        drawn = (*sorted(self.path.glob("evolution.*")), *self.events)
        more = (self.encoding, self.snapshots, *drawn, self.summary)
        return [file for file in (*named, *more) if is_there(file)]

    @property
    def foreign(self) -> Path | None:
        """Something here that a run would replace although no run has written it."""
        if self.path.exists() and not self.path.is_dir():
            return self.path
        if is_there(self.draft.path) and not self.is_under_way:
            is_folder = self.draft.path.is_dir() and not self.draft.path.is_symlink()
            if not is_folder or any(self.draft.path.iterdir()):
                return self.draft.path
        return None if self.is_started else next(iter(self.files), None)

    def holds(self, path: Path) -> bool:
        """Whether a path is, or would be, a file of this run."""
        folder, target = (Path(os.path.realpath(p)) for p in (self.path, path))
        own = (self.draft.path.name, self.tensorboard.name)
        if any(target.is_relative_to(folder / name) for name in own):
            return True
        if target.parent == folder and (
            target.name in FILES or target.name.startswith("evolution.")
        ):
            return True
        return target.exists() and any(target.samefile(file) for file in self.files)

    def start(self, config: Config) -> None:
        """Make the folder and write the settings of a new run.

        Results of an earlier one stay; a run under way is given up.
        """
        self.draft.path.mkdir(parents=True, exist_ok=True)
        self.drop_draft()
        self.draft.path.mkdir(exist_ok=True)
        write_text(self.draft.config, config.to_toml())

    def clear(self) -> None:
        """Remove the files of an earlier run, and nothing else."""
        for file in reversed(self.files):
            file.unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            self.tensorboard.rmdir()

    def drop_draft(self, made: Sequence[Path] = ()) -> None:
        """Remove the run under way, and the folders `made` for it if they are empty."""
        for file in (self.checkpoint, *self.draft.path.glob(".*.tmp")):
            file.unlink(missing_ok=True)
        self.draft.clear()
        for folder in (self.draft.path, *made):
            with contextlib.suppress(OSError):
                folder.rmdir()

    def publish(self) -> None:
        """Put the results of the run under way in the place of the earlier ones.

        The summary goes first and comes last, and the settings stay in the draft until
        then: whenever this is cut off, the run can be resumed and ends the same.
        """
        draft = self.draft
        earlier, results = self.files, draft.files
        if is_report(self.report):
            self.report.unlink()
        write_text(self.config, draft.config.read_text(encoding="utf-8"))
        for file in reversed(earlier):
            if file != self.config:
                file.unlink()
        if draft.events:
            self.tensorboard.mkdir(exist_ok=True)
        else:
            with contextlib.suppress(OSError):
                self.tensorboard.rmdir()
        for file in results:
            if file != draft.config:
                os.replace(file, self.path / file.relative_to(draft.path))
        self.drop_draft()

    def finish(
        self,
        config: Config,
        graphs: Sequence[NodeData],
        result: Result,
        edge_tables: Sequence[Any] | None = None,
    ) -> dict[str, Any]:
        """Write all results; once all are there they replace those of an earlier run.

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
        model = result.sgat.to(device)
        on_device = [data.to(device) for data in graphs]
        scores = edge_scores(model, on_device)
        header = model_header(graphs[0], result.best_epoch)
        draft = self.draft
        checkpoint.save_tensors(draft.model, model.state_dict(), header)
        write_records(draft.metrics, result.records)
        write_parquet(draft.nodes, node_table(model, on_device))
        if edge_tables is None:
            edge_tables = [edge_table(graphs, scores)]
        write_parquet(draft.edges, *edge_tables)
        if result.snapshots:
            write_snapshots(draft.snapshots, result.snapshots)
        summary = summarise(config, on_device, result, scores)
        summary["run"] = str(self.path)
        write_text(draft.summary, json.dumps(summary, indent=2) + "\n")
        self.publish()
        return summary


def is_model(path: Path) -> bool:
    """Whether a file begins as the weights of a run do; the rest may be damaged."""
    try:
        with path.open("rb") as file:
            size = int.from_bytes(file.read(8), "little")
            header = json.loads(file.read(min(size, LARGEST_HEADER)))
        return "state" in header["__metadata__"]
    except (OSError, ValueError, KeyError, TypeError):
        return False


def is_report(path: Path) -> bool:
    """Whether a file begins as a page of `sgat report` does."""
    try:
        with path.open("rb") as file:
            return REPORT_SIGN.encode() in file.read(4000)
    except OSError:
        return False


def missing_folders(path: Path) -> list[Path]:
    """The folders that have to be made for a path, itself included, innermost first."""
    return [folder for folder in (path, *path.parents) if not folder.exists()]


def is_there(path: Path) -> bool:
    """Whether a name is taken, be it by a link that leads nowhere."""
    return path.exists() or path.is_symlink()


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


def model_header(data: NodeData, best_epoch: int) -> dict[str, Any]:
    """What is needed besides the config to build the network again."""
    return {
        "format": checkpoint.MODEL_FORMAT,
        "classes": list(data.classes),
        "multilabel": data.is_multilabel,
        "num_features": data.num_features,
        "num_edges": data.graph.num_edges,
        "edges_sha256": data.graph.fingerprint,
        "best_epoch": best_epoch,
    }


def save_classifier(classifier: SGATClassifier, path: Path) -> None:
    """Write a fitted classifier as a run folder, in full or not at all.

    What an earlier `save` wrote is replaced.

    Raises:
        ValueError: If the folder holds a run of `sgat fit` or other files of these
            names, or the classes cannot be written.
    """
    folder = RunFolder(path)
    if path.exists() and not path.is_dir():
        raise ValueError(f"`path` must be a folder, got the file {path}.")
    if folder.foreign is not None:
        raise ValueError(
            f"{folder.foreign} was not written by `save` and would be replaced;"
            " choose another folder."
        )
    if folder.is_under_way:
        raise ValueError(f"{path} holds an unfinished run; choose another folder.")
    if folder.is_finished:
        raise ValueError(f"{path} holds a run of `sgat fit`; choose another folder.")
    header = classifier.header_
    for name in header["classes"]:
        if not isinstance(name, str | int | float):
            raise ValueError(
                "Classes must be strings, numbers or booleans to be saved, got"
                f" {name!r}; name them otherwise before `fit`."
            )
    edges = arrow_table(classifier.edges_)
    history = classifier.history_.to_dict("records")
    made = missing_folders(path)
    folder.start(classifier.config_)
    draft = folder.draft
    try:
        checkpoint.save_tensors(draft.model, classifier.model_.state_dict(), header)
        write_text(draft.metrics, "".join(json.dumps(row) + "\n" for row in history))
        write_parquet(draft.edges, edges)
        folder.publish()
    except BaseException:
        folder.drop_draft(made)
        raise


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
    written = header.get("format") if isinstance(header, dict) else None
    scorer = config.model.scorer
    checkpoint.check_format(written, scorer, folder.model, "train it again")
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
        edges=read_parquet(folder.edges),
    )


def write_records(path: Path, records: Sequence[EpochRecord]) -> None:
    """Write one line per epoch."""
    lines = (json.dumps(dataclasses.asdict(record)) for record in records)
    write_text(path, "".join(line + "\n" for line in lines))


def read_records(path: Path) -> Any:
    """The records of a run as a table; empty if there are none."""
    if not path.exists():
        return pd.DataFrame()
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
        return pd.DataFrame([json.loads(line) for line in lines])
    except ValueError as error:
        raise ValueError(
            f"{path} is damaged or was not written by sgat: {error}."
        ) from None


def read_parquet(path: Path) -> Any:
    """A table of a run; None if there is none."""
    import pyarrow as pa

    if not path.exists():
        return None
    try:
        return pd.read_parquet(path)
    except (pa.ArrowException, OSError) as error:
        detail = " ".join(str(error).split())
        raise ValueError(
            f"{path} is damaged or was not written by sgat: {detail}"
        ) from None


def write_text(path: Path, text: str) -> None:
    """Write a text file in full or not at all."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_parquet(path: Path, *tables: Any) -> None:
    """Write tables below each other as one Parquet file, in full or not at all."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    converted = [arrow_table(table) for table in tables]
    whole = pa.concat_tables(converted, promote_options="permissive")
    with replacing(path) as temporary:
        pq.write_table(whole, temporary, compression="zstd")


def arrow_table(table: Any) -> Any:
    """A table as Parquet holds it; a column of mixed types becomes strings."""
    import pyarrow as pa

    if not isinstance(table, pd.DataFrame):
        return table
    columns = {}
    for name, column in table.items():
        try:
            columns[name] = pa.array(column, from_pandas=True)
        except (pa.ArrowInvalid, pa.ArrowTypeError):
            columns[name] = pa.array([str(value) for value in column])
    return pa.table(columns)


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
