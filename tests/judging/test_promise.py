"""Which edges go, and how many of them are right: by hand, and in general."""

import pytest
import torch

from sgat.judging.promise import (
    MARGIN,
    check_promise,
    choose_removed,
    describe_promise,
)

FIVE = torch.tensor([0.9, 0.0, 0.4, 0.1, 0.6])


@pytest.mark.parametrize(
    ("promise", "gone", "right", "wrong"),
    [
        ({}, [1, 2, 3], 0.5, 2.5),
        # Means of the lowest one, two, three …: 0, .05, .167, .275, .4.
        # Two thirds of the promised share may be used up.
        ({"at_most_wrong": 0.05}, [1], 0.0, 1.0),
        ({"at_most_wrong": 0.08}, [1, 3], 0.1, 1.9),
        ({"at_most_wrong": 0.3}, [1, 2, 3], 0.5, 2.5),
        ({"at_most_wrong": 0.7}, [0, 1, 2, 3, 4], 2.0, 3.0),
        # Of three expected wrong edges 1, 1.9, 2.5, 2.9, 3 go.
        ({"find_at_least": 0.3}, [1], 0.0, 1.0),
        ({"find_at_least": 0.8}, [1, 2, 3], 0.5, 2.5),
        ({"find_at_least": 0.99}, [0, 1, 2, 3, 4], 2.0, 3.0),
    ],
)
def test_five_edges_by_hand(promise, gone, right, wrong):
    found = choose_removed(FIVE, **promise)
    assert found.mask.nonzero().squeeze(1).tolist() == gone
    assert found.number == len(gone)
    assert found.expected_right == pytest.approx(right)
    assert found.expected_wrong == pytest.approx(wrong)
    assert found.found_share == pytest.approx(wrong / 3)
    assert found.limit == pytest.approx(max(FIVE[gone].tolist()))


@pytest.mark.parametrize("share", [0.05, 0.1, 0.5, 0.9])
def test_promises_hold_and_no_edge_more_or_less_would_do(share, seed):
    generator = torch.Generator().manual_seed(seed)
    probability = torch.rand(503, generator=generator)
    ordered = probability.sort().values.double()
    found = choose_removed(probability, at_most_wrong=share)
    assert float(probability[found.mask].mean()) <= MARGIN * share + 1e-6
    if found.number < 503:
        assert float(ordered[: found.number + 1].mean()) > MARGIN * share
    found = choose_removed(probability, find_at_least=share)
    wrong = (1 - ordered).cumsum(0)
    assert found.found_share >= share
    assert found.number == 1 or wrong[found.number - 2] / wrong[-1] < share


@pytest.mark.parametrize("promise", ["at_most_wrong", "find_at_least"])
def test_edges_of_equal_probability_go_together_in_any_order(promise, seed):
    probability = torch.tensor([0.0, 0.3, 0.3, 0.3, 0.3, 0.9, 0.9])
    order = torch.randperm(7, generator=torch.Generator().manual_seed(seed))
    for share in (0.1, 0.2, 0.3, 0.5, 0.7, 0.9):
        gone = choose_removed(probability, **{promise: share})
        for value in (0.3, 0.9):
            assert len(set(gone.mask[probability == value].tolist())) == 1
        again = choose_removed(probability[order], **{promise: share})
        assert torch.equal(again.mask, gone.mask[order])
    assert choose_removed(probability, at_most_wrong=0.1).number == 1
    assert choose_removed(probability, find_at_least=0.3).number == 5


@pytest.mark.parametrize(
    "promise", [{}, {"at_most_wrong": 0.1}, {"find_at_least": 0.9}]
)
@pytest.mark.parametrize("probability", [torch.zeros(0), torch.ones(3)])
def test_nothing_goes_where_nothing_is_wrong(probability, promise):
    found = choose_removed(probability, **promise)
    assert found.mask.tolist() == [False] * len(probability)
    assert found[1:] == (-1, 0, 0, 0, 1)


def test_two_promises_and_shares_out_of_range_are_refused():
    with pytest.raises(ValueError, match="`at_most_wrong` and `find_at_least` exclude"):
        check_promise(0.1, 0.9)
    for name in ("at_most_wrong", "find_at_least"):
        for share in (0.0, 1.0, -0.1, float("nan")):
            with pytest.raises(ValueError, match=f"`{name}` must be above 0 and below"):
                choose_removed(FIVE, **{name: share})


@pytest.mark.parametrize(
    ("promise", "words"),
    [
        (
            (0.07, None),
            "as many as go with at most 7% right ones, a third of it set aside",
        ),
        (
            (0.005, None),
            "as many as go with at most 0.5% right ones, a third of it set aside",
        ),
        ((None, 0.9), "as few as find 90% of the wrong ones"),
        ((None, None), "those with a probability of at most 0.5"),
    ],
)
def test_promises_are_said_in_words(promise, words):
    assert describe_promise(*promise) == words
