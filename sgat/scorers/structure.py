"""StructureScorer: gates from where an edge stands in its graph."""

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from sgat.graph import Graph
from sgat.graph.compressed_rows import once
from sgat.ops.common_neighbours import row_products
from sgat.ops.dense_product import product
from sgat.scorers.pairs import PairScorer
from sgat.scorers.scores import Scores


class Structure(NamedTuple):
    """Numbers from the shape of a graph, directions left aside.

    The columns of `common` are log(1 + common neighbours of both ends), log(1 + their
    Adamic-Adar index Σ 1 / log degree) and their Jaccard index.
    """

    degree: Tensor  # log(1 + number of neighbours) of each node, [N]
    common: Tensor  # of each edge, [E, 3]


def structure_of(graph: Graph) -> Structure:
    """The structure of a graph, worked out at its first use; the graph owns it."""
    given = graph.row_ptr, graph.dst, graph.src
    return once(graph.derived, "structure", lambda: Structure(*work_out(*given)))


# An operator, for a compiler cannot look into the kernels.
@torch.library.custom_op("sgat::structure", mutates_args=())
def work_out(row_ptr: Tensor, dst: Tensor, src: Tensor) -> tuple[Tensor, Tensor]:
    """The fields of `Structure` for the edges of a `Graph`."""
    view = Graph(len(row_ptr) - 1, dst, src, row_ptr).undirected()
    # Both directions of an edge have the same ends.
    pair = (view.src < view.dst).nonzero().squeeze(1)
    low, high = view.src[pair].long(), view.dst[pair].long()
    degree = view.row_ptr.diff().double()
    value = torch.stack([torch.ones_like(degree), 1 / degree.clamp(min=2).log()], dim=1)
    ends = low.numpy(force=True), high.numpy(force=True)
    found = row_products(view.to_scipy(np.float64), *ends, value.numpy(force=True))
    count, adamic = torch.from_numpy(found).to(degree.device).T
    union = degree[low] + degree[high] - count
    features = torch.stack([count.log1p(), adamic.log1p(), count / union], dim=1)
    position = torch.empty_like(view.src, dtype=torch.int64)
    position[pair] = torch.arange(len(pair), device=pair.device)
    place = view.find(torch.minimum(src, dst), torch.maximum(src, dst))
    dtype = torch.get_default_dtype()
    return degree.log1p().to(dtype), features[position[place]].to(dtype)


@work_out.register_fake
def _(row_ptr: Tensor, dst: Tensor, src: Tensor) -> tuple[Tensor, Tensor]:
    dtype = torch.get_default_dtype()
    return (
        dst.new_empty(row_ptr.shape[0] - 1, dtype=dtype),
        dst.new_empty((dst.shape[0], 3), dtype=dtype),
    )


class StructureScorer(PairScorer):
    """Linear in the structure: log α_ij = u d_i + v d_j + w · f_ij + s_i + t_j.

    d is the degree of a node and f_ij counts common neighbours, see `Structure`; the
    first pass over a graph works them out, in time about the sum over edges of the
    smaller degree of their ends. Arguments are as of `PairScorer`.
    """

    def __init__(self, channels: int, *, init_gain: float = 1.0) -> None:
        super().__init__(channels, init_gain=init_gain)
        self.degree_weight = nn.Parameter(torch.empty(2))
        self.common_weight = nn.Parameter(torch.empty(3))
        self.reset_parameters()

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw new weights, small ones: the structure is not centred."""
        super().reset_parameters(generator)
        std = 0.1 * self.init_gain
        nn.init.normal_(self.degree_weight, std=std, generator=generator)
        nn.init.normal_(self.common_weight, std=std, generator=generator)

    def forward(self, h: Tensor, graph: Graph) -> Scores:
        """Score every node from its degree and every edge from common neighbours."""
        degree, common = structure_of(graph)
        scores = self.additive.forward(h, graph)
        ends = degree.to(self.degree_weight)[:, None] * self.degree_weight  # [N, 2]
        return Scores(
            scores.dst + ends[:, 0],
            scores.src + ends[:, 1],
            product(common.to(self.common_weight), self.common_weight[:, None])[:, 0],
        )
