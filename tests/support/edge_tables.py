"""Made graphs whose edges have columns that tell wrong edges from real ones."""

from pathlib import Path

import numpy as np
import pandas as pd


def trades(
    seed: int, num_nodes: int = 200, degree: int = 6
) -> tuple[np.ndarray, np.ndarray, pd.DataFrame, np.ndarray]:
    """Features, classes, a table of edges, and which of these are wrong, [M] bool.

    Real edges join one class and wrong ones two; there are 5 real edges to 3 wrong
    ones. Amounts of wrong edges are 3 deviations larger, and their kind is mostly gift.
    `noise` and `when` say nothing. Features tell the class of a node poorly.
    """
    draw = np.random.default_rng(seed)
    y = draw.integers(2, size=num_nodes)
    x = draw.normal(size=(num_nodes, 4))
    x[:, 0] += 1.4 * y - 0.7
    ends = draw.integers(num_nodes, size=(2, 8 * degree * num_nodes))
    ends = np.unique(ends[:, ends[0] != ends[1]], axis=1)
    ends = ends[:, draw.permutation(ends.shape[1])]
    is_wrong = y[ends[0]] != y[ends[1]]
    sizes = (not_wrong := 5 * degree * num_nodes // 8), degree * num_nodes - not_wrong
    sides = [np.flatnonzero(is_wrong == side)[:n] for side, n in enumerate(sizes)]
    rows = draw.permutation(np.concatenate(sides))
    ends, is_wrong = ends[:, rows], is_wrong[rows]
    table = pd.DataFrame({"src": ends[0], "dst": ends[1]})
    table["amount"] = 100 + draw.normal(size=len(table)) + 3.0 * is_wrong
    is_gift = is_wrong ^ (draw.random(len(table)) < 0.1)
    table["kind"] = np.where(is_gift, "gift", "sale")
    days = pd.to_timedelta(draw.integers(700, size=len(table)), "D")
    table["when"] = (pd.Timestamp("2023-01-01") + days).strftime("%Y-%m-%d")
    table["noise"] = draw.normal(size=len(table))
    return x, y, table, is_wrong


def roles(num_nodes: int) -> dict[str, np.ndarray]:
    """Every third node trains, validates or tests."""
    third = np.arange(num_nodes) % 3
    return {name: third == k for k, name in enumerate(("train", "val", "test"))}


def write_trades(folder: Path, prefix: str, seed: int, num_nodes: int = 60) -> None:
    """The same as two files, with ids that are text."""
    x, y, table, _ = trades(seed, num_nodes)
    ids = np.array([f"{prefix}{n}" for n in range(num_nodes)])
    table = table.assign(src=ids[table["src"]], dst=ids[table["dst"]])
    table.to_csv(folder / f"{prefix}edges.csv", index=False)
    nodes = pd.DataFrame(x, columns=list("abcd"))
    nodes.insert(0, "id", ids)
    nodes["y"] = np.array(["thief", "shop"])[y]
    nodes.to_csv(folder / f"{prefix}nodes.csv", index=False)
