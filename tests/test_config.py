import pytest

from sgat.config import (
    Config,
    DataConfig,
    ModelConfig,
    TrainConfig,
    default_config,
    find_config,
    shipped_configs,
)


def test_toml_gives_an_equal_config_back(tmp_path):
    config = Config(
        DataConfig(
            edges='a "quoted" \\ path\x7f.csv',
            options={"label": "y", "labels": ["a", "b"], "undirected": True},
        ),
        ModelConfig(hidden=17, gate_bias=False, temperature=0.66),
        TrainConfig(keep=0.3, lr=1e-3, patience=7, seed=2**62),
    )
    path = tmp_path / "c.toml"
    path.write_text(config.to_toml(), encoding="utf-8")
    assert Config.from_toml(path) == config


def test_every_default_survives_toml(tmp_path):
    path = tmp_path / "c.toml"
    path.write_text(Config().to_toml())
    assert Config.from_toml(path) == Config()


def test_every_shipped_config_loads_and_names_its_data():
    names = shipped_configs()
    assert "tuned/karate" in names
    for name in names:
        config = find_config(name)
        assert config.data.name is not None


def test_a_data_set_without_a_config_gets_the_defaults():
    assert default_config("nothing-shipped") == Config(DataConfig("nothing-shipped"))
    assert default_config("karate").train.keep == 0.54


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[model]\nhiden = 3", "unknown key 'hiden'; did you mean 'hidden'?"),
        ("[modell]", "unknown key 'modell'; did you mean 'model'?"),
        ("[model]\nhidden = 'wide'", "`hidden` must be int, got 'wide'."),
        ("[model]\nhidden = true", "`hidden` must be int, got True."),
        ("model = 3", "`model` must be a table, got 3."),
        ("[model]\nhidden = 0", "`hidden` must be at least 1, got 0."),
        ("[model]\nrank = 65", "`rank` must be from 1 to 64, got 65."),
        (
            "[model]\nreadout = 'x'",
            "`readout` must be one of linear, attention, diffusion, beliefs, auto, got"
            " x.",
        ),
        ("[model]\nrestart = 1.5", "`restart` must be in [0, 1], got 1.5."),
        ("[model]\nsteps = -1", "`steps` must be at least 0, got -1."),
        ("[train]\nkeep = 0", "`keep` must be in (0, 1], got 0.0."),
        ("[train]\nkeep = 1.01", "`keep` must be in (0, 1], got 1.01."),
        ("[train]\nepochs = 0", "`epochs` must be at least 1, got 0."),
        ("[train]\nlr = nan", "`lr` must be positive and finite, got nan."),
        ("[train]\nl0_weight = -1e-6", "`l0_weight` must be at least 0, got -1e-06."),
        ("[train]\nseed = -1", "`seed` must be in [0, 2**63), got -1."),
        ("[train]\nwarmup = 200", "`warmup` must be at least 0 and below `epochs`"),
        ("[train]\npatience = 0", "`patience` must be at least 1, got 0."),
        ("not toml", "is not a TOML file"),
    ],
)
def test_bad_settings_are_refused_with_a_sentence(tmp_path, text, message):
    path = tmp_path / "c.toml"
    path.write_text(text)
    with pytest.raises(ValueError) as error:
        Config.from_toml(path)
    assert message in str(error.value)


def test_an_unknown_shipped_config_lists_the_known_ones():
    with pytest.raises(ValueError, match=r"Unknown config 'paper/mars'.*tuned/karate"):
        find_config("paper/mars")


def test_warmup_defaults_to_a_third_of_the_epochs_with_keep_only():
    assert TrainConfig(epochs=100).warmup_epochs == 0
    assert TrainConfig(epochs=100, keep=0.5).warmup_epochs == 30
    assert TrainConfig(epochs=100, keep=0.5, warmup=7).warmup_epochs == 7
