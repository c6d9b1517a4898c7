"""Data with added edges as a folder of tables."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from sgat.data.files.data_tables import edge_table, node_table
from sgat.data.synthetic.injection import Injected


def write_injected(
    graphs: Sequence[Injected], folder: str | os.PathLike[str]
) -> list[Path]:
    """Write graphs with added edges as Parquet tables, all of them or nothing.

    `edges.parquet` has the columns src and dst, weight where the graph has weights, and
    edge_feature_0 … where it has those; `added.parquet` has src and dst of the added
    edges alone, so that no reader of the edges takes the answer for a feature;
    `nodes.parquet` has id, feature_0 …, split, and label, or label_NAME of each label
    in the multi-label case. Identity features are left out, as `read_graph` puts them
    in again. Nodes have the user's ids. Several graphs get a folder each, named by
    their number.

    Args:
        graphs: The graphs to write.
        folder: Where to; it must not exist, or be empty.

    Returns:
        The files written.

    Raises:
        ValueError: If the folder holds something.
        OSError: If it cannot be written.
    """
    target = Path(folder)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise ValueError(
            f"The output folder {os.fspath(folder)!r} must be new or empty;"
            f" choose another or remove it."
        )
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(6)}.tmp")
    width = len(str(len(graphs) - 1))
    try:
        for number, injected in enumerate(graphs):
            place = temporary / f"{number:0{width}d}" if len(graphs) > 1 else temporary
            place.mkdir(parents=True)
            _write(injected, place)
        os.replace(temporary, target)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return sorted(target.rglob("*.parquet"))


def _write(injected: Injected, place: Path) -> None:
    edges = edge_table(injected.data)
    is_added = pa.array(injected.added.cpu().numpy())
    pq.write_table(edges, place / "edges.parquet")
    pq.write_table(
        edges.select(["src", "dst"]).filter(is_added), place / "added.parquet"
    )
    pq.write_table(node_table(injected.data), place / "nodes.parquet")
