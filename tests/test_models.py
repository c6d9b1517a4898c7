"""SGAT: the contract every model keeps, its read-outs, gate modes and compilation."""

import dataclasses
import re
from types import ModuleType

import pytest
import torch
import torch.nn.functional as F
from support.awkward import GRAPHS, random_edges
from support.covering import covering
from torch import Tensor, nn

from sgat import SGAT, ops
from sgat.features import Features, SparseFeatures
from sgat.graph import Graph
from sgat.ops import log_alphas
from sgat.readouts.beliefs import BeliefReadout
from sgat.scorers import (
    SCORERS,
    EvidenceScorer,
    FreeScorer,
    RevisedScorer,
    Scores,
)

N, K, D, H, C = 23, 7, 5, 3, 11


class NoJudge(nn.Module):
    """Stands for a judge where nothing may be judged."""

    log_odds = None


@pytest.fixture
def graph() -> Graph:
    return GRAPHS["random directed"]()


@pytest.fixture
def x(seed: int) -> Tensor:
    return torch.randn(N, K, dtype=torch.float64)


def network(**options) -> SGAT:
    model = SGAT(K, D, C, **{"heads": H, **options}).double()
    make_up_mind(model)
    return model


def odds_by_features(x: Tensor | SparseFeatures, graph: Graph) -> Tensor:
    """Odds that follow the nodes; a judge draws pairs by their numbers."""
    dense = x.to_dense() if isinstance(x, SparseFeatures) else x
    return (dense[graph.src.long()] * dense[graph.dst.long()]).sum(dim=1)


@torch.no_grad()
def make_up_mind(model: SGAT) -> None:
    """Numbers for what a model starts without: evidence, and whom beliefs speak to."""
    if isinstance(model.classifier, BeliefReadout):
        model.classifier.compatible.normal_()
    if isinstance(model.gating.scorer, RevisedScorer):
        for part in model.gating.scorer.parameters():
            part.normal_()
    if model.judge is not None:
        model.judge.log_odds = odds_by_features


MODELS = {
    "paper": {},
    "authors' code": {
        "readout": "attention",
        "output_heads": 2,
        "activation": "elu",
        "gate_bias": 0.0,
    },
    "transductive": {"gate_mode": "transductive", "num_edges": 127},
    "residual": {"residual": True, "layers": 3, "gate_bias": 5.0},
    **{name: {"scorer": name, "rank": 3} for name in SCORERS if name != "additive"},
    "evidence": {"scorer": "evidence", "gate_bias": 0.0},
    "weighed": {"scorer": "evidence", "judged_edges": "weigh"},
    "revised": {"scorer": "revised", "rank": 3, "gate_bias": 0.0},
    "diffusion": {"readout": "diffusion", "steps": 3},
    "beliefs": {"readout": "beliefs", "layers": 3},
    "deep": {"readout": "deep", "layers": 3},
    "deep, by batch": {"readout": "deep", "normalisation": "batch"},
    "deep, as it is": {"readout": "deep", "normalisation": "none"},
    "recommended": {"scorer": "evidence", "readout": "diffusion", "gate_bias": 0.0},
    "recommended, classes mixed": {
        "scorer": "evidence",
        "readout": "beliefs",
        "gate_bias": 0.0,
    },
}
INDUCTIVE = [name for name in MODELS if name != "transductive"]


def learned(model: SGAT) -> list[Tensor]:
    """The parameters that training moves; the bias of judged gates is none."""
    return [part for part in model.parameters() if part.requires_grad]


@pytest.fixture(params=list(MODELS))
def model(request: pytest.FixtureRequest, seed: int) -> SGAT:
    return network(**MODELS[request.param])


@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize("readout", ["linear", "attention"])
def test_shapes(graph: Graph, x: Tensor, layers: int, readout: str):
    model = network(layers=layers, readout=readout, output_heads=2)
    logits, embedding, opened, *_ = model.compute(x, graph)
    assert logits.shape == (N, C) and logits.dtype == torch.float64
    has_hidden = readout == "linear" or layers > 1
    assert embedding.shape == (N, H * D if has_hidden else K)
    assert opened.row_sum.shape == (N,) and opened.penalty.shape == ()
    assert len(model.convs) == layers
    assert (model.classifier is None) == (readout == "attention")


def test_the_papers_read_out_is_a_classifier_of_the_embedding(graph: Graph, x: Tensor):
    model = network().eval()
    logits, embedding, opened, *_ = model.compute(x, graph)
    first, second = model.convs
    hidden = F.elu(first(x, graph))
    hidden = F.elu(second(hidden, graph, opened=opened))
    assert torch.allclose(embedding, hidden)
    assert torch.allclose(logits, model.classifier(hidden))


def test_the_codes_read_out_averages_the_heads_of_an_attention_layer(
    graph: Graph, x: Tensor
):
    model = network(**MODELS["authors' code"]).eval()
    logits, embedding, opened, *_ = model.compute(x, graph)
    first, last = model.convs
    assert torch.allclose(embedding, F.elu(first(x, graph)))
    assert (last.heads, last.out_channels, last.concat) == (2, C, False)
    assert torch.allclose(logits, last(embedding, graph, opened=opened))


def test_all_layers_share_the_gates_of_the_first(graph: Graph, x: Tensor, seed: int):
    model = network(layers=3)
    assert [conv.scorer is None for conv in model.convs] == [False, True, True]
    assert [conv.layer for conv in model.convs] == [0, 1, 2]
    _, opened = model.gating(x, graph, seed=seed, return_opened=True)
    shared = model.compute(x, graph, seed=seed).opened
    assert torch.equal(shared.edge, opened.edge)
    assert torch.equal(shared.gate, opened.gate)


@pytest.mark.parametrize("training", [True, False])
def test_edges_may_come_in_any_form_and_order(
    graph: Graph, x: Tensor, model: SGAT, training: bool, pyg: ModuleType, seed: int
):
    model.train(training)
    edges = random_edges(N, 127)
    expected = model(x, graph, seed=seed)
    shuffled = edges[:, torch.randperm(127)]
    for form in (edges, shuffled, pyg.EdgeIndex(edges, sparse_size=(N, N))):
        assert torch.equal(model(x, form, seed=seed), expected)
    assert torch.equal(model(x, edges, torch.ones(127), seed=seed), expected)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("name", INDUCTIVE)
def test_relabelled_nodes_give_relabelled_outputs(
    x: Tensor, name: str, training: bool, seed: int
):
    model = network(**MODELS[name]).train(training)
    edges, weight = random_edges(N, 127), torch.rand(127, dtype=torch.float64)
    new_label = torch.randperm(N)
    old_label = new_label.argsort()
    out = model(x, edges, weight, seed=seed)
    relabelled = Graph.from_edges(new_label[edges], N, weight)
    if training:
        # The noise knows nodes by name, so the names move with the nodes.
        relabelled = dataclasses.replace(relabelled, node_id=old_label)
    other = model(x[old_label], relabelled, seed=seed)
    assert torch.allclose(other[new_label], out)


def test_a_graph_is_judged_where_gates_go_by_its_odds(
    graph: Graph, x: Tensor, monkeypatch
):
    assert network().judged(x, graph) is graph
    model = network(**MODELS["recommended"]).eval()
    out, pruned = model(x, graph), model.prune(x, graph)
    judged = model.judged(x, graph)
    assert graph.log_odds is None and model.judged(x, judged) is judged
    assert torch.equal(judged.log_odds, model.judge.log_odds(x, graph))
    monkeypatch.setattr(model, "judge", NoJudge())
    assert torch.equal(model(x, judged), out)
    assert torch.equal(model(x, pruned), model(x, model.prune(x, judged)))
    with pytest.raises(AttributeError):
        model(x, graph)


def test_judging_is_done_in_full_precision(graph: Graph, seed: int):
    model, x = network(**MODELS["recommended"]).float(), torch.randn(N, K)
    expected = model.judged(x, graph).log_odds
    with torch.autocast("cpu", torch.bfloat16):
        assert torch.equal(model.judged(x, graph).log_odds, expected)


def test_a_module_of_evidence_gets_a_judge_too(graph: Graph, x: Tensor):
    model = network(scorer=EvidenceScorer(threshold=0.0))
    assert model.judge is not None and model(x, graph).shape == (N, C)
    assert network(scorer="cosine").judge is None


def test_evaluation_is_deterministic(graph: Graph, x: Tensor, model: SGAT):
    model.eval()
    out = model(x, graph)
    assert torch.equal(model(x, graph), out)
    assert torch.equal(model(x, graph, seed=5), out)


def test_the_seed_rules_training(graph: Graph, x: Tensor, model: SGAT):
    out = model(x, graph, seed=5)
    assert torch.equal(model(x, graph, seed=5), out)
    assert torch.equal(model(x, graph, seed=torch.tensor([5])), out)
    assert not torch.equal(model(x, graph, seed=6), out)


def test_without_a_seed_torchs_generator_rules(graph: Graph, x: Tensor, model: SGAT):
    outs = []
    for seed in (3, 3, 4):
        torch.manual_seed(seed)
        outs.append(model(x, graph))
    assert torch.equal(outs[0], outs[1]) and not torch.equal(outs[0], outs[2])


def test_the_same_seed_gives_the_same_gradients_to_the_bit(
    graph: Graph, x: Tensor, model: SGAT
):
    runs = []
    for _ in range(2):
        model.zero_grad()
        output = model.compute(x, graph, seed=5)
        (output.logits.square().sum() + output.opened.penalty).backward()
        runs.append([p.grad.clone() for p in learned(model)])
    assert all(torch.equal(*pair) for pair in zip(*runs, strict=True))
    assert all(bool((grad != 0).any()) for grad in runs[0])


def test_dropout_is_what_training_and_evaluation_differ_in(graph: Graph, x: Tensor):
    # Gates wide open, nothing dropped: one function in both modes.
    model = network(gate_bias=300.0, dropout=0.0, attention_dropout=0.0)
    assert torch.equal(model.train()(x, graph), model.eval()(x, graph))
    for rate in ("dropout", "attention_dropout"):
        options = {"dropout": 0.0, "attention_dropout": 0.0, rate: 0.4}
        model = network(gate_bias=300.0, **options)
        assert not torch.equal(model.train()(x, graph), model.eval()(x, graph))


def test_reset_parameters_draws_new_weights_and_a_generator_repeats_them(model: SGAT):
    states = []
    for seed in (3, 3, 4):
        model.reset_parameters(torch.Generator().manual_seed(seed))
        states.append({n: p.detach().clone() for n, p in model.named_parameters()})
    for name, value in states[0].items():
        assert torch.equal(states[1][name], value), name
        is_constant = name.endswith(("bias", "scale", "compatible"))
        is_constant |= "scorer.pairs." in name and not name.endswith("query_weight")
        assert torch.equal(states[2][name], value) == is_constant, name


def test_reset_parameters_obeys_manual_seed(model: SGAT):
    states = []
    for _ in range(2):
        torch.manual_seed(3)
        model.reset_parameters()
        states.append([p.detach().clone() for p in model.parameters()])
    assert all(torch.equal(*pair) for pair in zip(*states, strict=True))


@pytest.mark.parametrize("name", list(MODELS))
def test_a_state_dict_carries_the_whole_model(
    graph: Graph, x: Tensor, name: str, tmp_path, seed: int
):
    model, other = network(**MODELS[name]), network(**MODELS[name])
    assert not torch.equal(model(x, graph, seed=5), other(x, graph, seed=5))
    torch.save(model.state_dict(), tmp_path / "model.pt")
    other.load_state_dict(torch.load(tmp_path / "model.pt", weights_only=True))
    assert torch.equal(model(x, graph, seed=5), other(x, graph, seed=5))
    assert torch.equal(model.eval()(x, graph), other.eval()(x, graph))


@pytest.mark.parametrize("name", INDUCTIVE)
def test_every_awkward_graph_is_learned_from(
    awkward_graph: Graph, name: str, seed: int
):
    model = network(**MODELS[name])
    x = torch.randn(awkward_graph.num_nodes, K, dtype=torch.float64)
    for training in (True, False):
        output = model.train(training).compute(x, awkward_graph, seed=seed)
        assert output.logits.shape == (awkward_graph.num_nodes, C)
        (output.logits.square().sum() + output.opened.penalty).backward()
    assert all(bool(p.grad.isfinite().all()) for p in learned(model))


def test_a_node_that_hears_nobody_is_classified_by_itself(seed: int):
    model, graph = network().eval(), GRAPHS["isolated node"]()
    x = torch.randn(7, K, dtype=torch.float64)
    alone = Graph.from_edges(torch.zeros(2, 0, dtype=torch.long), 1)
    out = model(x, graph)
    for node in (1, 6):
        assert torch.allclose(out[node], model(x[node, None], alone)[0])


def test_log_alpha_is_the_location_evaluation_uses(graph: Graph, x: Tensor, model):
    model.eval()
    log_alpha = model.log_alpha(x, graph)
    opened = model.compute(x, graph).opened
    gates = model.gating.gates
    assert torch.equal(gates.is_kept(log_alpha).nonzero()[:, 0], opened.edge)
    assert torch.allclose(gates.value(log_alpha)[opened.edge], opened.gate)
    assert torch.allclose(gates.probability_open(log_alpha).sum(), opened.penalty)
    assert torch.equal(model.train().log_alpha(x, graph), log_alpha)


def test_the_transductive_mode_learns_one_parameter_per_edge(graph: Graph, x: Tensor):
    model = network(**MODELS["transductive"]).eval()
    assert isinstance(model.gating.scorer, FreeScorer)
    assert torch.equal(model.log_alpha(x, graph), model.gating.scorer.log_alpha)
    assert torch.equal(model.log_alpha(2 * x, graph), model.log_alpha(x, graph))


class Distance(nn.Module):
    """A score per pair that no sum of two scores per node can give."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.tensor(1.0))

    def forward(self, h: Tensor, graph: Graph) -> Scores:
        zero = h.new_zeros(graph.num_nodes)
        apart = (h[graph.dst] - h[graph.src]).square().sum(dim=1)
        return Scores(zero, zero, 3 - self.scale * apart)


def test_a_custom_scorer_plugs_in_and_learns(graph: Graph, x: Tensor, seed: int):
    scorer = Distance()
    model = network(scorer=scorer)
    output = model.compute(x, graph, seed=seed)
    (data,) = torch.autograd.grad(
        output.logits.square().sum(), scorer.scale, retain_graph=True
    )
    (penalty,) = torch.autograd.grad(output.opened.penalty, scorer.scale)
    assert data != 0 and penalty < 0
    scores = model.gating.score(x, graph)
    assert torch.equal(model.log_alpha(x, graph), log_alphas(graph, *scores))


def test_sparse_features_give_what_dense_ones_give(graph: Graph, x: Tensor, model):
    x[torch.rand(x.shape) > 0.3] = 0
    sparse = SparseFeatures.from_dense(x)
    out, expected = model(sparse, graph, seed=5), model(x, graph, seed=5)
    assert torch.allclose(out, expected)


def test_autocast_runs_and_stays_close(graph: Graph, x: Tensor, model: SGAT):
    model = model.float().eval()
    expected = model(x.float(), graph)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = model(x.float(), graph)
        loss = out.float().square().mean()
    assert not torch.equal(out.float(), expected)
    # A handful of roundings to 8 bits, relative to the largest score.
    assert (out - expected).abs().max() < 0.05 * expected.abs().max()
    loss.backward()
    assert all(p.grad.dtype == torch.float32 for p in learned(model))
    assert all(bool(p.grad.isfinite().all()) for p in learned(model))


PRUNED = {
    **MODELS,
    "one layer": {"layers": 1},
    "one attention layer": {"layers": 1, "readout": "attention"},
    "beliefs": {"readout": "beliefs"},
    "symmetric": {"symmetric": True},
    "symmetric and bilinear": {"symmetric": True, "scorer": "bilinear", "rank": 3},
    "symmetric and transductive": {"symmetric": True, "gate_mode": "transductive"},
}


@torch.no_grad()
def pruned_case(
    name: str, graph: Graph, backend: str, device: str = "cpu"
) -> tuple[SGAT, Graph]:
    """A model in evaluation mode that closes about half of the edges, and its graph."""
    options = dict(PRUNED[name])
    if options.get("gate_mode") == "transductive":
        options["num_edges"] = graph.num_edges
    if options.get("symmetric"):
        graph = Graph.from_edges(
            graph.edge_index, graph.num_nodes, graph.edge_weight, make_undirected=True
        )
        options["num_edges"] = graph.num_edges
    model = SGAT(
        K, D, C, **{"heads": H, "gate_bias": -1.6, **options, "backend": backend}
    )
    model.gating.gate_bias.fill_(-1.6)
    for parameter in model.gating.scorer.parameters():
        parameter.normal_(std=1.5)
    make_up_mind(model)
    if model.readout == "beliefs":
        model.classifier.compatible.normal_()
    return model.to(device).eval(), graph.to(device)


def check_pruned(model: SGAT, x: Features, graph: Graph) -> int:
    """Compare a pass over the pruned graph with one over all; return what is kept."""
    pruned = model.prune(x, graph)
    with torch.no_grad():
        expected, found = model.compute(x, graph), model.compute(x, pruned)
    torch.testing.assert_close(found.logits, expected.logits)
    torch.testing.assert_close(model(x, pruned), found.logits)
    if isinstance(expected.embedding, Tensor):
        torch.testing.assert_close(found.embedding, expected.embedding)
    assert pruned.graph.num_edges == int(expected.opened.num_open)
    return pruned.graph.num_edges


@covering(
    {
        "awkward_graph": list(GRAPHS),
        "name": list(PRUNED),
        "backend": ["reference", "cpu"],
        "is_sparse": [False, True],
    },
    indirect=["awkward_graph"],
)
def test_the_pruned_graph_gives_the_predictions_of_the_gated_one(
    awkward_graph: Graph, name: str, backend: str, is_sparse: bool, seed: int
):
    model, graph = pruned_case(name, awkward_graph, backend)
    x = torch.randn(graph.num_nodes, K) * (torch.rand(graph.num_nodes, K) < 0.5)
    check_pruned(model, SparseFeatures.from_dense(x) if is_sparse else x, graph)


@pytest.mark.gpu
@pytest.mark.parametrize("name", list(PRUNED))
def test_the_pruned_graph_gives_the_predictions_of_the_gated_one_on_the_gpu(
    awkward_graph: Graph, name: str, seed: int
):
    model, graph = pruned_case(name, awkward_graph, "gpu", "cuda")
    x = torch.randn(graph.num_nodes, K, device="cuda")
    check_pruned(model, x, graph)
    check_pruned(model, SparseFeatures.from_dense(x.cpu()).to("cuda"), graph)


@pytest.mark.parametrize("name", list(PRUNED))
def test_pruning_removes_edges(graph: Graph, name: str, seed: int):
    model, graph = pruned_case(name, graph, "auto")
    kept = check_pruned(model, torch.randn(N, K), graph)
    assert 0 < kept <= graph.num_edges
    assert (kept == graph.num_edges) == (name == "weighed")


def test_a_pass_over_pruned_edges_scores_none(graph: Graph, x: Tensor, monkeypatch):
    model = network().eval()
    pruned = model.prune(x, graph)
    monkeypatch.setattr(model.gating, "scorer", None)
    model(x, pruned)
    with pytest.raises(ValueError, match="no gates of its own"):
        model(x, graph)


def test_pruned_edges_of_other_nodes_are_refused(graph: Graph, x: Tensor):
    model = network().eval()
    pruned = model.prune(x, graph)
    with pytest.raises(ValueError, match=re.escape("each of the 23 nodes")):
        model(x[:7], pruned)


def test_a_model_trains_on_over_pruned_edges(graph: Graph, x: Tensor):
    model = network()
    pruned = model.prune(x, graph)
    plain = ops.all_open(pruned.graph, dtype=x.dtype, backend="reference")
    found, expected = (gradients(model, x, edges, seed=3) for edges in (pruned, plain))
    assert len(found) == len(expected) > 5
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other)
    assert model.gating.scorer.weight.grad is None


OTHERS = [*(name for name in SCORERS if name != "additive"), "evidence"]


@pytest.fixture
def fresh_compiler():
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def gradients(model: nn.Module, *arguments, **options) -> list[Tensor]:
    model.zero_grad()
    out = model(*arguments, **options)
    out.square().sum().backward()
    return [out, *(p.grad.clone() for p in model.parameters() if p.grad is not None)]


@pytest.mark.usefixtures("fresh_compiler")
@pytest.mark.parametrize(
    ("scorer", "backend", "training", "compiler"),
    [
        *(("additive", "reference", on, "aot_eager") for on in (True, False)),
        *(("additive", "auto", on, "aot_eager") for on in (True, False)),
        ("revised", "auto", True, "aot_eager"),
        # Which scores there are is seen in the forward graph.
        *((name, "auto", True, "eager") for name in OTHERS),
        # Without noise all scores go one way.
        *(
            pytest.param(name, "auto", training, "aot_eager", marks=pytest.mark.slow)
            for name in OTHERS
            for training in (True, False)
        ),
    ],
)
def test_a_compiled_model_has_no_graph_breaks_and_equals_the_eager_one(
    graph: Graph,
    x: Tensor,
    scorer: str,
    training: bool,
    backend: str,
    compiler: str,
    seed: int,
):
    model = network(gate_bias=0.0, scorer=scorer, backend=backend).train(training)
    # What is worked out once for a graph is, before it is compiled.
    model(x, graph)
    graph = model.judged(x, graph)
    compiled = torch.compile(model, fullgraph=True, backend=compiler)
    number = torch.tensor([5])
    expected = gradients(model, x, graph, seed=number)
    found = gradients(compiled, x, graph, seed=number)
    assert len(found) == len(expected) > 5
    for one, other in zip(found, expected, strict=True):
        assert torch.allclose(one, other, rtol=1e-10, atol=1e-12)


@pytest.mark.usefixtures("fresh_compiler")
@pytest.mark.parametrize(
    ("name", "training"),
    [
        *(("deep", True), ("deep, by batch", True), ("deep, by batch", False)),
        # Normalised by layer, both do the same but for dropout.
        pytest.param("deep", False, marks=pytest.mark.slow),
    ],
)
def test_a_compiled_deep_model_equals_the_eager_one(
    graph: Graph, x: Tensor, name: str, training: bool, seed: int
):
    model = network(**MODELS[name]).train(training)
    model(x, graph)
    compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
    number = torch.tensor([5])
    expected = gradients(model, x, graph, seed=number)
    before = {name: part.clone() for name, part in model.state_dict().items()}
    found = gradients(compiled, x, graph, seed=number)
    assert len(found) == len(expected) > 5
    for one, other in zip(found, expected, strict=True):
        assert torch.allclose(one, other, rtol=1e-10, atol=1e-12)
    moves = {n for n, part in model.state_dict().items() if (part != before[n]).any()}
    assert bool(moves) == (training and name == "deep, by batch")


@pytest.mark.usefixtures("fresh_compiler")
def test_a_compiled_model_steps_around_judging(graph: Graph, x: Tensor):
    model = network(**MODELS["recommended"]).eval()
    compiled = torch.compile(model, backend="aot_eager")
    with torch.no_grad():
        assert torch.equal(compiled(x, graph), model(x, graph))


@pytest.mark.usefixtures("fresh_compiler")
def test_a_compiled_model_draws_new_noise_in_every_call(graph: Graph, x: Tensor):
    model = network()
    compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
    torch.manual_seed(3)
    first, second = compiled(x, graph), compiled(x, graph)
    assert not torch.equal(first, second)
    torch.manual_seed(3)
    assert torch.equal(compiled(x, graph), first)


@pytest.mark.usefixtures("fresh_compiler")
def test_a_compiled_model_takes_pruned_edges(graph: Graph, x: Tensor):
    model = network().eval()
    pruned = model.prune(x, graph)
    compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
    with torch.no_grad():
        torch.testing.assert_close(compiled(x, pruned), model(x, graph))


@pytest.mark.slow
# Inductor itself still uses `torch.jit.script_method`, which warns in this torch.
@pytest.mark.filterwarnings("ignore:`torch.jit.script:DeprecationWarning")
@pytest.mark.usefixtures("fresh_compiler")
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("backend", ["auto", "reference"])
def test_inductor_gives_the_eager_model(
    graph: Graph, x: Tensor, training: bool, backend: str
):
    model = network(gate_bias=0.0, backend=backend).train(training)
    compiled = torch.compile(model, fullgraph=True)
    expected = gradients(model, x, graph, seed=5)
    found = gradients(compiled, x, graph, seed=5)
    for one, other in zip(found, expected, strict=True):
        assert torch.allclose(one, other, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"layers": 0}, "`layers` must be at least 1, got 0."),
        ({"heads": 0}, "`heads` must be at least 1, got 0."),
        ({"activation": "tanh"}, "`activation` must be relu or elu, got 'tanh'."),
        (
            {"readout": "mean"},
            "`readout` must be linear, attention, diffusion, beliefs or deep, got"
            " 'mean'.",
        ),
        (
            {"readout": "deep", "normalisation": "rows"},
            "`normalisation` must be none, layer or batch, got 'rows'.",
        ),
        ({"readout": "deep", "layers": 0}, "`layers` must be at least 1, got 0."),
        (
            {"gate_mode": "open"},
            "`gate_mode` must be inductive or transductive, got 'open'.",
        ),
        (
            {"gate_mode": "transductive"},
            "`num_edges` must be given in the transductive gate mode.",
        ),
        (
            {"gate_mode": "transductive", "num_edges": 3, "scorer": Distance()},
            "`scorer` must be additive in the transductive gate mode.",
        ),
        (
            {"scorer": "taste"},
            "Unknown scorer 'taste'; choose one of additive, cosine, bilinear, gatv2,"
            " structure, evidence, revised.",
        ),
        ({"scaling": "unit"}, "`scaling` must be none, rows or standard, got 'unit'."),
        ({"dropout": 1.5}, "`dropout` must be in [0, 1), got 1.5."),
    ],
)
def test_impossible_networks_are_refused(options: dict, sentence: str):
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        SGAT(K, D, C, **options)


def test_features_must_have_one_row_per_node(graph: Graph):
    sentence = "`x` must have one row for each of the 23 nodes of the graph, got 11."
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        network()(torch.randn(11, K, dtype=torch.float64), graph)


@pytest.mark.gpu
def test_the_model_works_after_a_move_to_the_gpu(graph: Graph, x: Tensor, model: SGAT):
    expected = model(x, graph, seed=5)
    out = model.cuda()(x.cuda(), graph.to("cuda"), seed=5)
    assert out.device.type == "cuda"
    assert torch.allclose(out.cpu(), expected)
