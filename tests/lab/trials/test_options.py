import pytest

from sgat_lab.trials.options import Options


@pytest.mark.parametrize("quick", [False, True])
def test_what_is_named_is_chosen_even_if_it_is_large(quick):
    options = Options(only=("photo",), quick=quick)
    assert options.chosen(["cora", "photo", "texas"]) == ["photo"]


def test_a_quick_look_leaves_out_large_graphs():
    assert Options(quick=True).chosen(["cora", "photo", "texas"]) == ["cora", "texas"]
    assert Options(quick=True).chosen(["photo", "pubmed"]) == ["photo"]


def test_an_experiment_without_a_named_row_or_data_set_is_not_asked_for():
    options = Options(only=("texas", "gcn"))
    assert options.concern(["gcn", "cora"]) and options.concern(["mlp", "texas"])
    assert not options.concern(["mlp", "cora"])
    assert Options().concern([])


def test_unknown_names_are_told_with_each_known_one_once():
    with pytest.raises(ValueError, match=r"got 'kora'; known here: cora, texas\.$"):
        Options(only=("kora",)).check(["cora", "texas", "cora"])


def test_flags_are_those_of_the_command():
    assert Options().flags == []
    options = Options(runs=3, only=("texas", "gcn"), quick=True)
    assert options.flags == ["--quick", "--runs 3", "--only texas,gcn"]
