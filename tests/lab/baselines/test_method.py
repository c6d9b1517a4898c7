import pytest
from support.small_data import block_graph

from sgat_lab.baselines import METHODS, find_method, fit, prepare
from sgat_lab.baselines.method import Method
from sgat_lab.config import MethodConfig

MADE = Method(object, defaults={"rate": 0.5, "steps": 3, "samples": [25, 10]})


def made(**options) -> MethodConfig:
    return MethodConfig(method="made", options=options)


class Named:
    def __init__(self, *sizes, heads=1, dropout=0.0):
        self.given = sizes, heads, dropout


class Wider(Named):
    def __init__(self, *sizes, rate=0.0, **options):
        super().__init__(*sizes, **options)
        self.rate = rate


def test_a_network_gets_the_settings_and_options_that_it_has_arguments_for():
    defaults = {"rate": 0.5, "steps": 3, "dropout": 0.25}
    config, data = MethodConfig(hidden=7, heads=5, dropout=0.5), block_graph()
    model = Method(Wider, defaults=defaults).build(config, data)
    sizes = data.num_features, 7, data.num_classes
    assert (model.given, model.rate) == ((sizes, 5, 0.25), 0.5)


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
