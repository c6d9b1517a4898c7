import pytest

from sgat.config import Config, DataConfig, ModelConfig, find_config, shipped_configs
from sgat_lab.config import LabConfig, MadeDataConfig, MethodConfig


def test_a_config_of_the_library_stays_what_it_says():
    given = find_config("tuned/karate")
    found = LabConfig.from_config(given)
    assert found.model.method == "sgat" and found.model.options == {}
    for name in ModelConfig.declared():
        assert getattr(found.model, name) == getattr(given.model, name)
    assert (found.data.name, vars(found.train)) == (given.data.name, vars(given.train))


def test_the_lab_and_what_is_shipped_train_for_all_epochs():
    assert Config().train.patience > 0 == LabConfig().train.patience
    assert LabConfig.from_dict({"train": {"epochs": 3}}).train.patience == 0
    names = shipped_configs()
    assert len(names) > 10
    assert {find_config(name).train.patience for name in names} == {0}


def test_a_method_is_part_of_a_file_and_of_what_it_is_replaced_by():
    content = {"model": {"method": "gcn", "options": {"a": 1}}, "data": {"name": "x"}}
    config = LabConfig.from_dict(content).replace(model={"hidden": 5})
    assert config.model == MethodConfig(method="gcn", options={"a": 1}, hidden=5)
    assert config.data == MadeDataConfig(name="x")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"model": {"methode": "gcn"}}, "unknown key 'methode'; did you mean 'method'"),
        ({"model": {"method": 3}}, "`method` must be a string, got 3"),
        ({"data": {"options": 3}}, "`options` must be a table, got 3"),
    ],
)
def test_bad_entries_are_refused_as_in_the_library(content, message):
    with pytest.raises(ValueError, match=message):
        LabConfig.from_dict(content)


def test_the_library_knows_no_methods():
    assert "method" not in ModelConfig.declared()
    with pytest.raises(ValueError, match="unknown key 'method'"):
        Config.from_dict({"model": {"method": "gcn"}})
    assert DataConfig() != MadeDataConfig(), "of another class"
