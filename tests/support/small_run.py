"""A small run in a folder, and what is in it."""

from pathlib import Path

from support.settings import paper_model

from sgat.config import Config, TrainConfig
from sgat.data.node_data import NodeData
from sgat.runs.folder import RunFolder
from sgat.runs.results import write_results
from sgat.scored import score_graphs
from sgat.training.loop import fit


def finished(path: Path, graphs: list[NodeData], **train):
    """Train a little and finish a run: its folder, settings, result and summary."""
    config = Config(
        model=paper_model(hidden=5), train=TrainConfig(epochs=4, device="cpu", **train)
    )
    folder = RunFolder(path)
    folder.start(config)
    result = fit(graphs, config.model, config.train)
    scored = score_graphs(result.sgat, graphs, result.graphs)
    return folder, config, result, write_results(folder, config, result, scored)


def content(folder: Path) -> dict[str, bytes]:
    """What is in the files of a folder, by their names."""
    return {file.name: file.read_bytes() for file in folder.iterdir()}
