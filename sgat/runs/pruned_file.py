"""The smaller graph as a file: tried before training, written after it."""

import contextlib
import logging
import secrets
from collections.abc import Iterator
from pathlib import Path

import torch

from sgat.data.configured import Loaded
from sgat.data.files import from_node_data, write_pruned
from sgat.data.files.source import format_of
from sgat.data.files.write import GRAPH_FORMATS, write_graph
from sgat.scored import EdgeScores


def check_pruned_path(path: Path, loaded: Loaded) -> None:
    """Find out before training whether the smaller graph can be written.

    The whole graph is written under another name in the same folder and removed again:
    its columns, its values and the room it takes are those of the smaller one, or more.
    """
    if len(loaded.graphs) > 1:
        raise ValueError(
            f"`pruned` writes one graph, got {len(loaded.graphs)}; their kept edges"
            " are in edges.parquet."
        )
    if path.is_dir():
        raise ValueError(f"`pruned` must be a file, got the folder {path}.")
    format = format_of(path, None, GRAPH_FORMATS)
    if not path.absolute().parent.is_dir():
        raise ValueError(f"`pruned` must be in a folder that exists, got {path}.")
    open_ = torch.ones(loaded.graphs[0].graph.num_edges)
    trial = path.with_name(f".{path.name[:100]}.{secrets.token_hex(6)}.trial")
    graph = loaded.files or from_node_data(loaded.graphs[0])
    try:
        with _silent(logging.getLogger(write_graph.__module__)):
            write_pruned(graph, open_.bool(), open_, trial, format)
    except OSError as error:
        error.filename = str(path)
        raise
    except ValueError as error:
        raise ValueError(str(error).replace(str(trial), str(path))) from None
    finally:
        trial.unlink(missing_ok=True)


def write_pruned_file(loaded: Loaded, scores: EdgeScores, path: Path) -> None:
    """Write the first graph without the edges that the scores remove."""
    graph = loaded.files or from_node_data(loaded.graphs[0])
    write_pruned(graph, scores.kept, scores.gate, path)


@contextlib.contextmanager
def _silent(logger: logging.Logger) -> Iterator[None]:
    """Keep a warning from being told twice."""
    before, logger.disabled = logger.disabled, True
    try:
        yield
    finally:
        logger.disabled = before
