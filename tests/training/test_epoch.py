import copy
import dataclasses

import pytest
import torch
import torch.nn.functional as F
from support.settings import paper_model
from support.small_data import block_graph, several_graphs

from sgat.config import TrainConfig
from sgat.training import checkpoint, metrics
from sgat.training.epoch import COLUMNS, CapturedEpochs, Epochs
from sgat.training.fresh_model import build_sgat
from sgat.training.loop import Training

SMALL = paper_model(hidden=7)
DEEP = paper_model(hidden=7, readout="deep", normalisation="batch")


def prepared(config=None, graphs=None, device="cpu", network=SMALL):
    graphs = [data.to(device) for data in graphs or [block_graph()]]
    first = graphs[0]
    model = build_sgat(network, first.num_features, first.num_classes, 0)
    model.reset_parameters(torch.Generator().manual_seed(0))
    return Epochs(model.to(device), graphs, config or TrainConfig(epochs=9))


def row(epochs, number):
    return dict(zip(COLUMNS, epochs.run(number).tolist(), strict=True))


def test_an_epoch_reports_one_row_and_counts_itself():
    epochs = prepared()
    found = row(epochs, 0)
    assert 0 < found["open_share"] <= 1 and found["data_loss"] > 0
    assert found["loss"] == pytest.approx(
        found["data_loss"] + 1e-6 * found["expected_open"] * epochs.num_seen_edges
    )
    assert epochs.number.item() == 1


def test_the_best_weights_are_those_of_the_best_row():
    epochs = prepared()
    best, kept = -1.0, None
    for number in range(9):
        found = row(epochs, number)
        assert bool(found["is_best"]) == (found["val"] >= best)
        if found["is_best"]:
            best, kept = found["val"], copy.deepcopy(epochs.model.state_dict())
    assert all(torch.equal(epochs.best[name], kept[name]) for name in kept)
    assert epochs.best_val.item() == best


@pytest.mark.parametrize("metric", ["roc_auc", "average_precision", "macro_f1"])
def test_the_metric_of_the_settings_selects_the_epoch(metric):
    config = TrainConfig(epochs=9, metric=metric)
    epochs = prepared(config)
    data, model = epochs.seen[0], epochs.model
    for number in range(3):
        found = row(epochs, number)
        logits = model.eval()(data.x, data.graph)
        for role in ("train", "val"):
            mask = getattr(data, role)
            expected = metrics.score(logits[mask], data.y[mask], metric).item()
            assert found[role] == pytest.approx(expected)
    assert epochs.best_val.item() <= 1


def test_class_weights_change_the_loss_alone():
    data = block_graph()
    rare = torch.where(torch.arange(data.num_nodes) % 5 > 0, 0, data.y)
    graphs = [dataclasses.replace(data, y=rare)]
    plain, weighted = (
        prepared(TrainConfig(epochs=9, class_weights=choice), graphs)
        for choice in (False, True)
    )
    y, model = rare[data.train], copy.deepcopy(plain.model).train()
    seed = plain.seeds[0]
    logits = model.compute(data.x, data.graph, seed=seed).logits[data.train]
    weight = len(y) / (y.bincount() * 3)
    expected = F.cross_entropy(logits, y, weight).item()
    assert row(weighted, 0)["data_loss"] == pytest.approx(expected)
    assert row(plain, 0)["data_loss"] != pytest.approx(expected, rel=0.01)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"metric": "balanced_accuracy"}, "`metric` must be auto, roc_auc"),
        ({"class_weights": True}, "`class_weights` must be false where nodes"),
    ],
)
def test_settings_that_several_labels_rule_out_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        prepared(TrainConfig(epochs=9, **settings), several_graphs())


def test_a_metric_that_cannot_select_is_refused():
    data = block_graph()
    y = torch.where(data.val, 1, data.y)
    with pytest.raises(ValueError, match="where all validation nodes are of one class"):
        prepared(TrainConfig(metric="roc_auc"), [dataclasses.replace(data, y=y)])


def test_graphs_that_only_test_are_not_looked_at():
    graphs = several_graphs()
    epochs = prepared(graphs=graphs)
    assert len(epochs.seen) == 4 and len(epochs.training) == 3
    assert epochs.num_seen_edges == sum(g.graph.num_edges for g in graphs[:4])


def test_the_bias_of_evaluation_is_put_back():
    epochs = prepared(TrainConfig(epochs=9, keep=0.3))
    bias = epochs.model.gating.gate_bias
    before = bias.item()
    with torch.no_grad(), epochs.evaluation_bias(8):
        assert bias.item() != before
        data = epochs.seen[0]
        kept = epochs.model.gating.gates.is_kept(
            epochs.model.log_alpha(data.x, data.graph)
        )
        assert int(kept.sum()) == round(0.3 * data.graph.num_edges)
    assert bias.item() == before


@pytest.mark.parametrize("network", [SMALL, DEEP])
def test_bfloat16_learns_like_float32(network):
    rows = [
        [row(epochs, number)["data_loss"] for number in range(9)]
        for epochs in (
            prepared(network=network),
            prepared(TrainConfig(epochs=9, precision="bfloat16"), network=network),
        )
    ]
    assert rows[0] != rows[1]
    assert rows[0] == pytest.approx(rows[1], rel=0.05)


@pytest.mark.gpu
@pytest.mark.parametrize("network", [SMALL, DEEP])
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"keep": 0.4, "warmup": 5},
        {"metric": "roc_auc", "class_weights": True},
        {"metric": "average_precision"},
        {"metric": "macro_f1"},
        {"metric": "balanced_accuracy"},
    ],
)
def test_replayed_epochs_are_those_that_run_as_usual(settings, network):
    config = TrainConfig(epochs=12, device="cuda", **settings)
    given = {"device": "cuda", "network": network}
    usual, replayed = (prepared(config, **given) for _ in range(2))
    rows = torch.stack([usual.run(number) for number in range(12)])
    first = torch.stack([replayed.run(number) for number in range(2)])
    captured = CapturedEpochs(replayed, 10)
    again = torch.cat([first, captured.run(10)])
    assert torch.allclose(rows, again, rtol=1e-6, equal_nan=True)
    for name, tensor in usual.best.items():
        assert torch.allclose(tensor, replayed.best[name], rtol=1e-5, atol=1e-7)


@pytest.mark.gpu
# The mode itself warns that it is a prototype.
@pytest.mark.filterwarnings("ignore:Synchronization debug mode")
@pytest.mark.parametrize("network", [SMALL, DEEP])
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"keep": 0.4},
        {"precision": "bfloat16"},
        {"metric": "roc_auc", "class_weights": True},
        {"metric": "average_precision"},
        {"metric": "macro_f1"},
        {"metric": "balanced_accuracy"},
    ],
)
def test_an_epoch_never_waits_for_the_gpu(settings, network):
    config = TrainConfig(epochs=9, device="cuda", **settings)
    epochs = prepared(config, device="cuda", network=network)
    epochs.run(0)
    torch.cuda.synchronize()
    torch.cuda.set_sync_debug_mode("error")
    try:
        epochs.run(1)
    finally:
        torch.cuda.set_sync_debug_mode("default")


@pytest.mark.gpu
def test_training_on_a_gpu_replays_and_resumes_to_the_same_bits(tmp_path):
    path = tmp_path / "state.safetensors"
    config = TrainConfig(epochs=40, device="cuda", checkpoint_every=7)
    whole = Training([block_graph()], SMALL, config)
    whole.run()
    assert whole._captured is not None
    part = Training([block_graph()], SMALL, config)
    while part.epoch < 14:
        part.run_epochs(7 - part.epoch % 7)
    checkpoint.save(part, path)
    rest = Training([block_graph()], SMALL, config)
    rest.run(checkpoint_path=path, resume=True)
    for name, tensor in whole.selected_model().state_dict().items():
        assert torch.equal(tensor, rest.selected_model().state_dict()[name])
