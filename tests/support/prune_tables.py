"""Small tables of edges between nodes with scores."""

import itertools

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import torch

from sgat.models import SGAT
from sgat.pruning.node_scores import NodeScores
from sgat.pruning.stored_table import open_table

NODES = 29


def model(**options):
    return SGAT(3, 2, 2, heads=1, layers=1, gate_bias=0.0, **options).eval()


def node_scores(kind="string", *, levels=None, seed=0, rank=0, **options):
    """Scores of NODES nodes; with `levels`, few different ones; with vectors."""
    generator = np.random.default_rng(seed)
    draw = generator.normal(size=(2, NODES))
    if levels is not None:
        draw = generator.integers(-levels, levels + 1, size=(2, NODES)) / 2
    if options.get("symmetric"):
        draw[1] = draw[0]
    if kind == "string":
        ids = np.array([f"n{i * 7 % NODES:02d}" for i in range(NODES)], dtype=object)
    else:
        ids = np.arange(NODES) * 11 % NODES * 10**11 - 5
    dst, src = draw.astype(np.float32)
    x = torch.zeros(NODES, 3)
    vectors = [None, None]
    if rank:
        vectors = list(generator.normal(size=(2, NODES, rank)).astype(np.float32))
    query, key = vectors
    network = model(**options)
    return NodeScores(ids, dst, src, x, network, query=query, key=key)


def pairs(seed=0, share=0.2):
    """Random edges between the nodes, in random order, without loops."""
    generator = np.random.default_rng(seed)
    possible = np.array(list(itertools.permutations(range(NODES), 2)))
    chosen = generator.random(len(possible)) < share
    return generator.permutation(possible[chosen])


def edge_table(nodes, ends):
    src, dst = ends.T
    return pd.DataFrame(
        {"src": nodes.ids[src], "note": range(len(src)), "dst": nodes.ids[dst]}
    )


def write(frame, path):
    if path.suffix == ".parquet":
        frame.to_parquet(path, index=False)
    else:
        frame.to_csv(path, index=False, sep="\t" if ".tsv" in path.name else ",")
    return open_table(path)


def read(path):
    if path.suffix == ".parquet" or path.is_dir():
        return pq.read_table(path).to_pandas()
    return pd.read_csv(path, sep="\t" if ".tsv" in path.name else ",")
