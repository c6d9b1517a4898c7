import itertools

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from sgat.data.synthetic.pairs import (
    contains,
    front_space,
    generator_for,
    other_classes,
    sample_pairs,
)


def listed(space):
    node, partner = space.pair(torch.arange(space.size))
    return list(zip(node.tolist(), partner.tolist(), strict=True))


LABELS = st.lists(st.integers(-1, 2), max_size=11).map(
    lambda values: torch.tensor(values, dtype=torch.int64)
)


@settings(deadline=None, max_examples=100)
@given(y=LABELS)
def test_each_pair_of_two_classes_is_numbered_once(y):
    expected = [
        (i, j)
        for i, j in itertools.permutations(range(len(y)), 2)
        if min(y[i], y[j]) >= 0 and y[i] != y[j]
    ]
    assert sorted(listed(other_classes(y, 3))) == expected


@settings(deadline=None, max_examples=50)
@given(num_nodes=st.integers(1, 11), data=st.data())
def test_a_front_space_pairs_the_first_nodes_with_all_others(num_nodes, data):
    order = data.draw(st.permutations(range(num_nodes)))
    num_front = data.draw(st.integers(0, num_nodes))
    expected = [
        (i, j) for i, j in itertools.permutations(order, 2) if i in order[:num_front]
    ]
    found = listed(front_space(torch.tensor(order), num_front))
    assert sorted(found) == sorted(expected)


@pytest.mark.parametrize("count", [0, 1, 7, 60, 110])
def test_sampled_pairs_are_new_and_as_many_as_asked_for(count):
    space = front_space(torch.arange(11), 11)
    taken = torch.tensor([1, 2, 13])
    free = 110 - len(taken)
    found = sample_pairs(
        space, count, 11, generator_for(0, 0), undirected=False, taken=taken
    )
    if count > free:
        assert found is None
        return
    assert len(found) == count == len(found.unique())
    assert torch.equal(found, found.sort().values)
    assert not contains(taken, found).any()
    assert (found // 11 != found % 11).all()


@pytest.mark.parametrize("count", [2, 17])
def test_every_pair_is_sampled_equally_often(count):
    # 2 of 21 pairs are drawn, 17 of 21 are picked from the list.
    generator = generator_for(3, 0)
    space = front_space(torch.arange(7), 7)
    times = torch.zeros(49)
    repeats = 2000
    for _ in range(repeats):
        times[sample_pairs(space, count, 7, generator, undirected=True)] += 1
    share = times[times > 0] / repeats
    expected = count / 21
    assert len(share) == 21
    assert (share - expected).abs().max() < 5 * (expected * 0.5 / repeats) ** 0.5


def test_streams_and_seeds_do_not_share_random_numbers():
    numbers = {
        (seed, stream): torch.rand(5, generator=generator_for(seed, stream)).tolist()
        for seed in (0, 1, 2**32, 2**32 + 1)
        for stream in (0, 1, 11)
    }
    assert len({tuple(drawn) for drawn in numbers.values()}) == 12
    again = torch.rand(5, generator=generator_for(2**32, 11)).tolist()
    assert again == numbers[2**32, 11]


def test_a_negative_seed_is_refused():
    with pytest.raises(ValueError) as error:
        generator_for(-1, 0)
    assert str(error.value) == "`seed` must be at least 0, got -1."
