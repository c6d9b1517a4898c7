"""The read-out with depth: its formula, its gradients, and what it remembers."""

import math

import pytest
import torch
import torch.nn.functional as F
from support.awkward import GRAPHS
from support.covering import covering
from support.settings import paper_model
from support.small_data import block_graph, several_graphs
from torch import Tensor

import sgat
from sgat import SGAT, ops
from sgat.config import TrainConfig
from sgat.graph import Graph
from sgat.ops import OpenEdges, noise
from sgat.readouts.deep import DeepReadout
from sgat.training import checkpoint
from sgat.training.loop import Training, fit

D, C, LAYERS = 5, 3, 2
NORMS = ["none", "layer", "batch"]


def opened_edges(graph: Graph, *, backend: str = "reference", dtype=torch.float64):
    """Gates of evaluation, some open, some half open and some closed."""
    generator = torch.Generator().manual_seed(7)
    score = torch.randn(graph.num_edges, generator=generator, dtype=dtype) * 3
    zero = torch.zeros(graph.num_nodes, dtype=dtype)
    return ops.open_edges(graph, zero, zero, score, backend=backend)


def readout(layers: int = LAYERS, **options) -> DeepReadout:
    """A read-out of which no number is 0 or 1."""
    found = DeepReadout(D, C, layers, **options).double()
    for part in found.parameters():
        torch.nn.init.normal_(part)
    if found.normalisation == "batch":
        found.mean.normal_()
        found.variance.uniform_(0.5, 2)
    return found


def attention(opened: OpenEdges) -> Tensor:
    """a_ij of open edges and loops, [N, N]."""
    graph = opened.graph
    matrix = torch.diag(graph.loop_weights.double())
    src, dst = graph.edge_index
    weight = opened.gate.double() * graph.edge_weight.double()[opened.edge]
    matrix[dst[opened.edge], src[opened.edge]] = weight
    total = matrix.sum(dim=1, keepdim=True)
    return matrix / torch.where(total > 0, total, 1)


def by_hand(module: DeepReadout, h: Tensor, a: Tensor, *, training: bool) -> Tensor:
    for layer in range(module.reach):
        w, s = module.layer_weight[layer].split(D, dim=1)
        h = a @ (h @ w) + h @ s
        if module.layer_bias is not None:
            h = h + module.layer_bias[layer]
        if module.normalisation != "none":
            axis = 1 if module.normalisation == "layer" else 0
            mean = h.mean(axis, keepdim=True)
            spread = h.var(axis, unbiased=False, keepdim=True)
            if module.normalisation == "batch" and not (training and len(h) > 1):
                mean, spread = module.mean[layer], module.variance[layer]
            h = (h - mean) / (spread + 1e-5).sqrt()
            h = h * module.norm_scale[layer] + module.norm_bias[layer]
        h = F.elu(h)
    return h @ module.weight + module.bias


@covering(
    {
        "name": list(GRAPHS),
        "backend": ["reference", "cpu"],
        "normalisation": NORMS,
        "training": [False, True],
        "layers": [1, 2, 16],
    }
)
def test_the_logits_are_those_of_the_formula(
    name: str, backend: str, normalisation: str, training: bool, layers: int, seed: int
):
    graph = GRAPHS[name]()
    opened = opened_edges(graph, backend=backend)
    module = readout(layers, normalisation=normalisation)
    torch.nn.init.normal_(module.layer_weight, std=0.3)
    own = torch.randn(graph.num_nodes, D, dtype=torch.float64)
    expected = by_hand(module, own, attention(opened), training=training)
    logits, hidden = module.train(training)(own, opened)
    torch.testing.assert_close(logits, expected, rtol=1e-5, atol=1e-5)
    assert torch.allclose(hidden @ module.weight + module.bias, logits)
    assert module.reach == layers


@pytest.mark.parametrize("normalisation", NORMS)
def test_gradients_are_those_of_differences(normalisation: str, seed: int):
    graph = GRAPHS["random undirected"]()
    module = readout(normalisation=normalisation)
    own = torch.randn(graph.num_nodes, D, dtype=torch.float64, requires_grad=True)
    score = torch.randn(graph.num_edges, dtype=torch.float64, requires_grad=True)
    zero = torch.zeros(graph.num_nodes, dtype=torch.float64)
    names = [name for name, _ in module.named_parameters()]

    def logits(own: Tensor, score: Tensor, *parts: Tensor) -> Tensor:
        opened = ops.open_edges(graph, zero, zero, score, backend="reference")
        given = dict(zip(names, parts, strict=True))
        return torch.func.functional_call(module, given, (own, opened))[0]

    inputs = (own, score, *module.parameters())
    assert torch.autograd.gradcheck(logits, inputs, fast_mode=True)


@pytest.mark.parametrize("normalisation", NORMS)
def test_backends_drop_alike_and_give_the_same_gradients(normalisation: str, seed: int):
    graph = GRAPHS["random directed"]()
    x = torch.randn(graph.num_nodes, 7, dtype=torch.float64)
    options = {"heads": 2, "layers": 3, "readout": "deep", "gate_bias": 0.0}
    found = []
    for backend in ("reference", "cpu"):
        torch.manual_seed(seed)
        model = SGAT(
            7, D, C, normalisation=normalisation, backend=backend, **options
        ).double()
        output = model.compute(x, graph, seed=seed)
        (output.logits.square().sum() + output.opened.penalty).backward()
        found.append([output.logits, *(part.grad for part in model.parameters())])
    assert len(found[0]) > 8
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other)


def test_every_projection_drops_other_features(seed: int):
    graph = GRAPHS["random directed"]()
    opened = opened_edges(graph)
    module = readout(dropout=0.5, normalisation="none")
    own = torch.randn(graph.num_nodes, D, dtype=torch.float64)

    def dropped(h: Tensor, layer: int) -> Tensor:
        node, stream = graph.noise_id, noise.FEATURE_DROPOUT + layer
        return h * noise.dense_feature_mask(seed, node, D, stream, rate=0.5)

    h, a = own, attention(opened)
    for layer in range(LAYERS):
        h = dropped(h, layer + 1)
        w, s = module.layer_weight[layer].split(D, dim=1)
        h = F.elu(a @ (h @ w) + h @ s + module.layer_bias[layer])
    expected = dropped(h, LAYERS + 1) @ module.weight + module.bias
    torch.testing.assert_close(module(own, opened, seed=seed)[0], expected)


def test_every_layer_drops_other_coefficients(seed: int):
    graph = GRAPHS["random undirected"]()
    opened = ops.all_open(graph, dtype=torch.float64)
    module = readout(attention_dropout=0.5, normalisation="none", bias=False)
    own = torch.randn(graph.num_nodes, D, dtype=torch.float64)
    h = own
    for layer in range(LAYERS):
        w, s = module.layer_weight[layer].split(D, dim=1)
        options = {"dropout": 0.5, "seed": seed, "layer": layer + 1}
        h = F.elu(ops.aggregate(opened, h @ w, **options) + h @ s)
    found = module(own, opened, seed=seed)[0]
    torch.testing.assert_close(found, h @ module.weight + module.bias)
    assert module.layer_bias is None


@pytest.mark.parametrize("normalisation", NORMS)
def test_with_all_gates_closed_it_is_a_perceptron_of_both_paths(
    normalisation: str, seed: int
):
    graph = GRAPHS["random directed"]()
    far = torch.full((graph.num_nodes,), -50.0, dtype=torch.float64)
    own = torch.randn(graph.num_nodes, D, dtype=torch.float64)
    module = readout(normalisation=normalisation).eval()
    alone = torch.eye(graph.num_nodes, dtype=torch.float64)
    expected = by_hand(module, own, alone, training=False)
    for backend in ("reference", "cpu"):
        closed = ops.open_edges(graph, far, far, backend=backend)
        assert int(closed.num_open) == 0
        torch.testing.assert_close(module(own, closed)[0], expected)


@pytest.mark.parametrize("layers", [1, 2, 5])
def test_a_node_receives_from_as_far_as_there_are_layers(layers: int, seed: int):
    opened = ops.all_open(GRAPHS["chain"](), dtype=torch.float64)
    module = readout(layers).eval()
    own = torch.randn(11, D, dtype=torch.float64)
    changed = own.clone()
    changed[3] += torch.randn(D, dtype=torch.float64)
    difference = module(changed, opened)[0] - module(own, opened)[0]
    moved = difference.abs().amax(dim=1) > 1e-12
    assert moved.nonzero()[:, 0].tolist() == list(range(3, 3 + layers + 1))


def test_the_model_begins_with_each_node_by_itself(seed: int):
    graph = GRAPHS["random directed"]()
    x = torch.randn(graph.num_nodes, 7, dtype=torch.float64)
    model = SGAT(7, D, C, heads=1, layers=LAYERS, readout="deep").double().eval()
    torch.nn.init.normal_(model.gating.bias)
    logits, embedding, opened, *_ = model.compute(x, graph)
    own = F.elu(x @ model.gating.weight + model.gating.bias)
    expected = by_hand(model.classifier, own, attention(opened), training=False)
    torch.testing.assert_close(logits, expected)
    # The last bit of a product depends on where its arrays lie in memory.
    torch.testing.assert_close(embedding, model.classifier(own, opened)[1])
    assert len(model.convs) == 1 and model.reach == LAYERS and model.uses_attention
    wide = SGAT(7, D, C, heads=3, readout="deep", dropout=0.3, attention_dropout=0.2)
    assert wide.classifier.weight.shape == (3 * D, C)
    assert (wide.classifier.dropout, wide.classifier.attention_dropout) == (0.3, 0.2)


def test_means_over_the_nodes_are_kept_for_evaluation(seed: int):
    graph = GRAPHS["random directed"]()
    module = readout(1, normalisation="batch")
    module.reset_parameters()
    own = torch.randn(graph.num_nodes, D, dtype=torch.float64)
    opened = opened_edges(graph)
    w, s = module.layer_weight[0].split(D, dim=1)
    h = attention(opened) @ (own @ w) + own @ s
    module(own, opened)
    assert torch.allclose(module.mean[0], 0.1 * h.mean(0))
    assert torch.allclose(module.variance[0], 0.9 + 0.1 * h.var(0))
    before = module.mean.clone()
    module.eval()(own, opened)
    assert torch.equal(module.mean, before)
    assert {"mean", "variance"} < set(module.state_dict())
    module.reset_parameters()
    assert not module.mean.any() and bool((module.variance == 1).all())


def test_the_means_of_the_selected_epoch_come_with_its_weights(tmp_path):
    data, model = block_graph(), paper_model(readout="deep", normalisation="batch")
    config = TrainConfig(epochs=6, device="cpu")
    training = Training([data], model, config)
    history = []
    while not training.is_done:
        training.run_epochs()
        history.append(training.model.classifier.mean.clone())
    kept = training.selected_model().classifier.mean
    assert torch.equal(kept, history[training.best_epoch - 1])
    assert not torch.equal(history[0], history[-1])
    part = Training([data], model, config)
    for _ in range(3):
        part.run_epochs()
    checkpoint.save(part, tmp_path / "state.safetensors")
    rest = Training([data], model, config)
    rest.run(checkpoint_path=tmp_path / "state.safetensors", resume=True)
    for name, tensor in training.selected_model().state_dict().items():
        assert torch.equal(tensor, rest.selected_model().state_dict()[name]), name


@pytest.mark.parametrize("normalisation", NORMS)
def test_it_learns_and_is_read_back(normalisation: str, tmp_path):
    clf = sgat.SGATClassifier(
        hidden=7,
        layers=3,
        readout="deep",
        epochs=40,
        device="cpu",
        model={"normalisation": normalisation},
    )
    data = block_graph()
    assert clf.fit(data).score(role="train") > 0.7
    clf.save(tmp_path / "run")
    loaded = sgat.load(tmp_path / "run")
    assert (loaded.predict_proba(data) == clf.predict_proba()).all()
    assert loaded.config_.model.normalisation == normalisation


@pytest.mark.parametrize("batch_size", [None, 2])
def test_it_learns_several_labels_on_several_graphs(batch_size: int | None):
    model = paper_model(readout="deep", normalisation="batch", hidden=5, layers=2)
    train = TrainConfig(epochs=4, device="cpu", batch_size=batch_size)
    result = fit(several_graphs(), model, train)
    losses = [record.data_loss for record in result.records]
    assert losses[-1] < losses[0]


def test_weights_come_from_the_generator_and_keep_the_spread(seed: int):
    one, other = DeepReadout(D, C, 2), DeepReadout(D, C, 2)
    for each in (one, other):
        torch.nn.init.ones_(each.layer_bias)
        each.reset_parameters(torch.Generator().manual_seed(5))
    for name, part in one.named_parameters():
        assert torch.equal(part, other.get_parameter(name))
    assert not one.layer_bias.any() and bool((one.norm_scale == 1).all())
    wide = DeepReadout(256, C, 16, normalisation="none", activation=lambda h: h)
    alone = ops.all_open(GRAPHS["no edges"]())
    spread = wide(torch.randn(5, 256), alone)[1].std()
    assert 0.2 < float(spread.detach()) < 5


def test_layers_behind_a_norm_begin_with_twice_the_spread_from_three_on():
    def spread(layers: int, norm: str) -> float:
        module = DeepReadout(64, C, layers, normalisation=norm)
        module.reset_parameters(torch.Generator().manual_seed(3))
        return float(module.layer_weight.detach().std() * math.sqrt(2 * 64))

    for norm in NORMS:
        assert spread(2, norm) == pytest.approx(1, rel=0.03)
        assert spread(4, norm) == pytest.approx(1 if norm == "none" else 2, rel=0.03)


def test_four_layers_learn_in_sixty_epochs():
    # With the spread of two layers, two of these seeds were right on 59 and 71 %.
    config = paper_model(readout="deep", layers=4, activation="relu")
    found = []
    for seed in range(3):
        options = {"epochs": 60, "patience": 0, "lr": 0.01, "weight_decay": 5e-4}
        result = fit([block_graph()], config, TrainConfig(seed=seed, **options))
        found.append(result.best.train)
    assert sum(found) / 3 > 0.85, found


def test_no_layers_are_refused():
    with pytest.raises(ValueError, match="`layers` must be at least 1, got 0"):
        DeepReadout(D, C, 0)


def test_its_repr_is_one_line():
    expected = "DeepReadout(5, 3, layers=2, normalisation=layer)"
    assert repr(DeepReadout(5, 3, 2)) == expected
