"""The radius within which enough pairs of nodes are."""

import pytest

from sgat_lab.embeddings import radius
from sgat_lab.embeddings.radius import find_radius


@pytest.mark.parametrize(("number", "expected"), [(0, 0), (1, 1), (6, 6), (99, 8)])
def test_the_smallest_radius_with_enough_pairs_is_found(number, expected):
    found = find_radius(lambda reach: int(reach), number, 8, 1e-6)
    assert expected <= found <= expected + 8e-6


def test_too_many_pairs_are_told_without_naming_a_space(monkeypatch):
    monkeypatch.setattr(radius, "MOST_PAIRS", 5)
    with pytest.raises(ValueError) as error:
        find_radius(lambda reach: 7, 3, 8, 1e-6)
    assert str(error.value) == (
        "At most 5 pairs of nodes can be near each other, got 7 where 3 were sought;"
        " take a smaller graph, or one with smaller hubs, whose neighbours share a"
        " place."
    )
