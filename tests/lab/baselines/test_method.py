import pytest

from sgat_lab.baselines import METHODS, find_method, fit, prepare
from sgat_lab.baselines.method import Method
from sgat_lab.config import MethodConfig

MADE = Method(
    lambda config, data: None, defaults={"rate": 0.5, "steps": 3, "samples": [25, 10]}
)


def made(**options) -> MethodConfig:
    return MethodConfig(method="made", options=options)


def test_options_are_filled_in():
    assert MADE.options(made()) == {"rate": 0.5, "steps": 3, "samples": [25, 10]}
    assert MADE.options(made(rate=1)) == {"rate": 1, "steps": 3, "samples": [25, 10]}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rates": 1.0}, "'made' has no option 'rates'; it has rate, steps, samples"),
        ({"steps": 2.5}, "`steps` must be a whole number, got 2.5"),
        ({"steps": True}, "`steps` must be a whole number, got True"),
        ({"samples": 3}, "`samples` must be a list, got 3"),
        ({"rate": "high"}, "`rate` must be a number, got 'high'"),
    ],
)
def test_bad_options_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        MADE.options(made(**options))


def test_an_unknown_method_lists_the_known_ones():
    with pytest.raises(ValueError, match=r"'gxn'; choose sgat or one of mlp, gcn, gat"):
        find_method("gxn")
    for run in (lambda c: fit([], c, None), lambda c: prepare([], c, 0)):
        with pytest.raises(ValueError, match="Unknown method 'gxn'"):
            run(MethodConfig(method="gxn"))
    assert "sgat" not in METHODS
