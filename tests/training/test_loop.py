import dataclasses
import math
import os
import signal
import threading

import pytest
import torch
from support.settings import paper_model
from support.small_data import block_graph, several_graphs

from sgat.config import TrainConfig, find_config
from sgat.data.named import load_karate
from sgat.graph import Graph
from sgat.ops import noise
from sgat.training import checkpoint, files
from sgat.training.loop import Training, fit
from sgat_lab.trials.evaluation import evaluate

SMALL = paper_model(hidden=7)


def weights(result):
    return result.model.state_dict()


def same_weights(a, b):
    return all(
        torch.equal(value, weights(b)[name]) for name, value in weights(a).items()
    )


def timeless(records):
    return [{k: v for k, v in vars(r).items() if k != "seconds"} for r in records]


def test_training_learns_the_classes():
    data = [block_graph(feature_signal=2.0)]
    result = fit(data, SMALL, TrainConfig(epochs=40))
    (test,) = evaluate(result.model, data, ["test"])
    assert test.score > 0.9
    assert result.records[-1].data_loss < result.records[0].data_loss


def test_the_same_seed_gives_the_same_bits():
    settings = TrainConfig(epochs=6, seed=5, keep=0.5)
    first, second = (fit([block_graph()], SMALL, settings) for _ in range(2))
    assert same_weights(first, second)
    assert timeless(first.records) == timeless(second.records)


def test_another_seed_gives_another_model():
    first, second = (
        fit([block_graph()], SMALL, TrainConfig(epochs=3, seed=seed)) for seed in (0, 1)
    )
    assert not same_weights(first, second)


@pytest.mark.parametrize(
    "settings",
    [
        {"keep": 0.4},
        {"l0_weight": 1e-3, "warmup": 3},
        {"metric": "average_precision", "class_weights": True},
    ],
)
def test_resuming_after_a_kill_ends_with_the_same_bits(tmp_path, settings, seed):
    path = tmp_path / "state.safetensors"
    train = TrainConfig(epochs=11, checkpoint_every=2, snapshots=3, **settings)
    whole = fit([block_graph()], SMALL, train)
    killed_at = 3 + seed % 7

    class KilledError(Exception):
        pass

    def kill(record):
        if record.epoch == killed_at:
            raise KilledError

    with pytest.raises(KilledError):
        fit([block_graph()], SMALL, train, checkpoint_path=path, on_epoch=kill)
    # What happens to torch's own generator in between must not matter.
    torch.manual_seed(12345)
    resumed = fit([block_graph()], SMALL, train, checkpoint_path=path, resume=True)
    assert same_weights(resumed, whole)
    assert timeless(resumed.records) == timeless(whole.records)
    assert resumed.calibration == whole.calibration
    assert whole.calibration.temperature == whole.model.class_temperature != 1
    assert [s.epoch for s in resumed.snapshots] == [s.epoch for s in whole.snapshots]
    for mine, theirs in zip(resumed.snapshots, whole.snapshots, strict=True):
        assert torch.equal(mine.log_alpha, theirs.log_alpha)


def test_a_run_does_not_go_on_with_other_data(tmp_path):
    path = tmp_path / "state.safetensors"
    train = TrainConfig(epochs=2)
    fit([block_graph()], SMALL, train, checkpoint_path=path)
    with pytest.raises(ValueError, match="The data has changed since"):
        fit([block_graph(seed=2)], SMALL, train, checkpoint_path=path, resume=True)


@pytest.mark.parametrize("written", [None, 1, files.MODEL_FORMAT])
def test_a_run_of_another_format_does_not_go_on(written, tmp_path):
    path, model = tmp_path / "state.safetensors", paper_model(hidden=3)
    fit([block_graph()], model, TrainConfig(epochs=1), checkpoint_path=path)
    tensors, state = files.load_tensors(path)
    assert state.pop("format") == files.MODEL_FORMAT
    if written is not None:
        state["format"] = written
    files.save_tensors(path, tensors, state)
    training = Training([block_graph()], model, TrainConfig(epochs=2))
    if written == files.MODEL_FORMAT:
        checkpoint.restore(training, path)
        assert training.epoch == 1
        return
    with pytest.raises(ValueError) as error:
        checkpoint.restore(training, path)
    assert str(error.value) == (
        f"{path} was written by another version of sgat (format {written}, not"
        f" {files.MODEL_FORMAT}); start anew without `resume`."
    )
    assert training.epoch == 0


def test_interrupting_leaves_a_resumable_run(tmp_path):
    path = tmp_path / "state.safetensors"
    train = TrainConfig(epochs=9, checkpoint_every=100)

    def interrupt(record):
        if record.epoch == 4:
            os.kill(os.getpid(), signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    stopped = fit(
        [block_graph()], SMALL, train, checkpoint_path=path, on_epoch=interrupt
    )
    assert stopped.interrupted
    assert signal.getsignal(signal.SIGINT) is before
    # The request comes after epoch 4 was recorded; it ends the epoch then under way.
    assert len(stopped.records) in (4, 5)
    resumed = fit([block_graph()], SMALL, train, checkpoint_path=path, resume=True)
    assert not resumed.interrupted
    assert same_weights(resumed, fit([block_graph()], SMALL, train))


def test_training_works_outside_the_main_thread():
    results = []

    def work():
        results.append(fit([block_graph()], SMALL, TrainConfig(epochs=2)))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert len(results[0].records) == 2


def test_the_model_of_the_best_validation_is_selected_latest_of_equals():
    data = [block_graph()]
    for ties, pick in (("latest", max), ("first", min)):
        result = fit(data, SMALL, TrainConfig(epochs=15, ties=ties))
        scores = {record.epoch: record.val for record in result.records}
        best = max(scores.values())
        assert result.best_epoch == pick(e for e, v in scores.items() if v == best)
        (val,) = evaluate(result.model, data, ["val"])
        assert val.score == best


def test_without_validation_nodes_the_last_model_is_taken():
    result = fit([load_karate()], SMALL, TrainConfig(epochs=4))
    assert result.best_epoch == 4
    assert result.records[0].val is None


def test_patience_stops_early():
    result = fit([block_graph()], SMALL, TrainConfig(epochs=500, patience=3))
    assert len(result.records) < 500
    assert not result.interrupted


def test_a_higher_penalty_removes_more_edges():
    data = [block_graph()]
    shares = [
        fit(data, SMALL, TrainConfig(epochs=60, l0_weight=price)).records[-1].kept_share
        for price in (0.0, 1e-2)
    ]
    assert shares[0] > shares[1]


def test_the_penalty_warms_up_linearly():
    train = TrainConfig(epochs=6, warmup=4, l0_weight=1.0)
    prices = [record.price for record in fit([block_graph()], SMALL, train).records]
    assert prices == pytest.approx([0.2, 0.4, 0.6, 0.8, 1.0, 1.0])


@pytest.mark.parametrize(
    ("gate_mode", "keep"),
    [
        *(("inductive", keep) for keep in (0.1, 0.5, 0.9)),
        *(("transductive", keep) for keep in (0.1, 0.9)),
        # Each takes seconds; these three are between those above.
        pytest.param("inductive", 0.3, marks=pytest.mark.slow),
        pytest.param("transductive", 0.3, marks=pytest.mark.slow),
        pytest.param("transductive", 0.5, marks=pytest.mark.slow),
    ],
)
def test_keep_is_met_on_a_noisy_graph(keep, gate_mode):
    data = [block_graph(noise_rate=0.5)]
    model = paper_model(hidden=7, gate_mode=gate_mode)
    result = fit(data, model, TrainConfig(epochs=60, keep=keep))
    last = result.records[-1]
    assert abs(result.best.kept_share - keep) <= 0.02
    assert abs(last.kept_share - keep) <= 0.02
    # Feature dropout moves the scores of single epochs; their mean holds the target.
    expected = [record.expected_open for record in result.records[-20:]]
    assert abs(sum(expected) / len(expected) - keep) <= 0.03
    graph = data[0].graph
    kept = result.model.gating.gates.is_kept(result.model.log_alpha(data[0].x, graph))
    assert float(kept.double().mean()) == result.best.kept_share


# Seconds each; fast tests show the same of small noisy graphs.
@pytest.mark.promise
@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_keep_is_met_on_cora(benchmarks, seed):
    from sgat.data import load

    data = load("cora", root=benchmarks)
    result = fit(data, paper_model(), TrainConfig(epochs=100, keep=0.3, seed=seed))
    assert abs(result.best.kept_share - 0.3) <= 0.02
    assert abs(result.records[-1].expected_open - 0.3) <= 0.02


def test_keeping_everything_removes_nothing():
    result = fit([block_graph()], SMALL, TrainConfig(epochs=10, keep=1.0))
    assert result.best.kept_share == 1.0


def test_no_model_is_selected_before_the_share_has_come_down():
    train = TrainConfig(epochs=20, keep=0.3, warmup=15)
    result = fit([block_graph()], SMALL, train)
    assert result.best_epoch > 15


def test_several_graphs_train_in_batches_and_are_scored_by_micro_f1():
    graphs = several_graphs()
    result = fit(graphs, SMALL, TrainConfig(epochs=12, batch_size=2))
    assert 0 < result.best.val <= 1
    assert result.records[-1].data_loss < result.records[0].data_loss
    (test,) = evaluate(result.model, graphs, ["test"])
    assert 0 < test.score <= 1


def test_a_graph_draws_the_same_noise_in_every_batch():
    training = Training(several_graphs(), SMALL, TrainConfig())
    first, second = (data.graph for data in training.graphs[:2])
    both, alone = Graph.merge([first, second]), Graph.merge([second])
    together = noise.edge_uniform(3, both, noise.GATES)[first.num_edges :]
    assert torch.equal(together, noise.edge_uniform(3, alone, noise.GATES))
    assert not torch.equal(
        noise.edge_uniform(3, first, noise.GATES)[:50], together[:50]
    )


def test_snapshots_are_kept_from_the_first_to_the_last_epoch():
    result = fit([block_graph()], SMALL, TrainConfig(epochs=10, snapshots=4))
    epochs = [snapshot.epoch for snapshot in result.snapshots]
    assert epochs[0] == 1 and epochs[-1] == 10 and len(epochs) == 4
    data = block_graph()
    assert result.snapshots[0].log_alpha.shape == (data.graph.num_edges,)
    assert result.snapshots[0].logits.shape == (data.num_nodes, 3)


def test_a_graph_without_edges_can_be_trained_on():
    data = block_graph()
    empty = Graph.from_edges(torch.empty(2, 0, dtype=torch.long), data.num_nodes)
    bare = dataclasses.replace(data, graph=empty)
    for keep in (None, 0.5):
        result = fit([bare], SMALL, TrainConfig(epochs=2, keep=keep))
        assert result.records[-1].kept_share == 0.0


def test_diverging_training_says_so():
    with pytest.raises(ValueError, match=r"Training diverged: .* epoch 1.*lower `lr`"):
        fit([block_graph()], SMALL, TrainConfig(epochs=3, lr=1e38))


@pytest.mark.parametrize("select", ["best", "last"])
def test_the_last_good_model_survives_a_loss_that_is_no_number(
    select, tmp_path, caplog
):
    config = TrainConfig(epochs=9, select=select, checkpoint_every=2)
    path = tmp_path / "state.safetensors"
    whole = Training([block_graph()], SMALL, dataclasses.replace(config, epochs=3))
    expected = whole.run()
    training = Training([block_graph()], SMALL, config)
    for _ in range(3):
        training.run_epochs()
    name, weight = next(iter(training.model.named_parameters()))
    with torch.no_grad():
        weight.view(-1)[0] = torch.nan
    result = training.run(checkpoint_path=path)
    assert not result.interrupted and len(result.records) == 3
    assert result.best_epoch == expected.best_epoch
    for key, found in result.model.state_dict().items():
        assert torch.equal(found, expected.model.state_dict()[key])
    assert f"in epoch 4, and the gradient of {name} is not finite" in caplog.text
    assert not path.exists()


def test_weights_too_small_for_float32_count_as_nothing():
    data = block_graph()
    graph = dataclasses.replace(
        data.graph, weight=torch.full((data.graph.num_edges,), 1e-39)
    )
    small = Graph.from_edges(graph.edge_index, data.num_nodes, graph.weight)
    assert not small.edge_weight.any()
    result = fit([dataclasses.replace(data, graph=small)], SMALL, TrainConfig(epochs=2))
    assert math.isfinite(result.records[-1].loss)


@pytest.mark.parametrize(
    ("model", "train", "message"),
    [
        ({"gate_bias": False}, {"keep": 0.5}, "`gate_bias` must be true with `keep`"),
        (
            {"scorer": "auto"},
            {"l0_weight": 0.1},
            "`l0_weight` must be left out where gates go by evidence, which no price"
            " moves, got 0.1; use `keep`, or the scorer additive.",
        ),
        (
            {},
            {"device": "abacus"},
            "`device` must be one that works here, got 'abacus'",
        ),
    ],
)
def test_settings_that_contradict_each_other_are_refused(model, train, message):
    with pytest.raises(ValueError) as error:
        fit([block_graph()], paper_model(**model), TrainConfig(**train))
    assert message in str(error.value)


def test_the_papers_ppi_settings_train_on_graphs_of_its_shape():
    config = find_config("paper/ppi")
    model = dataclasses.replace(config.model, hidden=8)
    train = dataclasses.replace(config.train, epochs=3, device="cpu")
    result = fit(several_graphs(), model, train)
    assert len(result.records) == 3
    assert result.records[-1].data_loss < result.records[0].data_loss
