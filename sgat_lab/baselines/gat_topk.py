"""GAT without the edges of smallest attention (the top-k baseline of the SGAT paper).

The share is taken of each graph apart. The paper does not say which layer ranks the
edges: here it is the first, whose heads are averaged.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from functools import partial
from typing import Any, Literal, get_args

import torch
import torch.nn.functional as F
from torch import Tensor
from torch_geometric.utils import softmax

from sgat.config import TrainConfig
from sgat.data.node_data import NodeData
from sgat.features import Features
from sgat.graph import Graph
from sgat.node_classifier import Output
from sgat.ops import Seed, noise, project
from sgat.training import loop
from sgat.training.result import Result
from sgat_lab.baselines.gat import GAT
from sgat_lab.baselines.method import Method
from sgat_lab.config import MethodConfig

When = Literal["start", "converged"]
Rank = Literal["score", "relative"]


def mean_coefficient(
    projected: Tensor, att_src: Tensor, att_dst: Tensor, slope: float, graph: Graph
) -> Tensor:
    """Attention of each edge, mean over the heads, without dropout, [E].

        α_ij = softmax_j LeakyReLU(a_dst · h_i + a_src · h_j)      over j → i and i

    Args:
        projected: Features h of all heads, [N, H · D].
        att_src: Weights of the source, [1, H, D].
        att_dst: Weights of the target, [1, H, D].
        slope: Of the leaky ReLU.
        graph: The edges.
    """
    h = projected.view(graph.num_nodes, *att_src.shape[1:])
    from_src, to_dst = (h * att_src).sum(dim=-1), (h * att_dst).sum(dim=-1)  # [N, H]
    node = torch.arange(graph.num_nodes, device=graph.device)
    edge_src, edge_dst = graph.edge_index
    src, dst = torch.cat([edge_src, node]), torch.cat([edge_dst, node])
    score = F.leaky_relu(from_src[src] + to_dst[dst], slope)  # [E + N, H]
    attention: Tensor = softmax(score, dst, num_nodes=graph.num_nodes)
    return attention[: graph.num_edges].mean(dim=1)


def is_among_smallest(score: Tensor, share: float, graph: Graph) -> Tensor:
    """Whether an edge is among the share of smallest scores of its graph, [E].

    Of G edges, round(share · G) are; of equal scores the first in the order of the
    edges. Merged graphs are separated by their names in the noise.
    """
    order = score.argsort(stable=True)
    owner = (graph.noise_id >> 32)[graph.dst.long()]
    owner = owner.unique(return_inverse=True)[1]
    order = order[owner[order].argsort(stable=True)]
    count = torch.bincount(owner)
    start = count.cumsum(0) - count
    place = torch.arange(len(order), device=order.device) - start[owner[order]]
    is_small = torch.empty_like(order, dtype=torch.bool)
    is_small[order] = place < (share * count.double()).round().long()[owner[order]]
    return is_small


class GATTopK(GAT):
    """A GAT without the share `remove` of edges with the smallest attention.

    The edges are ranked by the coefficients of the first layer, averaged over heads and
    without attention dropout; the softmax of every layer is taken over what is left.
    Self-loops always stay.

    Args:
        in_channels: Number of input features K.
        hidden_channels: Width D of each head.
        out_channels: Number of classes C.
        remove: Share of the edges to remove, in [0, 1].
        when: "start" ranks anew in every pass, by the weights as they are; "converged"
            removes nothing before `freeze_ranking`, and from then on always the edges
            that were smallest at that time.
        rank: By the coefficient itself ("score"), or times the size of its row
            ("relative"): 1/2 of a single neighbour is then no more than 1/10 of nine.
        options: Those of `GAT`.
    """

    frozen_weight: Tensor
    frozen_src: Tensor
    frozen_dst: Tensor
    is_frozen: Tensor

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        *,
        remove: float = 0.5,
        when: When = "start",
        rank: Rank = "score",
        **options: Any,
    ) -> None:
        super().__init__(in_channels, hidden_channels, out_channels, **options)
        if not 0 <= remove <= 1:
            raise ValueError(f"`remove` must be in [0, 1], got {remove}.")
        for name, value, kind in (("when", when, When), ("rank", rank, Rank)):
            if value not in get_args(kind):
                choices = " or ".join(get_args(kind))
                raise ValueError(f"`{name}` must be {choices}, got {value!r}.")
        self.remove, self.when, self.rank = remove, when, rank
        if when == "converged":
            for name, parameter in self._ranking_parameters().items():
                self.register_buffer(name, torch.zeros_like(parameter))
            self.register_buffer("is_frozen", torch.zeros((), dtype=torch.bool))

    def _ranking_parameters(self) -> dict[str, Tensor]:
        first: Any = self.convs[0]
        return {
            "frozen_weight": self.projection.weight,
            "frozen_src": first.att_src,
            "frozen_dst": first.att_dst,
        }

    @torch.no_grad()
    def freeze_ranking(self) -> None:
        """Rank by the present weights from now on, whatever becomes of them."""
        for name, parameter in self._ranking_parameters().items():
            self.get_buffer(name).copy_(parameter)
        self.is_frozen.fill_(True)

    @torch.no_grad()
    def ranking(self, x: Features, graph: Graph, seed: Seed | None = None) -> Tensor:
        """The score that ranks the edges, [E]; the seed is that of the pass."""
        first: Any = self.convs[0]
        weights = first.att_src, first.att_dst
        if self.when == "converged" and self.is_frozen:
            projected = project(x, self.frozen_weight)
            weights = self.frozen_src, self.frozen_dst
        else:
            projected = self.projection(x, graph, seed)
        score = mean_coefficient(
            projected.float(), *weights, slope=first.negative_slope, graph=graph
        )
        if self.rank == "score":
            return score
        return score * (graph.row_ptr.diff()[graph.dst.long()] + 1)

    def run(self, x: Features, graph: Graph, seed: Seed | None) -> Output:
        """Class scores from the edges that are left."""
        edge_index = graph.edge_index
        if self.when == "start" or self.is_frozen:
            score = self.ranking(x, graph, seed)
            edge_index = edge_index[:, ~is_among_smallest(score, self.remove, graph)]
        logits, hidden, _ = self.attend(x, graph, seed, edge_index)
        num_used = torch.tensor(edge_index.shape[1], device=graph.device)
        return Output(logits, hidden, num_used=num_used)

    def score_edges(self, x: Features, graph: Graph) -> Tensor:
        """The score that ranks the edges, [E]."""
        return self.ranking(x, graph)


def fit(graphs: Sequence[NodeData], model: MethodConfig, train: TrainConfig) -> Result:
    """Train; with `when="converged"` a second time on what the first training leaves.

    The second training starts from the selected weights of the first, with an optimiser
    and noise of its own and as many epochs again. The records are those of both, and
    the selected epoch is one of the second.
    """
    fresh = partial(METHOD.build, model)
    first = loop.fit(graphs, model, train, build=fresh)
    if METHOD.options(model)["when"] == "start" or first.interrupted:
        return first
    again = dataclasses.replace(train, seed=noise.derive(train.seed, train.epochs))
    training = loop.Training(graphs, model, again, build=fresh)
    pruned = training.model
    assert isinstance(pruned, GATTopK)
    pruned.load_state_dict(first.model.state_dict())
    pruned.freeze_ranking()
    second = training.run()
    done, seconds = len(first.records), first.records[-1].seconds
    moved = [
        dataclasses.replace(
            record, epoch=record.epoch + done, seconds=record.seconds + seconds
        )
        for record in second.records
    ]
    return dataclasses.replace(
        second,
        records=[*first.records, *moved],
        best_epoch=second.best_epoch + done,
    )


METHOD = Method(
    GATTopK,
    fit=fit,
    defaults={"remove": 0.5, "when": "start", "rank": "score"},
)
