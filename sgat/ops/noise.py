"""The counter-based random numbers all backends share: Philox-4x32-10.

A number depends on what it is for, never on when or where it is drawn: the noise of
edge j → i is the cipher of the counter (i, j, stream, graph) under the seed as the key.
Edge order, batches, backends and machines therefore all see the same numbers.

Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3 (SC 2011).
"""

import numpy as np
import torch
from torch import Tensor

from sgat.graph import Graph

Seed = int | Tensor
"""64 random bits: a Python integer, or an int64 tensor with one element."""

GATES = 0
"""Stream of the gate noise; of several draws, the number of the draw is added."""
ATTENTION_DROPOUT = 1 << 16
"""First stream of the dropout on coefficients; the layer's number is added."""
FEATURE_DROPOUT = 2 << 16
"""First stream of the dropout on node features; the layer's number is added."""
RELAXED_GATES = 3 << 16
"""Stream of relaxed gates that are drawn anew for given binary ones."""

MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
KEY_STEPS = (0x9E3779B9, 0xBB67AE85)
ROUNDS = 10

_WORD = 0xFFFFFFFF
# Numbers per block on the CPU: ten rounds of int64 temporaries of this size stay in the
# cache.
_BLOCK = 1 << 15


def seed_tensor(seed: Seed, device: torch.device) -> Tensor:
    """The seed as one int64 on the device, without waiting for it."""
    if isinstance(seed, int):
        bits = seed & (2**64 - 1)
        signed = bits - 2**64 if bits >= 2**63 else bits
        return torch.full((1,), signed, dtype=torch.int64, device=device)
    return seed.reshape(1).to(device, non_blocking=True)


def philox(
    counter: tuple[Tensor, Tensor, Tensor, Tensor], seed: Seed
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Four random words of 32 bits for counters of four such words, held in int64.

    The low 32 bits of the seed are word 0 of the key, the high 32 bits word 1.
    """
    seed = seed if isinstance(seed, int) else seed.reshape(())
    key: list[int | Tensor] = [seed & _WORD, (seed >> 32) & _WORD]
    c0, c1, c2, c3 = counter
    for _ in range(ROUNDS):
        # The product of two words wraps in int64, but its 64 bits are right; the mask
        # undoes the sign.
        product0, product1 = c0 * MULTIPLIERS[0], c2 * MULTIPLIERS[1]
        c0, c1, c2, c3 = (
            ((product1 >> 32) & _WORD) ^ c1 ^ key[0],
            product1 & _WORD,
            ((product0 >> 32) & _WORD) ^ c3 ^ key[1],
            product0 & _WORD,
        )
        key = [(key[0] + KEY_STEPS[0]) & _WORD, (key[1] + KEY_STEPS[1]) & _WORD]
    return c0, c1, c2, c3


def uniform(seed: Seed, dst: Tensor, src: Tensor, stream: int) -> Tensor:
    """One number in (0, 1) for each pair of node names (`Graph.noise_id`), [E] float32.

        u = (⌊w / 2⁹⌋ + ½) / 2²³,   w = word 0 of philox((i, j, stream, graph), seed)

    Both u and 1 - u are exact in float32: every backend and precision sees the same.
    """
    if _in_blocks(dst):
        blocks = zip(dst.split(_BLOCK), src.split(_BLOCK), strict=True)
        return torch.cat([uniform(seed, dst, src, stream) for dst, src in blocks])
    word = philox(
        (dst & _WORD, src & _WORD, torch.full_like(dst, stream), dst >> 32), seed
    )[0]
    return ((word >> 9).to(torch.float32) + 0.5) * 2.0**-23


def edge_uniform(
    seed: Seed, graph: Graph, stream: int, edge: Tensor | None = None
) -> Tensor:
    """Numbers of the edges of a graph, or of those at positions `edge`; [E] float32."""
    dst, src = (
        (graph.dst, graph.src) if edge is None else (graph.dst[edge], graph.src[edge])
    )
    if graph.node_id is None:
        return uniform(seed, dst.long(), src.long(), stream)
    return uniform(seed, graph.node_id[dst], graph.node_id[src], stream)


def feature_mask(
    seed: Seed, node: Tensor, column: Tensor, stream: int, *, rate: float
) -> Tensor:
    """Dropout mask of the entries (node name, column) of a feature matrix, [M] float32.

    Entry (n, k) is dropped, mask 0, if its 16 bits of noise are below rate · 2¹⁶: lane
    k mod 8 of the eight half-words of philox((n, ⌊k / 8⌋, stream, graph), seed). Others
    have the mask 1 / (1 - rate).
    """
    if _in_blocks(node):
        blocks = zip(node.split(_BLOCK), column.split(_BLOCK), strict=True)
        return torch.cat([feature_mask(seed, *b, stream, rate=rate) for b in blocks])
    counter = (node & _WORD, column >> 3, torch.full_like(node, stream), node >> 32)
    words = torch.stack(philox(counter, seed))
    word = words.gather(0, ((column >> 1) & 3)[None])[0]
    lane = (word >> ((column & 1) << 4)) & 0xFFFF
    return _scaled(lane, rate)


def dense_feature_mask(
    seed: Seed, node: Tensor, num_columns: int, stream: int, *, rate: float
) -> Tensor:
    """The mask of `feature_mask` for whole rows; [len(node), num_columns] float32."""
    num_blocks = -(-num_columns // 8)
    if len(node) > 1 and _in_blocks(node, num_blocks):
        rows = node.split(max(_BLOCK // num_blocks, 1))
        masks = (
            dense_feature_mask(seed, names, num_columns, stream, rate=rate)
            for names in rows
        )
        return torch.cat(list(masks))
    name = node[:, None]
    block = torch.arange(num_blocks, device=node.device)[None]
    counter = torch.broadcast_tensors(
        name & _WORD, block, torch.full_like(name, stream), name >> 32
    )
    words = torch.stack(philox(counter, seed), dim=-1)  # [N, B, 4]
    lanes = torch.stack([words & 0xFFFF, words >> 16], dim=-1)  # [N, B, 4, 2]
    return _scaled(lanes.reshape(len(node), num_blocks * 8)[:, :num_columns], rate)


def _in_blocks(index: Tensor, width: int = 1) -> bool:
    """Whether to draw in blocks: more numbers than fit in a CPU's cache."""
    is_large = index.is_cpu and len(index) * width > _BLOCK
    return is_large and not torch.compiler.is_compiling()


def _scaled(lane: Tensor, rate: float) -> Tensor:
    limit, scale = limit_and_scale(rate)
    return (lane >= limit).to(torch.float32) * scale


def limit_and_scale(rate: float) -> tuple[int, float]:
    """The 16-bit limit below which an entry is dropped, and the scale of the others.

    The scale is a number of float32, as the mask of `feature_mask` is.
    """
    limit = round(rate * 65536)
    return limit, float(np.float32(65536 / (65536 - limit)))


def derive(seed: int, *parts: int) -> int:
    """A new 63-bit seed from a seed and integers such as the epoch (SplitMix64)."""
    mask = 0xFFFFFFFFFFFFFFFF
    state = seed & mask
    for part in parts:
        state = (state + 0x9E3779B97F4A7C15 * ((part & mask) + 1)) & mask
        state = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & mask
        state = ((state ^ (state >> 27)) * 0x94D049BB133111EB) & mask
        state ^= state >> 31
    return state >> 1
