import numpy as np
import pytest
import torch

from sgat import SGATClassifier
from sgat.classifier_settings import to_arguments, to_config
from sgat.config import ModelConfig, TrainConfig


def config_of(**arguments):
    return to_config(SGATClassifier(**arguments).get_params())


def test_arguments_become_settings_and_settings_arguments():
    given = {"hidden": 5, "keep": 0.5, "patience": 7, "lr": 0.02, "device": "cpu"}
    more = {"model": {"activation": "relu"}, "train": {"ties": "first"}}
    config = config_of(**given, **more)
    assert config.model == ModelConfig(
        hidden=5, heads=2, scorer="auto", readout="auto", activation="relu"
    )
    assert config.train == TrainConfig(
        keep=0.5, patience=7, lr=0.02, device="cpu", ties="first"
    )
    arguments = to_arguments(config)
    assert {name: arguments[name] for name in given} == given
    assert arguments["model"]["activation"] == "relu"
    assert arguments["train"] == {"ties": "first"}
    assert config_of(**arguments) == config


def test_what_is_the_default_is_no_further_setting():
    settings = {"model": {"activation": "elu"}, "train": {"ties": TrainConfig().ties}}
    arguments = to_arguments(config_of(device="cpu", **settings))
    assert arguments["model"] is None and arguments["train"] is None


def test_a_device_that_is_not_here_becomes_any():
    assert to_arguments(config_of(device="cuda:7"))["device"] == "auto"
    assert to_arguments(config_of(device="cpu"))["device"] == "cpu"


def test_numpy_numbers_and_devices_are_settings():
    config = config_of(hidden=np.int64(5), device=torch.device("cpu"))
    assert config.model.hidden == 5 and config.train.device == "cpu"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"hidden": "8"}, "`hidden` must be a whole number, got"),
        ({"keep": "0.3"}, "`keep` must be a number, got"),
        ({"keep": 1.2}, "`keep` must be in (0, 1], got 1.2."),
        ({"train": {"epoch": 3}}, "unknown key 'epoch'; did you mean 'epochs'?"),
    ],
)
def test_bad_settings_are_one_sentence(arguments, message):
    with pytest.raises(ValueError) as error:
        config_of(**arguments)
    assert message in str(error.value)
