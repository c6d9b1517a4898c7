"""The part of a graph that one process owns, and the rows it gets from others.

A process owns a contiguous range of nodes, and the edges into them. The nodes that
these edges come from are its columns: own ones, and those of others, its halo.
"""

import dataclasses
import functools
import itertools
from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from sgat.data.node_data import ROLES, NodeData
from sgat.features import rows as rows_of
from sgat.graph import Graph
from sgat.graph.compressed_rows import index_type, once
from sgat.parallel.ranks import Ranks, Swap

MOMENTUM, EPSILON = 0.1, 1e-5
"""Those of torch's batch norm."""


class HaloRows(NamedTuple):
    """Which rows travel: own ones to others, and those of others to columns here."""

    give: Tensor  # own rows, by the process that gets them
    given: list[int]  # number of rows for each process
    take: Tensor  # places of the rows of others, by the process they come from
    taken: list[int]


@dataclasses.dataclass(frozen=True, eq=False)
class Halo:
    """The columns of a part, and how their rows get here.

    `graph` has all columns as nodes, in the order of their numbers in the `whole`
    graph, and so all sums in the same order; only own nodes have edges into them.
    """

    ranks: Ranks
    whole: Graph  # the graph of all processes
    graph: Graph  # the own edges among the columns
    edges: slice  # the own edges in the whole graph
    own: slice  # the own nodes among the columns
    all: HaloRows  # all rows of others that edges come from

    @property
    def total_edges(self) -> int:
        """Number of edges of all processes."""
        return self.whole.num_edges

    def open(self, src: Tensor) -> HaloRows:
        """The rows that edges from the columns `src` need; all processes ask at once.

        Each process tells the others in one bit for each row that it could ask for.
        """
        is_open = torch.zeros(self.graph.num_nodes, dtype=torch.bool)
        is_open[src.long()] = True
        wanted = is_open[self.all.take]
        sizes = [
            [-(-n // 8) for n in counts] for counts in (self.all.given, self.all.taken)
        ]
        told = np.concatenate(
            [np.packbits(part.numpy()) for part in wanted.split(self.all.taken)]
        )
        asked = self.ranks.swapped(torch.from_numpy(told), sizes[1], sizes[0], "asked")
        parts = zip(asked.split(sizes[0]), self.all.given, strict=True)
        of_own = [np.unpackbits(part.numpy(), count=n) for part, n in parts]
        given = torch.from_numpy(np.concatenate(of_own)).bool()
        return HaloRows(
            self.all.give[given],
            [int(part.sum()) for part in given.split(self.all.given)],
            self.all.take[wanted],
            [int(part.sum()) for part in wanted.split(self.all.taken)],
        )

    def columns(self, x: Tensor, rows: HaloRows, what: str = "rows") -> Tensor:
        """Rows of the columns, from the own ones; 0 for those that no edge needs."""
        received = Swap.apply(x, self.ranks, rows.give, rows.given, rows.taken, what)
        place = torch.cat([torch.arange(self.own.start, self.own.stop), rows.take])
        return self.padded(torch.cat([x, received]), place)

    def padded(self, x: Tensor, place: Tensor | None = None) -> Tensor:
        """Rows of the columns, 0 but at their place; own ones by default."""
        if place is None:
            place = torch.arange(self.own.start, self.own.stop)
        return x.new_zeros(self.graph.num_nodes, *x.shape[1:]).index_copy(0, place, x)

    def scores(self, value: Tensor) -> Tensor:
        """Scores or vectors of all columns; each gate needs those of its source."""
        return self.columns(value, self.all, "scores")

    @cached_property
    def _reverse(self) -> tuple[Tensor, HaloRows]:
        """Where the reverse of each own edge is among own and received ones."""
        first, last = self.edges.start, self.edges.stop
        reverse = self.whole.reverse_edge[self.edges].long()
        place = reverse - first
        cut = ((reverse < first) | (reverse >= last)).nonzero().squeeze(1)
        bounds = self.whole.row_ptr[torch.tensor(node_bounds(self.whole, self.ranks))]
        owner = torch.bucketize(reverse[cut], bounds, right=True) - 1
        counts = torch.bincount(owner, minlength=self.ranks.size).tolist()
        # Sent as the others have them, which is by their reverse.
        give = cut[reverse[cut].argsort()]
        take = cut[owner.argsort(stable=True)]
        place[take] = last - first + torch.arange(len(take))
        return place, HaloRows(give, counts, take, counts)

    def of_reverse(self, value: Tensor) -> Tensor:
        """The value of the reverse of each own edge, [E]."""
        place, rows = self._reverse
        args = self.ranks, rows.give, rows.given, rows.taken, "scores"
        return torch.cat([value, Swap.apply(value, *args)]).index_select(0, place)

    def normalised(self, h: Tensor, mean: Tensor, variance: Tensor) -> Tensor:
        """`normalised` by the columns over the nodes of all processes."""
        total = functools.partial(self.ranks.total, goes_on_apart=True)
        return normalised(h, mean, variance, self.whole.num_nodes, total)


def normalised(
    h: Tensor,
    mean: Tensor,
    variance: Tensor,
    number: int,
    total: Callable[[Tensor], Tensor] = lambda own: own,
) -> Tensor:
    """Columns without their mean over so many nodes, divided by their spread.

    As `torch.nn.functional.batch_norm`, with the running `mean` and `variance`, but
    with any number of threads it gives the same bits. `total` adds up sums of parts.
    """
    centre = total(h.sum(0)) / number
    spread = total((h - centre).square().sum(0)) / number
    with torch.no_grad():
        mean.lerp_(centre, MOMENTUM)
        variance.lerp_(spread * (number / max(number - 1, 1)), MOMENTUM)
    return (h - centre) * (spread + EPSILON).rsqrt()


def node_bounds(graph: Graph, ranks: Ranks) -> list[int]:
    """Where the nodes of each process begin, and the last ones end.

    Each has about as many nodes and edges into them together, and one node at least.
    """
    size, num_nodes = ranks.size, graph.num_nodes
    work = graph.row_ptr + torch.arange(num_nodes + 1)
    targets = torch.arange(1, size) * (int(work[-1]) / size)
    bounds = [0]
    for number, bound in enumerate(torch.searchsorted(work, targets).tolist(), 1):
        bounds.append(min(max(bound, bounds[-1] + 1), num_nodes - size + number))
    return [*bounds, num_nodes]


def part_of(graph: Graph, ranks: Ranks) -> Graph:
    """The own nodes and the edges into them; `src` are places among the columns."""
    bounds = node_bounds(graph, ranks)
    begin, end = bounds[ranks.number : ranks.number + 2]
    ptr = graph.row_ptr[torch.tensor(bounds)].tolist()
    edges = slice(*ptr[ranks.number : ranks.number + 2])
    src, dst = graph.src[edges].long(), graph.dst[edges].long()
    column = torch.cat([src, torch.arange(begin, end)]).unique()
    first = int(torch.searchsorted(column, begin))
    own = slice(first, first + end - begin)
    take = torch.cat([torch.arange(own.start), torch.arange(own.stop, len(column))])
    owner = torch.bucketize(column[take], torch.tensor(bounds), right=True) - 1
    # What each of the others takes from here.
    sources = [graph.src[slice(*pair)].long() for pair in itertools.pairwise(ptr)]
    sources[ranks.number] = sources[ranks.number][:0]
    asked = [part[(part >= begin) & (part < end)].unique() - begin for part in sources]
    rows = HaloRows(
        torch.cat(asked),
        [len(part) for part in asked],
        take,
        torch.bincount(owner, minlength=ranks.size).tolist(),
    )
    place = torch.searchsorted(column, src)
    row_ptr = graph.row_ptr[begin : end + 1] - edges.start
    dtype = index_type(len(column))
    loop = graph.loop_weight
    shared: dict[str, Any] = {
        name: None if value is None else value[edges]
        for name in ("weight", "log_odds", "edge_attr")
        for value in [getattr(graph, name)]
    }
    # The nodes before and after the own ones have no edges.
    before = row_ptr.new_zeros(first)
    after = row_ptr[-1:].expand(len(column) - own.stop)
    among_columns = Graph(
        len(column),
        (dst - begin + first).to(dtype),
        place.to(dtype),
        torch.cat([before, row_ptr, after]),
        shared["weight"],
        None if loop is None else loop[column],
        node_id=graph.noise_id[column],
    )
    halo = Halo(ranks, graph, among_columns, edges, own, rows)
    return Graph(
        end - begin,
        (dst - begin).to(dtype),
        place.to(dtype),
        row_ptr,
        loop_weight=None if loop is None else loop[begin:end],
        node_id=graph.noise_id[begin:end],
        square_sum=graph.square_sums[begin:end],
        halo=halo,
        **shared,
    )


def own_data(data: NodeData, ranks: Ranks) -> NodeData:
    """The nodes that a process owns, of a graph that all have."""
    name = f"part {ranks.number} of {ranks.size}"
    graph = once(data.graph.derived, name, lambda: part_of(data.graph, ranks))
    bounds = node_bounds(data.graph, ranks)
    begin, end = bounds[ranks.number : ranks.number + 2]
    own: dict[str, Any] = {n: getattr(data, n)[begin:end] for n in ("y", *ROLES)}
    x = rows_of(data.x, begin, end)
    return dataclasses.replace(data, graph=graph, x=x, node_ids=None, **own)
