import os
import tomllib
from pathlib import Path

import pytest

from sgat.config import Config, DataConfig, FileOptions, ModelConfig, TrainConfig
from sgat.config.sections import toml_value

SECTIONS = [DataConfig, FileOptions, ModelConfig, TrainConfig]


def test_toml_gives_an_equal_config_back(tmp_path):
    config = Config(
        DataConfig(
            edges='a "quoted" \\ path\x7f.csv',
            files=FileOptions(labels=("a", "b"), features=(), undirected=True),
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


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[model]\nhiden = 3", "unknown key 'hiden'; did you mean 'hidden'?"),
        ("[modell]", "unknown key 'modell'; did you mean 'model'?"),
        ("[model]\nhidden = 'wide'", "[model]: `hidden` must be a whole number, got"),
        ("a" + ". 'a'" * 10**5 + " = 1", "lists or tables are nested too deeply."),
        ("a = " + "[" * 10**5, "lists or tables are nested too deeply."),
        ("model = 3", "`model` must be a table, got 3."),
        ("[model]\nhidden = 0", "`hidden` must be from 1 to 1048576, got 0."),
        ("[model]\nlayers = 0", "`layers` must be at least 1, or 0 with the read-out"),
        ("[model]\nrank = 65", "`rank` must be from 1 to 64, got 65."),
        (
            "[model]\nreadout = 'x'",
            "`readout` must be one of linear, attention, diffusion, beliefs, deep,"
            " auto, got 'x'.",
        ),
        ("[model]\nrestart = 1.5", "`restart` must be in [0, 1], got 1.5."),
        ("[model]\nsteps = -1", "`steps` must be from 0 to 1000, got -1."),
        ("[model]\ndropout = 1.0", "`dropout` must be in [0, 1), got 1.0."),
        ("[train]\nkeep = 0", "`keep` must be in (0, 1], got 0."),
        ("[train]\nkeep = 1.01", "`keep` must be in (0, 1], got 1.01."),
        ("[train]\nepochs = 0", "`epochs` must be at least 1 and below 2**63, got 0."),
        ("[train]\nlr = nan", "`lr` must be positive and finite, got nan."),
        (
            '[data]\nedges = "e\\u0000"',
            r"`edges` must hold no NUL, got 'e\x00'.",
        ),
        ("[model]\nzeta = nan", "`zeta` must be finite, got nan."),
        (
            "[model]\ninit_gain = inf",
            "`init_gain` must be in [0, 1e6], got inf.",
        ),
        (
            "[model]\ninit_gain = -0.5",
            "`init_gain` must be in [0, 1e6], got -0.5.",
        ),
        (
            "[train]\nl0_weight = -1e-6",
            "`l0_weight` must be at least 0 and finite, got",
        ),
        ("[train]\nseed = -1", "`seed` must be in [0, 2**63), got -1."),
        ("[train]\nwarmup = 200", "`warmup` must be at least 0 and below `epochs`"),
        (
            "[train]\npatience = -1",
            "`patience` must be at least 0 and below 2**63, got -1.",
        ),
        ("[train]\nepochs = " + "1" * 10**5, "a number has too many digits."),
        ("not toml", "is not a TOML file"),
    ],
)
def test_bad_settings_are_refused_with_a_sentence(tmp_path, text, message):
    path = tmp_path / "c.toml"
    path.write_text(text)
    with pytest.raises(ValueError) as error:
        Config.from_toml(path)
    assert str(path) in str(error.value) and message in str(error.value)


def test_settings_are_read_from_nothing_but_a_file(tmp_path):
    pipe = tmp_path / "c.toml"
    os.mkfifo(pipe)
    for path in (pipe, Path("/dev/zero"), tmp_path):
        with pytest.raises(ValueError, match="must be a file, not a pipe, device or"):
            Config.from_toml(path)


def test_beliefs_need_no_layer():
    assert ModelConfig(layers=0, readout="beliefs").layers == 0


def test_warmup_defaults_to_a_third_of_the_epochs_with_keep_only():
    assert TrainConfig(epochs=100).warmup_epochs == 0
    assert TrainConfig(epochs=100, keep=0.5).warmup_epochs == 30
    assert TrainConfig(epochs=100, keep=0.5, warmup=7).warmup_epochs == 7


@pytest.mark.parametrize("section", SECTIONS)
def test_defaults_are_of_their_types(section):
    for name, setting in section.declared().items():
        default = getattr(section(), name)
        checked = setting.checked(name, default)
        assert checked == default and type(checked) is type(default), name


def test_some_entries_can_be_replaced():
    config = Config().replace(train={"seed": 1}, model={"heads": 5})
    assert config.train == TrainConfig(seed=1) and config.model == ModelConfig(heads=5)
    with pytest.raises(ValueError, match="`heads` must be from 1 to 1048576"):
        config.replace(model={"heads": 0})


@pytest.mark.parametrize("section", SECTIONS)
def test_help_names_every_choice_and_no_setting_that_does_not_exist(section):
    every = {name for part in SECTIONS for name in part.declared()}
    for name, setting in section.declared().items():
        if name == "files":
            continue
        assert setting.help.endswith((".", "…")), name
        assert all(choice in setting.help for choice in setting.choices), name
        named = set(setting.help.split("`")[1::2]) - {"sgat data list"}
        assert named <= every, name


@pytest.mark.parametrize(
    "value",
    [
        *('a "quoted" \\ path\x7f.csv', "", "tab\there", "λ", 3, -1.5, 2 / 3, True),
        *(float("inf"), [], ["a", "b"], {"a": 1, "b c": ["x", False]}),
    ],
)
def test_what_is_written_is_read_back(value):
    assert tomllib.loads(f"key = {toml_value(value)}")["key"] == value


def test_a_tuple_is_written_as_a_list():
    assert toml_value(("a", 1)) == '["a", 1]'


def test_settings_of_any_size_are_not_read(tmp_path):
    path = tmp_path / "c.toml"
    with path.open("wb") as file:
        file.truncate(1 << 31)  # takes no room on the disk
    with pytest.raises(ValueError, match=r"c\.toml: must be a file of 4,194,304 bytes"):
        Config.from_toml(path)
