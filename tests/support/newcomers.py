"""Tables as people have them: seven graphs in files, and the options they need."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

SIZE = 120


def made(seed: int, share: float = 0.5) -> tuple[Any, Any, Any]:
    """Classes of nodes, edges that mostly join one class, and a generator."""
    random = np.random.default_rng(seed)
    kind = (random.random(SIZE) < share).astype(int)
    pairs = random.integers(SIZE, size=(2000, 2))
    same = kind[pairs[:, 0]] == kind[pairs[:, 1]]
    stays = (pairs[:, 0] != pairs[:, 1]) & (same | (random.random(2000) < 0.1))
    return kind, pairs[stays][:400], random


def people(folder: Path) -> list[str]:
    """String ids, a free text, a date, other names of columns."""
    kind, pairs, random = made(1)
    ids = np.array([f"Person {n:03d}" for n in random.permutation(SIZE)])
    edges = pd.DataFrame(ids[pairs], columns=["from", "to"])
    edges.to_csv(folder / "edges.csv", index=False)
    words = np.array(["cats dogs", "stars planets"])[kind]
    nodes = pd.DataFrame(
        {"name": ids, "bio": [f"likes {w}, no {n}" for n, w in enumerate(words)]}
    )
    nodes["joined"] = pd.Timestamp("2020-02-01") + pd.to_timedelta(
        random.integers(400, size=SIZE), unit="D"
    )
    nodes["group"] = np.where(kind, "red", "blue")
    nodes.to_csv(folder / "nodes.csv", index=False)
    names = ["--src", "from", "--dst", "to", "--id", "name", "--text", "bio"]
    return ["edges.csv", "nodes.csv", "--label", "group", *names]


def shop(folder: Path) -> list[str]:
    """A European export: semicolons, decimal commas, days first, weights."""
    kind, pairs, random = made(2)
    edges = pd.DataFrame(pairs + 1000, columns=["src", "dst"])
    edges["weight"] = random.gamma(2, 2, len(edges)).round(3)
    how: dict[str, Any] = {"index": False, "sep": ";", "decimal": ","}
    edges.to_csv(folder / "edges.csv", **how)
    nodes = pd.DataFrame({"id": np.arange(SIZE) + 1000})
    nodes["revenue"] = (kind + random.normal(size=SIZE)).round(2)
    days = pd.Timestamp("2021-05-01") + pd.to_timedelta(np.arange(SIZE) * 3, unit="D")
    nodes["since"] = days.strftime("%d.%m.%Y")
    nodes["y"] = kind
    nodes.to_csv(folder / "nodes.csv", **how)
    return ["edges.csv", "nodes.csv", "--label", "y", "--undirected"]


def joined(folder: Path) -> list[str]:
    """Compressed, and ids that a join of tables made decimal numbers."""
    kind, pairs, random = made(3)
    edges = pd.DataFrame(pairs, columns=["src", "dst"]).astype(float)
    edges.to_csv(folder / "edges.csv.gz", index=False)
    nodes = pd.DataFrame({"id": np.arange(SIZE), "x": kind + random.normal(size=SIZE)})
    nodes["y"] = pd.Series(kind).astype("Int64")
    # Most people know few labels.
    nodes.loc[random.random(SIZE) < 0.6, "y"] = None
    nodes.to_csv(folder / "nodes.csv.gz", index=False)
    return ["edges.csv.gz", "nodes.csv.gz", "--label", "y", "--undirected"]


def rare(folder: Path) -> list[str]:
    """Tabs, a rare class, a time of day, gaps."""
    kind, pairs, random = made(4, share=0.15)
    edges = pd.DataFrame(pairs, columns=["src", "dst"])
    edges.to_csv(folder / "edges.txt.csv", index=False, sep="\t")
    nodes = pd.DataFrame({"id": np.arange(SIZE)})
    nodes["at"] = [f"{h:02d}:30" for h in (8 + 10 * kind + np.arange(SIZE) % 4)]
    nodes["score"] = np.where(random.random(SIZE) < 0.2, np.nan, kind * 2.0)
    nodes["y"] = np.where(kind, "yes", "no")
    nodes.to_csv(folder / "nodes.tsv", index=False, sep="\t")
    more = ["--fill-missing", "mean", "--metric", "average_precision"]
    return ["edges.txt.csv", "nodes.tsv", "--label", "y", *more]


def typed(folder: Path) -> list[str]:
    """Parquet by pandas: times, truth values, categories, an index, a split."""
    kind, pairs, random = made(5)
    ids = np.array([f"u{n}" for n in range(SIZE)])
    edges = pd.DataFrame(ids[pairs], columns=["src", "dst"])
    edges["on"] = pd.Timestamp("2024-01-01")
    edges.to_parquet(folder / "edges.parquet")
    nodes = pd.DataFrame({"id": ids, "active": random.random(SIZE) < 0.2 + 0.6 * kind})
    nodes["plan"] = pd.Categorical(np.where(random.random(SIZE) < 0.5, "free", "paid"))
    nodes["seen"] = pd.Timestamp("2024-03-01 08:00") + pd.to_timedelta(
        random.integers(9000, size=SIZE), unit="min"
    )
    nodes["y"] = np.where(kind, "a", "b")
    nodes["split"] = np.array(["train", "val", "test"])[np.arange(SIZE) % 3]
    nodes.set_index("id", drop=False).to_parquet(folder / "nodes.parquet")
    return ["edges.parquet", "nodes.parquet", "--label", "y", "--undirected"]


def codes(folder: Path) -> list[str]:
    """Ids with leading zeros, a running number, zip codes, a column of one value."""
    kind, pairs, random = made(6)
    ids = np.array([f"{n:05d}" for n in range(SIZE)])
    edges = pd.DataFrame(ids[pairs], columns=["src", "dst"])
    pd.concat([edges, edges.head(9)]).to_csv(
        folder / "edges.tsv.gz", index=False, sep="\t"
    )
    nodes = pd.DataFrame({"id": ids, "row": range(SIZE), "year": 2024})
    nodes["zip"] = [
        f"{10000 + 100 * k + z}"
        for k, z in zip(kind, random.integers(9, size=SIZE), strict=True)
    ]
    nodes["y"] = kind + 1
    nodes.to_csv(folder / "nodes.csv", index=False)
    more = ["--drop", "row", "--drop", "year", "--categorical", "zip"]
    return ["edges.tsv.gz", "nodes.csv", "--label", "y", *more]


def windows(folder: Path) -> list[str]:
    """Letters as Windows writes them, the index of pandas, users who buy goods."""
    kind, pairs, random = made(7)
    pairs = pairs[(pairs[:, 0] % 3 > 0) & (pairs[:, 1] % 3 == 0)]
    ids = np.array([f"{'Käufer' if n % 3 else 'Größe'} {n}" for n in range(SIZE)])
    edges = pd.DataFrame(ids[pairs], columns=["src", "dst"])
    edges.to_csv(folder / "edges.csv", encoding="cp1252")
    nodes = pd.DataFrame({"id": ids, "price": kind + random.normal(size=SIZE)})
    nodes["town"] = np.where(kind, "Köln", random.choice(["Köln", "Zürich"], SIZE))
    nodes["y"] = np.where(kind, "für", "wider")
    nodes.to_csv(folder / "nodes.csv", encoding="cp1252")
    names = ["--encoding", "cp1252", "--undirected"]
    return ["edges.csv", "nodes.csv", "--label", "y", *names]


TABLES: tuple[Callable[[Path], list[str]], ...] = (
    *(people, shop, joined),
    *(rare, typed, codes, windows),
)
"""Each writes an edge file and a node file, and returns their names and options."""
