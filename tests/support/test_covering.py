import itertools

from support.covering import covering

AXES = {"a": range(2), "b": range(7), "c": range(5), "d": (None, "x")}


def test_any_two_values_meet_in_a_fast_case():
    cases = covering(AXES).args[1]
    fast = [case.values for case in cases if not case.marks]
    assert len(cases) == 2 * 7 * 5 * 2
    assert 7 * 5 <= len(fast) < 2 * 7 * 5
    met = {pair for case in fast for pair in itertools.combinations(enumerate(case), 2)}
    for (i, one), (j, other) in itertools.combinations(enumerate(AXES.values()), 2):
        assert {((i, a), (j, b)) for a in one for b in other} <= met
