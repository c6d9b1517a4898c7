"""Distinct node pairs: numbered, and drawn without loops or repeats.

A directed edge has the key dst · N + src, an unordered pair low · N + high with low <
high; sorted keys are sorted edges.
"""

import dataclasses
from collections.abc import Callable
from typing import Literal

import numpy as np
import torch
from torch import Tensor

CHUNK = 2**23
"""Most pairs drawn at once: bounds the memory of a draw to about half a GiB."""


def generator_for(
    seed: int, stream: int, device: torch.device | str = "cpu"
) -> torch.Generator:
    """The random numbers of one concern: streams of a seed do not share numbers.

    Leaving out one concern (say, the features) then changes none of the others.
    """
    if seed < 0:
        raise ValueError(f"`seed` must be at least 0, got {seed}.")
    mixed = np.random.SeedSequence(seed, spawn_key=(stream,)).generate_state(1)
    return torch.Generator(device).manual_seed(int(mixed[0]))


def contains(sorted_key: Tensor, key: Tensor) -> Tensor:
    """Whether each key stands in the ascending `sorted_key`, [M] bool."""
    if not len(sorted_key):
        return torch.zeros_like(key, dtype=torch.bool)
    position = torch.searchsorted(sorted_key, key).clamp(max=len(sorted_key) - 1)
    return sorted_key[position] == key


def draw_distinct(
    draw: Callable[[int], Tensor],
    count: int,
    generator: torch.Generator,
    *,
    taken: Tensor | None = None,
) -> Tensor:
    """Draw until `count` different keys are found, none in the ascending `taken`.

    Repeats are thrown away and drawn again, so the number is exact. There must be room:
    the caller sees to it that the keys found and taken leave something to draw. `draw`
    gives at most that many random keys. The keys are ascending, [count] int64.
    """
    found = torch.empty(0, dtype=torch.int64, device=generator.device)
    new_share = 1.0
    while missing := count - len(found):
        size = min(int(1.02 * missing / new_share) + 16, CHUNK)
        new = draw(size).unique()
        new = new[~contains(found, new)]
        if taken is not None:
            new = new[~contains(taken, new)]
        new_share = max(len(new) / size, 1 / 64)
        if len(new) > missing:
            new = _some(new, missing, generator)
        found = torch.cat([found, new]).sort().values
    return found


@dataclasses.dataclass(frozen=True, eq=False)
class PairSpace:
    """Ordered pairs of nodes, numbered 0 … size-1, to draw from uniformly or list.

    The nodes stand in `order`, groups of them side by side. A node of group g is paired
    with the stretch of `order` that is the group's partners, without itself (`skip =
    "self"`) or without its own group (`skip = "group"`) where the stretch includes it.
    """

    order: Tensor  # nodes, [M] int64
    start: Tensor  # where each group begins in `order`, [G]
    count: Tensor  # nodes of each group, [G]
    partner_start: Tensor  # where the partners of each group begin, [G]
    partner_count: Tensor  # partners of a node of each group, [G]
    skip: Literal["nothing", "self", "group"]

    @property
    def size(self) -> int:
        """Number of ordered pairs."""
        return int((self.count * self.partner_count).sum())

    def pair(self, index: Tensor) -> tuple[Tensor, Tensor]:
        """The two nodes of each numbered pair: node and partner, [M] each."""
        end = (self.count * self.partner_count).cumsum(0)  # [G]
        group = torch.searchsorted(end, index, right=True)
        width = self.partner_count[group]
        rank = index - (end[group] - self.count[group] * width)
        node = self.start[group] + torch.div(rank, width, rounding_mode="floor")
        partner = self.partner_start[group] + rank % width
        if self.skip == "self":
            partner = partner + (partner >= node)
        elif self.skip == "group":
            partner = partner + self.count[group] * (partner >= self.start[group])
        return self.order[node], self.order[partner]


def other_classes(y: Tensor, num_classes: int) -> PairSpace:
    """Pairs of each node with the nodes of other classes; -1 takes no part."""
    order = y.argsort(stable=True)[int((y < 0).sum()) :]
    count = torch.bincount(y[order], minlength=num_classes)
    start, others = count.cumsum(0) - count, len(order) - count
    return PairSpace(order, start, count, torch.zeros_like(start), others, "group")


def front_space(order: Tensor, num_front: int) -> PairSpace:
    """Pairs of each of the first `num_front` nodes of `order` with every other node."""
    one = order.new_ones(1)
    others = one * max(len(order) - 1, 0)
    return PairSpace(order, 0 * one, num_front * one, 0 * one, others, "self")


def block_space(block: Tensor, allowed: Tensor) -> PairSpace:
    """Pairs of nodes whose blocks, 0 … B-1 or -1 for none, are `allowed`, [B, B]."""
    order = block.argsort(stable=True)[int((block < 0).sum()) :]
    count = torch.bincount(block[order], minlength=len(allowed))
    start = count.cumsum(0) - count
    node, partner = allowed.nonzero().unbind(1)
    sizes = start[node], count[node], start[partner], count[partner]
    return PairSpace(order, *sizes, "nothing")


def sample_pairs(
    space: PairSpace,
    count: int,
    num_nodes: int,
    generator: torch.Generator,
    *,
    undirected: bool,
    taken: Tensor | None = None,
) -> Tensor | None:
    """Keys of `count` different pairs, chosen uniformly, none in the ascending `taken`.

    Where the pairs asked for and taken are a fair part of the space, the space is
    listed; else pairs are drawn and repeats drawn again. Memory follows the number of
    pairs asked for and taken either way. The node of a pair is the target, the partner
    the source. The keys are ascending; None if there are fewer pairs than that.
    """
    size = space.size

    def keys(index: Tensor) -> Tensor:
        dst, src = space.pair(index)
        if undirected:
            dst, src = torch.minimum(dst, src), torch.maximum(dst, src)
        return dst * num_nodes + src

    def draw(number: int) -> Tensor:
        device = generator.device
        return keys(torch.randint(size, (number,), generator=generator, device=device))

    num_taken = 0 if taken is None else len(taken)
    if size > 4 * (count + num_taken):
        return draw_distinct(draw, count, generator, taken=taken)
    listed = keys(torch.arange(size, device=generator.device)).unique()
    if taken is not None:
        listed = listed[~contains(taken, listed)]
    if len(listed) < count:
        return None
    return _some(listed, count, generator).sort().values


def _some(key: Tensor, count: int, generator: torch.Generator) -> Tensor:
    order = torch.randperm(len(key), generator=generator, device=generator.device)
    return key[order[:count]]
