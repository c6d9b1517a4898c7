"""The noise: Philox itself, and that a number depends on nothing but its name."""

import math

import pytest
import torch
from support.awkward import GRAPHS, random_edges
from torch import Tensor

from sgat.graph import Graph
from sgat.ops import noise

# From the file `kat_vectors` of Random123: counter, key, output of philox4x32-10.
KNOWN_ANSWERS = [
    ("00000000 " * 4, "00000000 " * 2, "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    ("ffffffff " * 4, "ffffffff " * 2, "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    (
        "243f6a88 85a308d3 13198a2e 03707344",
        "a4093822 299f31d0",
        "d16cfe09 94fdcceb 5001e420 24126ea1",
    ),
]
NUMBERS = 1_000_000


def words(text: str) -> list[int]:
    return [int(word, 16) for word in text.split()]


def signed(bits: int) -> int:
    """The same 64 bits as an int64 holds them."""
    return bits - 2**64 if bits >= 2**63 else bits


def pairs(size: int) -> tuple[Tensor, Tensor]:
    """All pairs of `size` targets and sources."""
    node = torch.arange(size)
    return node.repeat_interleave(size), node.repeat(size)


@pytest.mark.parametrize(("counter", "key", "expected"), KNOWN_ANSWERS)
def test_philox_gives_the_known_answers(counter: str, key: str, expected: str):
    low, high = words(key)
    bits = low | high << 32
    tensors = tuple(torch.tensor([word]) for word in words(counter))
    for seed in (bits, torch.tensor([signed(bits)])):
        assert [int(word) for word in noise.philox(tensors, seed)] == words(expected)


def test_a_uniform_number_is_made_of_the_top_bits_of_the_first_word():
    # Word 0x6627e8d5 of the first known answer; its top 23 bits are 0x3313f4.
    zero = torch.zeros(1, dtype=torch.long)
    assert noise.uniform(0, zero, zero, 0).tolist() == [(0x3313F4 + 0.5) / 2**23]


@pytest.mark.parametrize(
    ("target", "source", "stream", "graph"),
    [(5, 0, 0, 0), (0, 7, 0, 0), (0, 0, 3, 0), (0, 0, 0, 2), (11, 13, 65537, 17)],
)
def test_the_counter_is_target_source_stream_graph(target, source, stream, graph):
    high = graph << 32
    drawn = noise.uniform(
        9, torch.tensor([target + high]), torch.tensor([source + high]), stream
    )
    counter = tuple(torch.tensor([word]) for word in (target, source, stream, graph))
    word = int(noise.philox(counter, 9)[0])
    assert drawn.tolist() == [((word >> 9) + 0.5) / 2**23]


def test_numbers_are_in_the_open_interval_and_exact_in_float32(seed: int):
    drawn = noise.uniform(seed, *pairs(1000), noise.GATES)
    assert drawn.dtype == torch.float32
    assert drawn.min() > 0 and drawn.max() < 1
    # A half-integer number of 2^-23: 24 bits, all of which float32 holds; so does 1-u.
    steps = drawn.double() * 2**24
    assert torch.equal(steps, steps.round()) and bool((steps % 2 == 1).all())
    assert torch.equal((1 - drawn).double(), 1 - drawn.double())


@pytest.mark.parametrize("word", [0, 2**32 - 1])
def test_the_most_extreme_words_still_give_finite_logits(word: int):
    drawn = ((torch.tensor(word) >> 9).float() + 0.5) * 2.0**-23
    assert 0 < drawn < 1
    assert (drawn.log() - (1 - drawn).log()).isfinite()


def test_mean_and_variance_are_those_of_uniform_numbers(seed: int):
    drawn = noise.uniform(seed, *pairs(1000), noise.GATES).double()
    # Six standard errors: of the mean 1/√(12 n), of the variance 1/√(180 n).
    assert abs(drawn.mean() - 1 / 2) < 6 / math.sqrt(12 * NUMBERS)
    assert abs(drawn.var() - 1 / 12) < 6 / math.sqrt(180 * NUMBERS)


def test_numbers_of_different_names_are_uncorrelated(seed: int):
    dst, src = pairs(1000)

    def centred(*name, key: int = seed) -> Tensor:
        return noise.uniform(key, *name).double() - 0.5

    here = centred(dst, src, noise.GATES)
    others = {
        "next source": centred(dst, src + 1000, noise.GATES),
        "next graph": centred(dst + (1 << 32), src + (1 << 32), noise.GATES),
        "dropout": centred(dst, src, noise.ATTENTION_DROPOUT),
        "next layer": centred(dst, src, noise.ATTENTION_DROPOUT + 1),
        "next seed": centred(dst, src, noise.GATES, key=seed + 1),
        "high bits of the seed": centred(dst, src, noise.GATES, key=seed + (1 << 32)),
    }
    for name, there in others.items():
        correlation = float((here * there).mean() * 12)
        assert abs(correlation) < 6 / math.sqrt(NUMBERS), name
    # The reverse edge; without the diagonal, where both are one number.
    pair = (here * here.reshape(1000, 1000).T.reshape(-1))[dst != src]
    assert abs(float(pair.mean() * 12)) < 6 * math.sqrt(2 / NUMBERS)


@pytest.mark.parametrize("bits", [0, 7, 2**32 + 5, 2**63 - 1, 2**63, 2**64 - 1, -3])
def test_integers_and_tensors_of_the_same_bits_are_the_same_seed(bits: int):
    tensor = torch.tensor([signed(bits & (2**64 - 1))])
    graph = GRAPHS["random directed"]()
    expected = noise.edge_uniform(bits, graph, 3)
    assert torch.equal(noise.edge_uniform(tensor, graph, 3), expected)
    assert torch.equal(noise.edge_uniform(tensor.reshape(()), graph, 3), expected)


def test_noise_does_not_depend_on_edge_order(seed: int):
    edges = random_edges(23, 127)
    shuffled = edges[:, torch.randperm(127)]
    graph, other = Graph.from_edges(edges, 23), Graph.from_edges(shuffled, 23)
    drawn = graph.to_input(noise.edge_uniform(seed, graph, 0), loop=0.0)
    again = other.to_input(noise.edge_uniform(seed, other, 0), loop=0.0)
    by_name = {
        tuple(edge): u for edge, u in zip(edges.T.tolist(), drawn.tolist(), strict=True)
    }
    assert len(set(by_name.values())) > 120
    assert [by_name[tuple(edge)] for edge in shuffled.T.tolist()] == again.tolist()


def test_noise_of_an_edge_does_not_depend_on_the_other_edges(seed: int):
    graph = GRAPHS["random directed"]()
    drawn = noise.edge_uniform(seed, graph, 0)
    keep = torch.rand(graph.num_edges) < 0.5
    small = noise.edge_uniform(seed, graph.select(keep), 0)
    assert torch.equal(small, drawn[keep])
    edge = keep.nonzero().squeeze(1)
    assert torch.equal(noise.edge_uniform(seed, graph, 0, edge), drawn[keep])


def test_noise_does_not_depend_on_the_batch(seed: int):
    parts = [GRAPHS[name]() for name in ("random directed", "star", "no edges")]
    both = Graph.merge(parts)
    first, second, third = (
        both.node_id[:23],
        both.node_id[23:287],
        both.node_id[287:],
    )
    named = [
        Graph(p.num_nodes, p.dst, p.src, p.row_ptr, node_id=name)
        for p, name in zip(parts, (first, second, third), strict=True)
    ]
    alone = [noise.edge_uniform(seed, graph, 0) for graph in named]
    assert torch.equal(noise.edge_uniform(seed, both, 0), torch.cat(alone))
    other_way = Graph.merge(named[::-1])
    assert torch.equal(noise.edge_uniform(seed, other_way, 0), torch.cat(alone[::-1]))
    # The first graph of a batch has the names it has alone; the second has others.
    assert torch.equal(noise.edge_uniform(seed, parts[0], 0), alone[0])
    assert not torch.equal(noise.edge_uniform(seed, parts[1], 0), alone[1])


def test_block_boundaries_do_not_matter(seed: int, monkeypatch: pytest.MonkeyPatch):
    dst, src = pairs(31)
    column = src % 29
    whole = (
        noise.uniform(seed, dst, src, 1),
        noise.feature_mask(seed, dst, column, 1, rate=0.4),
        noise.dense_feature_mask(seed, torch.arange(31), 29, 1, rate=0.4),
    )
    monkeypatch.setattr(noise, "_BLOCK", 7)
    blocked = (
        noise.uniform(seed, dst, src, 1),
        noise.feature_mask(seed, dst, column, 1, rate=0.4),
        noise.dense_feature_mask(seed, torch.arange(31), 29, 1, rate=0.4),
    )
    for one, other in zip(whole, blocked, strict=True):
        assert torch.equal(one, other)


@pytest.mark.parametrize("num_columns", [1, 7, 8, 9, 16, 29])
def test_the_dense_feature_mask_is_the_sparse_one_of_every_entry(
    num_columns: int, seed: int
):
    name = torch.tensor([0, 3, 1 << 32, (5 << 32) + 2, 2**32 - 1])
    dense = noise.dense_feature_mask(seed, name, num_columns, 5, rate=0.3)
    row = torch.arange(5).repeat_interleave(num_columns)
    column = torch.arange(num_columns).repeat(5)
    sparse = noise.feature_mask(seed, name[row], column, 5, rate=0.3)
    assert torch.equal(dense.reshape(-1), sparse)


def test_lanes_of_the_feature_mask_are_the_half_words_in_order():
    zero = torch.zeros(1, dtype=torch.long)
    output = words("6627e8d5 e169c58d bc57ac4c 9b00dbd8")
    halves = [half for word in output for half in (word & 0xFFFF, word >> 16)]
    for rate in (0.25, 0.5, 0.75):
        mask = noise.dense_feature_mask(0, zero, 8, 0, rate=rate)[0]
        kept = [half >= rate * 65536 for half in halves]
        assert torch.equal(mask, torch.tensor(kept) * (1 / (1 - rate)))


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.9])
def test_the_feature_mask_drops_its_share_and_keeps_the_mean(rate: float, seed: int):
    mask = noise.dense_feature_mask(seed, torch.arange(1000), 1000, 0, rate=rate)
    # Six standard errors, and the rounding of the rate to 16 bits.
    error = 6 * math.sqrt(rate * (1 - rate) / NUMBERS) + 2**-17
    assert abs(float((mask == 0).double().mean()) - rate) < error
    assert abs(float(mask.double().mean()) - 1) < error / (1 - rate)


def test_no_rate_drops_nothing(seed: int):
    mask = noise.dense_feature_mask(seed, torch.arange(31), 29, 0, rate=0.0)
    assert torch.equal(mask, torch.ones(31, 29))


def test_derived_seeds_are_63_bits_and_all_different():
    seeds = {
        noise.derive(seed, epoch, part)
        for seed in range(7)
        for epoch in range(101)
        for part in range(3)
    }
    assert len(seeds) == 7 * 101 * 3
    assert all(0 <= seed < 2**63 for seed in seeds)
    assert noise.derive(3, 1, 2) != noise.derive(3, 2, 1)
    assert noise.derive(3, 1) == noise.derive(3, 1)
