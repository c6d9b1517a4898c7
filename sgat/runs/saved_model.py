"""A trained classifier on disk: `SGATClassifier.save` writes it, `sgat.load` reads it.

The folder is that of a run, without what only `sgat fit` knows: no summary, no nodes.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sgat.config import Config
from sgat.data.files.atomic import write_text
from sgat.data.node_data import NodeData
from sgat.models import SGAT
from sgat.runs.files import arrow_table, read_parquet, read_records, write_parquet
from sgat.runs.folder import RunFolder, missing_folders
from sgat.training import checkpoint

if TYPE_CHECKING:
    from sgat.estimator import SGATClassifier


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
    checkpoint.check_format(header.get("format"), folder.model, "train it again")
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
