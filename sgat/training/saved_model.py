"""SavedModel: a trained network on disk, with its settings and the data it expects.

`SGATClassifier.save` writes a folder of four files, and a run folder of `sgat fit` has
them too: the settings, the weights, the records of the epochs and the scored edges.
"""

import contextlib
import dataclasses
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, NotRequired, TypedDict

import torch
from msgspec import Meta, convert, to_builtins
from torch.overrides import TorchFunctionMode

from sgat.committee import Committee
from sgat.config import Config, ModelConfig
from sgat.config.checked import Size
from sgat.data.files import FeatureColumn
from sgat.data.files.atomic import check_plain, locked, replacing, write_text
from sgat.data.node_data import NodeData, check_features
from sgat.models import SGAT
from sgat.training import files
from sgat.training.files import write_parquet, write_records
from sgat.training.fresh_model import build_sgat
from sgat.training.loop import chosen_device

CONFIG, MODEL = "config.toml", "model.safetensors"
METRICS, EDGES = "metrics.jsonl", "edges.parquet"
NAMES = CONFIG, MODEL, METRICS, EDGES
SAVED = ".sgat-save"
"""Folder in which `write_model` has the four files before they take their places."""
LARGEST_HEADER = 100_000_000
"""Bytes of a header beyond which safetensors refuses a file."""


class ModelHeader(TypedDict):
    """What is needed besides the settings to build a network; see `model_header`."""

    format: int
    classes: Annotated[list[str | int | float | bool], Meta(min_length=1)]
    multilabel: bool
    num_features: Size
    num_edges: Size
    edge_columns: NotRequired[list[FeatureColumn]]
    feature_names: NotRequired[list[str]]
    edges_sha256: str
    best_epoch: Size
    members: list[dict[str, Any]]


class _Undrawn(TorchFunctionMode):
    """Draws no weights: on "meta" torch would load its compiler first, for seconds."""

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Call a function of torch, unless it draws."""
        named = kwargs or {}
        if func.__name__.endswith("normal_"):
            return args[0] if args else named["tensor"]
        return func(*args, **named)


@dataclasses.dataclass(frozen=True, eq=False)
class SavedModel:
    """A trained network, in evaluation mode on the CPU, and what comes with it."""

    config: Config
    model: SGAT
    header: dict[str, Any]  # see `model_header`


def model_header(
    data: NodeData, best_epoch: int, members: Sequence[ModelConfig] = ()
) -> dict[str, Any]:
    """All that is needed besides the settings to build the network again.

    `members` are those of a committee; the settings are of the first.
    """
    columns = to_builtins(data.edge_columns)
    return {
        "format": files.MODEL_FORMAT,
        "classes": list(data.classes),
        "multilabel": data.is_multilabel,
        "num_features": data.num_features,
        "num_edges": data.graph.num_edges,
        "edges_sha256": data.graph.fingerprint,
        "best_epoch": best_epoch,
        "members": [dataclasses.asdict(other) for other in members[1:]],
        **({"edge_columns": columns} if columns else {}),
    }


def edge_columns(header: dict[str, Any]) -> tuple[FeatureColumn, ...]:
    """How columns of edges become numbers, for the judge and the gates of a model."""
    return convert(header.get("edge_columns", ()), tuple[FeatureColumn, ...])


def check_fits(data: NodeData, config: Config, header: dict[str, Any]) -> None:
    """Make sure that a trained model can read a graph."""
    if data.num_features != header["num_features"]:
        raise ValueError(
            f"`data` must have the {header['num_features']} features the model"
            f" was trained on, got {data.num_features}."
        )
    check_features(data)
    is_free = config.model.gate_mode != "inductive"
    if is_free and data.graph.fingerprint != header["edges_sha256"]:
        raise ValueError(
            "Transductive gates know the edges of the graph they were trained on"
            " and no others, got another graph; train with gate_mode='inductive'."
        )


def usable_device(name: str) -> str:
    """The name of the device; "auto" where this machine does not have it."""
    try:
        chosen_device(name)
    except ValueError:
        return "auto"
    return name


def is_model(path: Path) -> bool:
    """Whether a file begins as the weights of a model do; the rest may be damaged."""
    try:
        with path.open("rb") as file:
            size = int.from_bytes(file.read(8), "little")
            header = json.loads(file.read(min(size, LARGEST_HEADER)))
        return "state" in header["__metadata__"]
    except (OSError, ValueError, KeyError, TypeError):
        return False


def place_of(folder: Path, name: str) -> Path:
    """Where a file of a folder is: not yet at its place if a save was cut off."""
    saved = folder / SAVED
    check_plain([saved, saved / name, folder / name])
    return saved / name if (saved / name).exists() else folder / name


def finish_save(folder: Path) -> None:
    """Put the files of a save that was cut off in their places."""
    check_plain([folder / SAVED, *(folder / SAVED / name for name in NAMES)])
    for name in NAMES:
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            os.replace(folder / SAVED / name, folder / name)
    with contextlib.suppress(OSError):
        (folder / SAVED).rmdir()


def read_model(folder: Path) -> SavedModel:
    """Read the network of a folder."""
    for name in (CONFIG, MODEL):
        if not place_of(folder, name).exists():
            raise ValueError(
                f"{folder} is not a finished run: {name} is missing; write one with"
                " `sgat fit` or `SGATClassifier.save`."
            )
    config = Config.from_toml(place_of(folder, CONFIG))
    path = place_of(folder, MODEL)
    header = files.load_state(path)
    files.check_format(header.get("format"), path, "train it again")
    files.parsed(header, ModelHeader, path)
    # Nothing is allocated before the shapes of the file are those of the settings.
    with torch.device("meta"), _Undrawn():
        expected = _built(config, header, path).state_dict()
    tensors, _ = files.load_tensors(path, expected)
    files.check_finite(tensors, path)
    model = _built(config, header, path)
    files.load_weights(model, tensors, path)
    return SavedModel(config, model.eval(), header)


def _built(config: Config, header: dict[str, Any], path: Path) -> SGAT:
    sizes: Any = header["num_features"], len(header["classes"]), header["num_edges"]
    sizes += (edge_columns(header),)
    try:
        model = build_sgat(config.model, *sizes)
        others = [ModelConfig.from_dict(o, where=str(path)) for o in header["members"]]
        if not others:
            return model
        members = [model, *(build_sgat(other, *sizes) for other in others)]
        return Committee(members, is_multilabel=header["multilabel"])
    except RuntimeError:
        raise ValueError(f"{path}: its settings ask for too large a network.") from None


def write_model(folder: Path, saved: SavedModel, history: Any, edges: Any) -> None:
    """Write a network with the table of its epochs and of its edges, or nothing at all.

    An earlier folder of this function is replaced.
    """
    _check_free(folder)
    for name in saved.header["classes"]:
        if not isinstance(name, str | int | float):
            raise ValueError(
                "Classes must be strings, numbers or booleans to be saved, got"
                f" {name!r}; name them otherwise before `fit`."
            )
    with locked(folder):
        finish_save(folder)
        with replacing(folder / SAVED, is_folder=True) as new:
            new.mkdir()
            write_text(new / CONFIG, saved.config.to_toml())
            files.save_tensors(new / MODEL, saved.model.state_dict(), saved.header)
            write_records(new / METRICS, history.to_dict("records"))
            write_parquet(new / EDGES, edges)
        finish_save(folder)


def _check_free(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"`path` must be a folder, got the file {folder}.")
    check_plain(folder / name for name in (*NAMES, "checkpoint"))
    if (folder / "checkpoint" / CONFIG).exists():
        raise ValueError(f"{folder} holds an unfinished run; choose another folder.")
    found = [path for name in NAMES if (path := place_of(folder, name)).exists()]
    is_own = place_of(folder, CONFIG).exists() and is_model(place_of(folder, MODEL))
    if found and not is_own:
        raise ValueError(
            f"{found[0]} was not written by `save` and would be replaced;"
            " choose another folder."
        )
    if (folder / "summary.json").exists():
        raise ValueError(f"{folder} holds a run of `sgat fit`; choose another folder.")
