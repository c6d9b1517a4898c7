import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from sgat.data.synthetic.pairs import generator_for
from sgat_lab.synthetic.degree_corrected import (
    FILL,
    block_pairs,
    heavy_tailed_weights,
    pairs_per_group,
    sizes_by_share,
)


@settings(deadline=None)
@given(
    total=st.integers(0, 10**6),
    shares=st.lists(st.floats(0.01, 100), min_size=1, max_size=41),
)
def test_sizes_add_up_and_follow_the_shares(total, shares):
    sizes = sizes_by_share(total, shares)
    assert sum(sizes) == total
    for size, share in zip(sizes, shares, strict=True):
        assert abs(size - total * share / sum(shares)) <= 1.01


@settings(deadline=None)
@given(
    num_pairs=st.integers(0, 5000),
    sizes=st.lists(st.integers(0, 97), min_size=1, max_size=7),
)
def test_no_group_gets_more_pairs_than_it_may_hold(num_pairs, sizes):
    given_pairs = pairs_per_group(num_pairs, sizes)
    room = [int(FILL * size * (size - 1) / 2) for size in sizes]
    assert all(g <= r for g, r in zip(given_pairs, room, strict=True))
    assert sum(given_pairs) == min(num_pairs, sum(room))


@pytest.mark.parametrize("within_share", [0.0, 0.01, 0.5, 1.0])
def test_full_groups_shrink_the_number_of_pairs_but_not_the_share(within_share):
    group = torch.arange(101) % 5
    weight = heavy_tailed_weights(
        101, spread=1.3, largest=17, generator=generator_for(0, 0)
    )
    key, is_within = block_pairs(
        group, weight, 10**6, within_share, generator_for(0, 1)
    )
    assert 0 < len(key) <= FILL * 101 * 100 / 2
    assert abs(int(is_within.sum()) - within_share * len(key)) <= 1
    assert torch.equal(group[key // 101] == group[key % 101], is_within)


def test_node_weights_have_mean_1_and_a_cut_tail():
    weight = heavy_tailed_weights(
        10007, spread=1.3, largest=5, generator=generator_for(0, 0)
    )
    assert float(weight.mean()) == pytest.approx(1)
    assert (weight == weight.max()).sum() > 10
    assert 5 < float(weight.max()) < 8
