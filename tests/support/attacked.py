"""Small graphs in the NPZ files that the lab's attacks read."""

from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

CLASSES = 3
NODES = 60 * CLASSES


def _pairs(rng: Any, y: Any, number: int, *, same: bool) -> Any:
    """Distinct pairs of nodes of one class, or of two, [2, number]."""
    one, other = rng.integers(0, len(y), (2, 40 * number))
    keep = (one != other) & ((y[one] == y[other]) == same)
    pairs = np.stack([np.minimum(one, other), np.maximum(one, other)])[:, keep]
    found = np.unique(pairs, axis=1)
    return found[:, rng.permutation(found.shape[1])[:number]]


def write_graphs(root: Path, seed: int = 0) -> None:
    """Write Attacked/cora.npz, More/plain.npz and More/split.npz below a folder."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(CLASSES), NODES // CLASSES).astype(np.int16)
    words = rng.random((NODES, 10 * CLASSES)) < 0.04
    words |= (np.arange(10 * CLASSES) // 10 == y[:, None]) & (
        rng.random(words.shape) < 0.4
    )
    x = sparse.csr_array(words.astype(np.float32))
    shared = {
        **{"y": y, "x_data": x.data, "x_indices": x.indices, "x_indptr": x.indptr},
        "x_shape": np.array(x.shape),
    }
    clean = _pairs(rng, y, 5 * NODES, same=True).astype(np.int32)
    wrong = _pairs(rng, y, NODES, same=False).astype(np.int32)
    order = rng.permutation(NODES)
    parts = np.split(order, [NODES // 5, NODES // 2])
    roles = dict(zip(("train", "val", "test"), parts, strict=True))
    for folder in ("Attacked", "More"):
        (root / folder).mkdir(exist_ok=True)
    # The last clean edges are missing from the attacked graph, as in the real files.
    attacked = np.concatenate([clean[:, :-3], wrong], axis=1)
    edges = {"edges_clean": clean, "edges_metattack_0.25": attacked}
    np.savez(root / "Attacked/cora.npz", **shared, **edges, **roles)
    np.savez(root / "More/plain.npz", **shared, edges=clean)
    role = rng.integers(0, 3, (2, NODES)).astype(np.int8)
    np.savez(root / "More/split.npz", **shared, edges=clean, role=role)
