"""Pairs in proportion to node weights, inside groups and between them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor

from sgat.data.synthetic.pairs import draw_distinct

FILL = 0.25
"""Most pairs drawn inside a group, or between groups, as a share of those there are.

Beyond it, groups turn into cliques and the heavy tail is lost."""


def heavy_tailed_weights(
    num_nodes: int, *, spread: float, largest: float, generator: torch.Generator
) -> Tensor:
    """Log-normal node weights, cut off: θ = min(exp(spread · g), cut), g ~ N(0, 1).

    Args:
        num_nodes: Number of nodes N.
        spread: Standard deviation of log θ.
        largest: The cut, in multiples of the mean of the uncut distribution.
        generator: Source of randomness.

    Returns:
        Weights of mean 1, [N] float64.
    """
    normal = torch.randn(num_nodes, generator=generator, dtype=torch.float64)
    weight = (spread * normal - spread**2 / 2).exp().clamp(max=largest)
    return weight / weight.mean()


def sizes_by_share(total: int, shares: Sequence[float]) -> list[int]:
    """Whole numbers in proportion to the shares that add up to `total`."""
    ends, passed = [0], 0.0
    for share in shares:
        passed += share
        ends.append(round(total * passed / sum(shares)))
    return [end - start for start, end in pairwise(ends)]


def pairs_per_group(num_pairs: int, sizes: Sequence[int]) -> list[int]:
    """Share pairs out among groups by size, none beyond the share `FILL` it can hold.

    What a small group cannot hold goes to the others. If all are full, fewer pairs than
    asked for are given.
    """
    room = [int(FILL * size * (size - 1) / 2) for size in sizes]
    given = [0] * len(sizes)
    while (left := num_pairs - sum(given)) > 0:
        open_groups = [g for g in range(len(sizes)) if given[g] < room[g]]
        if not open_groups:
            break
        for g, more in zip(
            open_groups,
            sizes_by_share(left, [sizes[g] for g in open_groups]),
            strict=True,
        ):
            given[g] = min(given[g] + more, room[g])
    return given


class WeightedNodes:
    """Draws nodes in proportion to their weights."""

    def __init__(self, weight: Tensor, device: torch.device) -> None:
        """Sum up the weights, [N] float64, on the CPU, where sums are repeatable."""
        self.cumulative = weight.cumsum(0).to(device)
        self.total = float(weight.sum())

    def draw(self, count: int, generator: torch.Generator) -> Tensor:
        """Random nodes, with repeats, [count] int64."""
        level = torch.rand(
            count, generator=generator, dtype=torch.float64, device=generator.device
        )
        node = torch.searchsorted(self.cumulative, level.mul_(self.total), right=True)
        return node.clamp_(max=len(self.cumulative) - 1)


def pairs_within(
    member: Tensor,
    weight: Tensor,
    count: int,
    num_nodes: int,
    generator: torch.Generator,
) -> Tensor:
    """Keys of different pairs inside one group, ascending.

    Args:
        member: Nodes of the group, ascending, on the CPU, [M].
        weight: Weight of each member, on the CPU, [M].
        count: How many pairs, at most the share `FILL` of all of them.
        num_nodes: Number of nodes N of the graph.
        generator: Source of randomness; its device is the device of the result.
    """
    size = len(member)
    nodes = WeightedNodes(weight, generator.device)

    def draw(size_of_draw: int) -> Tensor:
        one = nodes.draw(size_of_draw, generator)
        two = nodes.draw(size_of_draw, generator)
        key = torch.minimum(one, two) * size + torch.maximum(one, two)
        return key[one != two]

    key = draw_distinct(draw, count, generator)
    member = member.to(generator.device)
    low = torch.div(key, max(size, 1), rounding_mode="floor")
    return member[low] * num_nodes + member[key - low * size]


def pairs_between(
    group: Tensor, weight: Tensor, count: int, generator: torch.Generator
) -> Tensor:
    """Keys of different pairs of nodes of different groups, ascending.

    Args:
        group: Group of each node, on the CPU, [N].
        weight: Weight of each node, on the CPU, [N].
        count: How many pairs.
        generator: Source of randomness; its device is the device of the result.
    """
    nodes = WeightedNodes(weight, generator.device)
    group = group.to(generator.device)

    def draw(size_of_draw: int) -> Tensor:
        one = nodes.draw(size_of_draw, generator)
        two = nodes.draw(size_of_draw, generator)
        key = torch.minimum(one, two) * len(group) + torch.maximum(one, two)
        return key[group[one] != group[two]]

    return draw_distinct(draw, count, generator)


def block_pairs(
    group: Tensor,
    weight: Tensor,
    num_pairs: int,
    within_share: float,
    generator: torch.Generator,
) -> tuple[Tensor, Tensor]:
    """Pairs in proportion to weight_i · weight_j, a given share of them inside groups.

    The share is exact to rounding. Fewer pairs than asked for are given where more
    would fill the groups, or the space between them, beyond the share `FILL`.

    Args:
        group: Group of each node, 0 … G-1, on the CPU, [N].
        weight: Weight of each node, on the CPU, [N].
        num_pairs: How many pairs to draw.
        within_share: Share of the pairs that is inside a group, 0 to 1.
        generator: Source of randomness; its device is the device of the result.

    Returns:
        Keys of the pairs, ascending, and whether each is inside a group, [P] each.
    """
    counts, num_between = _pair_counts(
        num_pairs, within_share, torch.bincount(group).tolist()
    )
    keys = []
    for number, count in enumerate(counts):
        member = (group == number).nonzero().squeeze(1)
        keys.append(pairs_within(member, weight[member], count, len(group), generator))
    keys.append(pairs_between(group, weight, num_between, generator))
    key = torch.cat(keys)
    keys.clear()
    key, order = key.sort()
    return key, order < sum(counts)


def _pair_counts(
    num_pairs: int, within_share: float, sizes: Sequence[int]
) -> tuple[list[int], int]:
    """Pairs inside each group and pairs between groups, within the share `FILL`."""
    wanted = round(num_pairs * within_share)
    counts = pairs_per_group(wanted, sizes)
    if sum(counts) < wanted:
        num_pairs = round(num_pairs * sum(counts) / wanted)
    num_between = num_pairs - sum(counts)
    total = sum(sizes)
    room = int(FILL * (total**2 - sum(size**2 for size in sizes)) / 2)
    if num_between > room:
        counts = pairs_per_group(round(sum(counts) * room / num_between), sizes)
        num_between = room
    return counts, num_between
