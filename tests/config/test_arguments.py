import inspect

import numpy as np
import pytest

from sgat import SGATClassifier
from sgat.config import Config, ModelConfig, TrainConfig
from sgat.config.arguments import from_arguments, to_arguments

NAMES = ("hidden", "keep", "lr", "device", "model", "train")


def config_of(**arguments):
    return from_arguments({"model": None, "train": None, **arguments})


def test_arguments_become_settings_and_settings_arguments():
    given = {"hidden": 5, "keep": 0.5, "lr": 0.02, "device": "cpu"}
    more = {"model": {"activation": "relu"}, "train": {"ties": "first"}}
    config = config_of(**given, **more)
    assert config.model == ModelConfig(hidden=5, activation="relu")
    assert config.train == TrainConfig(keep=0.5, lr=0.02, device="cpu", ties="first")
    assert to_arguments(config, NAMES) == {**given, **more}
    assert config_of(**to_arguments(config, NAMES)) == config


def test_what_is_the_default_is_no_further_setting():
    settings = {"model": {"activation": "elu"}, "train": {"ties": TrainConfig().ties}}
    arguments = to_arguments(config_of(**settings), NAMES)
    assert arguments["model"] is None and arguments["train"] is None


def test_none_is_the_default_and_others_are_left_alone():
    assert config_of(hidden=None, lr=None, validation=0.2) == Config()
    assert config_of(hidden=np.int64(5)).model.hidden == 5


def test_the_arguments_of_the_classifier_have_the_defaults_of_the_settings():
    parameters = inspect.signature(SGATClassifier).parameters
    arguments = {name: parameter.default for name, parameter in parameters.items()}
    assert from_arguments(arguments) == Config()
    known = {*ModelConfig.declared(), *TrainConfig.declared()}
    others = {"validation", "model", "train", "graph", "verbose"}
    assert arguments.keys() - known == others


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"hidden": "8"}, "SGATClassifier: `hidden` must be a whole number, got '8'."),
        ({"keep": "0.3"}, "SGATClassifier: `keep` must be a number, got '0.3'."),
        ({"keep": 1.2}, "SGATClassifier: `keep` must be in (0, 1], got 1.2."),
        (
            {"train": {"epoch": 3}},
            "SGATClassifier: unknown key 'epoch'; did you mean 'epochs'?",
        ),
    ],
)
def test_bad_settings_are_one_sentence(arguments, message):
    with pytest.raises(ValueError) as error:
        config_of(**arguments)
    assert str(error.value) == message
