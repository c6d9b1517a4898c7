"""The network that settings describe, its weights, and settings that do not fit."""

import re

import pytest
import torch
from support.settings import paper_model
from support.small_data import block_graph, several_graphs

from sgat.config import TrainConfig
from sgat.readouts.diffusion import DiffusionReadout
from sgat.scorers import AdditiveScorer, CosineScorer, FreeScorer
from sgat.training.fresh_model import build_sgat, fresh_model
from sgat.training.loop import fit


def test_a_config_describes_the_network():
    config = paper_model(
        hidden=5,
        heads=3,
        layers=3,
        readout="attention",
        output_heads=2,
        activation="relu",
        dropout=0.1,
        attention_dropout=0.2,
        gate_bias_start=1.5,
        bias=False,
        residual=True,
        temperature=0.66,
        gamma=-0.2,
        zeta=1.3,
        init_gain=0.5,
        backend="reference",
    )
    model = build_sgat(config, 7, 11, num_edges=127)
    first, second, last = model.convs
    assert [(conv.heads, conv.out_channels) for conv in model.convs] == [
        (3, 5),
        (3, 5),
        (2, 11),
    ]
    for conv in (first, second, last):
        assert (conv.dropout, conv.attention_dropout) == (0.1, 0.2)
        assert (conv.bias, conv.residual, conv.backend) == (None, True, "reference")
        assert conv.init_gain == 0.5
    gates = first.gates
    assert (gates.temperature, gates.gamma, gates.zeta) == (0.66, -0.2, 1.3)
    assert first.gate_bias.item() == 1.5
    assert model.activation == "relu" and model.dropout == 0.1
    without = build_sgat(paper_model(gate_bias=False), 7, 11, num_edges=127)
    assert without.gating.gate_bias is None
    free = paper_model(gate_mode="transductive")
    scorer = build_sgat(free, 7, 11, num_edges=127).gating.scorer
    assert isinstance(scorer, FreeScorer) and scorer.num_edges == 127
    assert isinstance(without.gating.scorer, AdditiveScorer)
    cosine = paper_model(scorer="cosine", rank=7, hidden=5, init_gain=2.0)
    scorer = build_sgat(cosine, 7, 11, num_edges=127).gating.scorer
    assert isinstance(scorer, CosineScorer)
    assert (scorer.channels, scorer.rank, scorer.init_gain) == (5, 7, 2.0)
    options = {"attention_dropout": 0.2, "init_gain": 0.5}
    far = paper_model(readout="diffusion", steps=7, restart=0.3, **options)
    last = build_sgat(far, 7, 11, num_edges=127).classifier
    assert isinstance(last, DiffusionReadout)
    assert (last.steps, last.restart) == (7, 0.3)
    assert (last.attention_dropout, last.init_gain) == (0.2, 0.5)
    only = paper_model(scorer="cosine", readout="attention", layers=1, hidden=5)
    assert build_sgat(only, 7, 11, num_edges=127).gating.scorer.channels == 11


@pytest.mark.parametrize("name", ["scorer", "readout"])
def test_what_is_left_to_the_data_is_refused(name):
    config = paper_model(**{name: "auto"})
    sentence = f"`{name}` must not be auto here; see `resolved`."
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        build_sgat(config, 7, 11, num_edges=127)


def test_the_seed_rules_the_weights_and_torchs_generator_stays():
    graphs, config = [block_graph()], paper_model(hidden=3)
    before = torch.get_rng_state()
    made = [
        fresh_model(config, graphs, TrainConfig(seed=seed), None).state_dict()
        for seed in (0, 0, 1)
    ]
    assert torch.equal(torch.get_rng_state(), before)
    name = "convs.0.weight"
    assert torch.equal(made[0][name], made[1][name])
    assert not torch.equal(made[0][name], made[2][name])


def test_transductive_gates_refuse_several_graphs():
    with pytest.raises(ValueError, match="`gate_mode` must be inductive"):
        fit(several_graphs(), paper_model(gate_mode="transductive"), TrainConfig())


@pytest.mark.parametrize("given", [{"keep": 0.5}, {"snapshots": 3}])
def test_another_model_has_no_gates_to_keep_a_share_or_scores_with(given):
    (name,) = given
    with pytest.raises(ValueError, match=f"`{name}` must be left out with `build`"):
        fit([block_graph()], train=TrainConfig(**given), build=lambda data: None)
