import numpy as np
import pandas as pd
import pytest


@pytest.fixture
def csv_files(tmp_path):
    """A ring of 30 nodes with string ids; the class is told by one feature."""
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
    edges.to_csv(tmp_path / "edges.csv", index=False)
    nodes.to_csv(tmp_path / "nodes.csv", index=False)
    return ["--edges", "edges.csv", "--nodes", "nodes.csv", "--label", "y"]
