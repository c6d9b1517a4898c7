"""Cross products of parameters, of which the fast tests run a covering part."""

import itertools
import random
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import pytest


def covering(
    axes: Mapping[str, Sequence[Any]], *, indirect: Collection[str] = ()
) -> pytest.MarkDecorator:
    """Parametrise a test by all combinations; mark those `slow` that only repeat pairs.

    Any two values of two axes meet in a fast case.

    Args:
        axes: Values of each argument of the test.
        indirect: Arguments that are fixtures.
    """
    places = list(itertools.product(*(range(len(values)) for values in axes.values())))
    fast: set[tuple[int, ...]] = set()
    met: set[tuple[tuple[int, int], ...]] = set()
    # In a random order, always the same: no value is left to a few cases.
    for place in random.Random(0).sample(places, len(places)):
        pairs = set(itertools.combinations(enumerate(place), 2))
        if not pairs <= met:
            fast.add(place)
            met |= pairs
    cases = []
    for place in places:
        values = [axes[name][at] for name, at in zip(axes, place, strict=True)]
        marks = () if place in fast else pytest.mark.slow
        cases.append(pytest.param(*values, id="-".join(map(str, values)), marks=marks))
    return pytest.mark.parametrize(tuple(axes), cases, indirect=list(indirect))
