"""A small graph in two CSV files, and copies of a run on them."""

import shutil
from pathlib import Path

import numpy as np
import pandas as pd


def write_small_files(folder: Path) -> list[str]:
    """A ring of 30 nodes with string ids, of which one feature predicts the class.

    Returns:
        Options of `sgat fit` for the two files, relative to the folder.
    """
    ids = [f"n{i:02d}" for i in range(30)]
    edges = pd.DataFrame(
        {
            "src": ids,
            "dst": ids[1:] + ids[:1],
            "since": range(30),
        }
    )
    nodes = pd.DataFrame(
        {
            "id": ids,
            "size": np.arange(30) % 2 * 4.0 - 2,
            "colour": ["red", "green", "blue"] * 10,
            "y": ["odd" if i % 2 else "even" for i in range(30)],
        }
    )
    edges.to_csv(folder / "edges.csv", index=False)
    nodes.to_csv(folder / "nodes.csv", index=False)
    return ["--edges", "edges.csv", "--nodes", "nodes.csv", "--label", "y"]


def copy_trained(trained: Path, folder: Path) -> None:
    """Copy the files and the run `mine` on them; the copied run names copied files."""
    shutil.copytree(trained, folder, dirs_exist_ok=True)
    settings = folder / "mine" / "config.toml"
    text = settings.read_text(encoding="utf-8")
    assert str(trained) in text
    settings.write_text(text.replace(str(trained), str(folder)), encoding="utf-8")
