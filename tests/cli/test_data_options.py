import inspect

import pytest
import typer

from sgat.cli import data_options
from sgat.cli.data import info
from sgat.cli.fit import fit
from sgat_lab.cli.compare import compare

SHARED = {
    name: value
    for name, value in vars(data_options).items()
    if isinstance(value, typer.models.OptionInfo)
}


def test_every_option_says_what_it_is_on_one_panel_and_leaves_configs_their_say():
    assert len(SHARED) == 20
    for option in SHARED.values():
        assert option.default is None
        assert option.rich_help_panel == data_options.DATA
        assert option.help.endswith((".", "]."))


@pytest.mark.parametrize("verb", [fit, compare, info])
def test_verbs_declare_the_shared_options_and_no_copies(verb):
    taken = {
        name: parameter.default
        for name, parameter in inspect.signature(verb).parameters.items()
        if isinstance(parameter.default, typer.models.OptionInfo)
    }
    shared = {name.lower(): option for name, option in SHARED.items()}
    for name in taken.keys() & shared.keys():
        assert taken[name] is shared[name], name
    assert {"edges", "nodes", "label", "undirected"} <= taken.keys()


def test_a_further_option_is_none_unless_given():
    made = data_options.option("Panel", "What it is.", "--this/--that")
    assert made.default is None and made.param_decls == ("--this/--that",)
    assert (made.rich_help_panel, made.help) == ("Panel", "What it is.")
