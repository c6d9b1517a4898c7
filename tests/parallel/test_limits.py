import dataclasses

import pytest
from support.rank_jobs import directed_weighted

from sgat.config import ModelConfig, TrainConfig
from sgat.parallel.limits import check_parallel
from sgat.parallel.ranks import Ranks

DATA = directed_weighted()
WHERE = "where several processes train together"


@pytest.mark.parametrize(
    ("model", "train", "graphs", "size", "message"),
    [
        ({}, {"precision": "bfloat16"}, 1, 2, f"`precision` must be float32 {WHERE}."),
        ({}, {"device": "cuda"}, 1, 2, f"`device` must be cpu {WHERE}, got cuda."),
        (
            {"scorer": "gatv2"},
            *({}, 1, 2),
            f"`scorer` must be auto, evidence, revised or additive {WHERE}, got gatv2.",
        ),
        (
            {"gate_mode": "transductive", "scorer": "auto"},
            *({}, 1, 2, f"`gate_mode` must be inductive {WHERE}."),
        ),
        ({}, {}, 3, 2, f"There must be one graph {WHERE}, got 3."),
        (
            *({}, {}, 1, 300),
            "There must be a node for each of the 300 processes that train together,"
            " got 211.",
        ),
    ],
)
def test_a_sentence_says_what_cannot_be_done(model, train, graphs, size, message):
    settings = ModelConfig(**model), TrainConfig(**{"device": "cpu", **train})
    with pytest.raises(ValueError) as error:
        check_parallel([DATA] * graphs, *settings, Ranks(0, size))
    assert str(error.value) == message


def test_the_defaults_can_be_done():
    train = dataclasses.replace(TrainConfig(), device="cpu")
    check_parallel([DATA], ModelConfig(), train, Ranks(0, 2))
