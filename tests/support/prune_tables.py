"""Small tables of edges between nodes with scores."""

import dataclasses
import itertools

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import torch

from sgat.models import SGAT
from sgat.pruning.engine import start_engine
from sgat.pruning.prune_table import prune_table
from sgat.pruning.stored_table import Destination, open_table
from sgat.pruning.table_scores import Nodes, NodeScores, RowScores
from sgat.pruning.task import PruneTask

NODES = 29


@dataclasses.dataclass(frozen=True, eq=False)
class ScoredNodes:
    """Nodes by their ids, with numbers of their own or scores of rows."""

    ids: np.ndarray
    model: SGAT
    scores: NodeScores | RowScores
    ids_are_text: bool = False

    def task(self, table, rules, **options):
        nodes = Nodes(pa.array(self.ids), self.ids_are_text)
        gating, line = self.model.gating, self.model.odds_line
        own = {"scores": self.scores, "symmetric": gating.symmetric, "line": line}
        return PruneTask(table, nodes, rules, gating.gates, **{**own, **options})


def prune(task, out, name="duckdb", **engine_options):
    """The result of an engine that ends with it."""
    options = {"memory": "500MB", "master": "local[2]", **engine_options}
    scratch = out.parent / f"scratch-{out.name}"
    scratch.mkdir(exist_ok=True)
    engine = start_engine(name, scratch=scratch, **options)
    try:
        return prune_table(task, engine, Destination.from_path(out), lambda stage: None)
    finally:
        engine.close()


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
    vectors = [None, None]
    if rank:
        vectors = list(generator.normal(size=(2, NODES, rank)).astype(np.float32))
    query, key = vectors
    network = model(**options)
    return ScoredNodes(ids, network, NodeScores(dst, src, query, key))


def row_scores(scorer, seed=0, **options):
    """Nodes whose edges take a whole graph to be scored."""
    torch.manual_seed(seed)
    network = model(scorer=scorer, **options)
    for parameter in network.gating.parameters():
        torch.nn.init.normal_(parameter)
    return ScoredNodes(
        node_scores().ids, network, RowScores(network, torch.randn(NODES, 3))
    )


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
