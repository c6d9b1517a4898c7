import pytest

from sgat.config import Config, DataConfig, default_config, find_config, shipped_configs


def test_every_shipped_config_loads_and_names_its_data():
    names = shipped_configs()
    assert len(names) == 15
    for name in names:
        folder, data = name.split("/")
        assert folder in ("paper", "tuned")
        assert find_config(name).data.name == data


def test_a_file_is_found_by_its_path(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text("[train]\nepochs = 3\n")
    assert find_config(str(path)).train.epochs == 3


def test_a_data_set_without_a_config_gets_the_defaults():
    assert default_config("nothing-shipped") == Config(DataConfig("nothing-shipped"))
    assert default_config("karate").train.keep == 0.54


@pytest.mark.parametrize("name", ["paper/mars", "../config/paper/cora", ""])
def test_an_unknown_config_lists_the_known_ones(name):
    with pytest.raises(ValueError, match=r"Unknown config '.*'.*tuned/karate"):
        find_config(name)
