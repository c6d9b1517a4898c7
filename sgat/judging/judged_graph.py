"""judge: one graph in, the same graph with the log-odds of its edges out."""

from __future__ import annotations

import dataclasses

from torch import Tensor

from sgat.features import Features
from sgat.graph import Graph
from sgat.judging.edge_judge import EdgeJudge
from sgat.judging.example import Example


@dataclasses.dataclass(frozen=True, eq=False)
class JudgedGraph:
    """A judged graph.

    Attributes:
        graph: The graph with `log_odds`, log P(real) / P(noise) of each edge.
        noise_share: Estimated share of noise among its edges; 0 without edges.
        judge: The fitted judge, for other graphs with the same features.
    """

    graph: Graph
    noise_share: float
    judge: EdgeJudge


def judge(
    graph: Graph,
    x: Features,
    y: Tensor | None = None,
    *,
    train: Tensor | None = None,
    num_classes: int | None = None,
    seed: int = 0,
) -> JudgedGraph:
    """Judge how likely each edge is real and not noise, without training a network.

    Pairs of nodes that no edge joins show how noise looks; see `EdgeJudge`. Classes add
    which classes edges join.

    Args:
        graph: The edges.
        x: Node features, dense or sparse, [N, K].
        y: Class of each node, -1 if unlabelled, [N] int64; None without classes.
        train: Nodes whose class may be looked at, [N] bool; None for all with a class.
        num_classes: Number of classes C; None takes the largest in `y` + 1.
        seed: Of all that is drawn.

    Returns:
        The judged graph, the share of noise and the fitted judge.

    Raises:
        ValueError: If a shape or a class is not as described.
    """
    for name, value in {"x": x, "y": y, "train": train}.items():
        if value is not None and value.shape[0] != graph.num_nodes:
            raise ValueError(
                f"`{name}` must have one row for each of the {graph.num_nodes} nodes of"
                f" the graph, got {value.shape[0]}."
            )
    if y is not None and y.dim() != 1:
        raise ValueError(f"`y` must have shape [N], got {list(y.shape)}.")
    largest = -1 if y is None or not len(y) else int(y.max())
    num_classes = max(largest + 1, 1) if num_classes is None else num_classes
    if largest >= num_classes:
        raise ValueError(
            f"`y` must be a class 0 to {num_classes - 1}, or -1 for no label, got"
            f" {largest}."
        )
    example = Example.of(graph, x, y, train)
    fitted = EdgeJudge(x.shape[1], num_classes).to(graph.device)
    (odds,) = fitted.fit([example], seed=seed)
    found = dataclasses.replace(graph, log_odds=odds)
    return JudgedGraph(found, fitted.noise_share, fitted)
