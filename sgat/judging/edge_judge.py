"""EdgeJudge and judge(): the log-odds that each edge of a graph is real.

Tested by tests/judging/test_edge_judge.py and tests/judging/test_judged_graph.py.
"""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
import torch
from scipy.special import logit
from threadpoolctl import threadpool_limits
from torch import Tensor, nn

from sgat.features import Features, SparseFeatures, concatenate, rows
from sgat.graph import Graph
from sgat.judging.known_nodes import Example, KnownNodes, known_labels
from sgat.judging.matrices import EdgeNumbers
from sgat.judging.memory import GIB, RANK, check_judging, fits, judging_bytes
from sgat.judging.signals import edge_blocks
from sgat.judging.verdict import Progress, assess
from sgat.ops.blocks import by_rows, empty, of_tensor, on_gpu
from sgat.ops.device_array import as_tensor, host

Array = np.ndarray[Any, Any]

logger = logging.getLogger(__name__)

KNOWN = ("known_fingerprint", "known_label")
"""Buffers of the labelled nodes, of any length."""
UNFITTED = -1
"""Seed of a judge that has seen no graph."""
FROM_EDGES = 1 << 22
"""Edges, both directions counted, from which a GPU judges where there is one."""
MOST_ODDS = 12.0
"""Log-odds beyond which none go."""


@dataclasses.dataclass(frozen=True, eq=False)
class JudgedGraph:
    """A judged graph.

    Attributes:
        graph: The graph with `log_odds`, log P(real) / P(wrong) of each edge.
        probability: P(real) of each edge, the same in both directions, [E].
        reason: What speaks most for it, a place in `sgat.judging.REASONS`, or in all
            `phrases` where edges have columns, [E] int64.
    """

    graph: Graph
    probability: Tensor
    reason: Tensor

    @property
    def noise_share(self) -> float:
        """Estimated share of wrong edges; 0 without edges."""
        wrong = 1 - self.probability.double()
        return float(wrong.mean()) if len(wrong) else 0.0


class Verdicts(NamedTuple):
    """Verdicts on undirected edges."""

    log_odds: Array  # that an edge is real, [E] float32
    reason: Array  # place in `phrases`, [E] int8, or int16 with columns


def telling(x: Features | None) -> Features | None:
    """The features, None if no two nodes can have one in common."""
    if isinstance(x, SparseFeatures):
        used = torch.bincount(x.column[x.value != 0], minlength=1)
        return x if int(used.max()) > 1 else None
    return x if x is not None and x.shape[1] else None


def sizes(x: Features | None, label: Tensor, columns: int = 0) -> dict[str, int]:
    """The numbers of nodes, features, classes and columns, for estimates of memory."""
    width = 0 if x is None else x.shape[1]
    if isinstance(x, SparseFeatures):
        # An entry that is stored takes as much as four numbers.
        width = min(width, RANK + 4 * len(x.value) // max(len(label), 1))
    classes = int(label.max()) + 1 if len(label) else 0
    found = {"nodes": len(label), "features": width, "classes": classes}
    return {**found, "columns": columns}


def _judged(
    graph: Graph,
    x: Features | None,
    label: Tensor,
    *,
    seed: int,
    progress: Progress | None = None,
) -> JudgedGraph:
    """Judge a graph, where `judging_device` says."""
    x, size = telling(x), graph.num_nodes
    with on_gpu(judging_device(graph.num_edges, sizes(x, label), graph.device)):
        src, dst = (of_tensor(part) for part in (graph.src, graph.dst))
        key = np.minimum(src, dst).astype(np.int64)
        key *= size
        key += np.maximum(src, dst)
        edges = EdgeNumbers.of(np.unique(key), size)
        del key
        columns = _columns(graph, edges)
        given = graph.num_edges, x, label, columns
        found = judge_edges(edges, *given, seed=seed, progress=progress)
        odds, reason = empty(len(src), np.float32), empty(len(src), np.int64)
        for part in edge_blocks(len(src)):
            number = edges.find(src[part], dst[part])
            odds[part], reason[part] = found.log_odds[number], found.reason[number]
    of_edges = as_tensor(odds).to(graph.device)
    return JudgedGraph(
        dataclasses.replace(graph, log_odds=of_edges),
        torch.sigmoid(of_edges),
        as_tensor(reason).to(graph.device),
    )


def _columns(graph: Graph, edges: EdgeNumbers) -> Array | None:
    """Columns of undirected edges, means of both directions, in memory, [E, F]."""
    if graph.edge_attr is None or not graph.edge_attr.shape[1]:
        return None
    given = graph.edge_attr.detach().float().cpu()
    total, count = given.new_zeros(edges.ends.shape[1], given.shape[1] + 1), len(given)
    for part in edge_blocks(count):
        ends = (of_tensor(end[part]) for end in (graph.src, graph.dst))
        number = torch.from_numpy(host(edges.find(*ends)))
        one = given.new_ones(len(number), 1)
        total.index_add_(0, number.long(), torch.cat([given[part], one], dim=1))
    return (total[:, :-1] / total[:, -1:]).numpy()


def judging_device(
    num_edges: int, size: dict[str, int], device: torch.device | None = None
) -> torch.device | None:
    """The GPU that judges so many edges: that of a graph, or any; None for the CPU.

    A graph of fewer than `FROM_EDGES` edges is judged on the CPU, and so has the same
    verdicts on every machine.
    """
    if num_edges < FROM_EDGES or not torch.cuda.is_available():
        return None
    if device is None or device.type != "cuda":
        device = torch.device("cuda", torch.cuda.current_device())
    needed = judging_bytes(edges=num_edges, **size, on_gpu=True)
    if find_spec("triton") is None:
        why = "Triton is not installed"
    elif not fits(needed, device=device):
        why = f"it takes about {needed / GIB:.1f} GiB, more than are free on the GPU"
    else:
        return device
    logger.warning("judging on the CPU, which takes longer: %s.", why)
    return None


def judge_edges(
    edges: EdgeNumbers,
    num_edges: int,
    x: Features | None,
    label: Tensor,
    columns: Array | None = None,
    *,
    seed: int,
    progress: Progress | None = None,
    memory: int | None = None,
    on_disk: bool = False,
) -> Verdicts:
    """Judge undirected edges; `num_edges`, with both directions, is for messages.

    `columns` are numbers of the edges in memory or on disk, [E, F].

    What does not fit in `memory` bytes, or in those that are free, is refused: without
    the edges if arrays of them are `on_disk`.
    """
    x = telling(x)
    if isinstance(edges.ends, np.ndarray):
        size = sizes(x, label, 0 if columns is None else columns.shape[1])
        check_judging(edges=num_edges, **size, most=memory, on_disk=on_disk)
    # Most matrices are so small that the threads of BLAS would mostly wait.
    with threadpool_limits(1, user_api="blas"):
        given = edges.ends, len(label), x, label.cpu().numpy()
        found = assess(*given, columns=columns, seed=seed, progress=progress)
    # In double precision: no number next to 1 is lost.
    odds = by_rows(
        lambda wrong: -logit(wrong.astype(float)).clip(-MOST_ODDS, MOST_ODDS),
        found.wrong,
    )
    return Verdicts(odds, found.reason)


class EdgeJudge(nn.Module):
    """P(real) of the edges of any graph, and the labels seen in training.

    Every graph is judged by itself (`sgat.judging.verdict`), with nothing learned from
    others but the classes of labelled nodes. These are kept with the fingerprints of
    their features: a node whose features are those of one labelled node, and of no
    other node, is taken to be of its class. Before `fit`, every edge counts as real.
    """

    known_fingerprint: Tensor
    known_label: Tensor
    noise: Tensor
    seed: Tensor

    def __init__(self) -> None:
        super().__init__()
        for name in KNOWN:
            self.register_buffer(name, torch.zeros(0, dtype=torch.long))
        self.register_buffer("noise", torch.zeros(()))
        self.register_buffer("seed", torch.tensor(UNFITTED))

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Forget the labelled nodes; nothing is drawn."""
        self._resize_known(0)
        self.noise.zero_()
        self.seed.fill_(UNFITTED)

    @property
    def noise_share(self) -> float:
        """Share of the edges seen in fitting that is estimated to be wrong."""
        return float(self.noise)

    def _resize_known(self, number: int) -> None:
        for name in KNOWN:
            setattr(self, name, getattr(self, name).new_zeros(number))

    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, *args: Any
    ) -> None:
        """Load the labels of any number of nodes."""
        given = state_dict.get(prefix + KNOWN[0])
        if given is not None:
            self._resize_known(len(given))
        super()._load_from_state_dict(state_dict, prefix, *args)

    @torch.no_grad()
    def fit(self, examples: Sequence[Example], *, seed: int = 0) -> list[Tensor]:
        """Learn the labels of graphs, and judge these graphs.

        Args:
            examples: Graphs with labelled nodes.
            seed: Of the pairs that edges are compared with; 0 or more.

        Returns:
            Log-odds of the edges of each example, those of `log_odds`.
        """
        x = [part.x for part in examples]
        label = torch.cat([part.label for part in examples])
        joined = x[0] if len(x) == 1 else concatenate(x)
        found = KnownNodes.of(joined, label, label >= 0)
        for name, part in zip(KNOWN, found, strict=True):
            setattr(self, name, part.to(getattr(self, name)))
        self.seed.fill_(seed)
        odds = [self.log_odds(part.x, part.graph) for part in examples]
        wrong = torch.sigmoid(-torch.cat(odds).double())
        self.noise.fill_(float(wrong.mean()) if len(wrong) else 0.0)
        return odds

    @torch.no_grad()
    def log_odds(self, x: Features, graph: Graph) -> Tensor:
        """Log-odds that each edge is real, the same in both directions, [E].

        They depend on all edges around an edge: those of a part of a graph, or of
        several graphs put side by side, are others.
        """
        if int(self.seed) == UNFITTED:
            return torch.full((graph.num_edges,), MOST_ODDS, device=graph.device)
        label = KnownNodes(self.known_fingerprint, self.known_label).labels(x)
        odds = _judged(graph, x, label, seed=int(self.seed)).graph.log_odds
        assert odds is not None
        return odds

    def judged(self, x: Features, graph: Graph) -> Graph:
        """The graph with its log-odds, each graph of a batch (`Graph.merge`) alone."""
        found, start = [], 0
        with torch.autocast(graph.device.type, enabled=False):
            for part in graph.split():
                stop = start + part.num_nodes
                found.append(self.log_odds(rows(x, start, stop), part))
                start = stop
        return dataclasses.replace(graph, log_odds=torch.cat(found))


def judge(
    graph: Graph,
    x: Features | None = None,
    y: Tensor | None = None,
    *,
    train: Tensor | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> JudgedGraph:
    """Judge how likely each edge is real and not wrong, without training a network.

    Edges are compared with pairs that no edge joins, see `sgat.judging.verdict`. Labels
    say which classes edges join, and where an attack on a classifier would aim. Columns
    of the edges (`Graph.edge_attr`) say which kinds of edges are wrong more often.

    Args:
        graph: The edges.
        x: Node features, dense or sparse, [N, K]; None goes by the edges alone.
        y: Class of each node, -1 if unlabelled, [N] int64; None without classes.
        train: Nodes whose class may be looked at, [N] bool; None for all with a class.
        seed: Of all that is drawn.
        progress: Called with the name of each stage.

    Returns:
        The graph with log-odds, P(real) of each edge and the reasons.

    Raises:
        ValueError: If a shape is not as described.
    """
    for name, value in {"x": x, "y": y, "train": train}.items():
        if value is not None and value.shape[0] != graph.num_nodes:
            raise ValueError(
                f"`{name}` must have one row for each of the {graph.num_nodes} nodes of"
                f" the graph, got {value.shape[0]}."
            )
    if y is not None and y.dim() != 1:
        raise ValueError(f"`y` must have shape [N], got {list(y.shape)}.")
    label = known_labels(graph, y, train)
    return _judged(graph, x, label, seed=seed, progress=progress)
