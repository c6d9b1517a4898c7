"""What every model keeps to, SGAT and all baselines alike."""

import copy
import dataclasses

import pytest
import torch
from support.small_data import block_graph

from sgat.config import TrainConfig
from sgat.data.node_data import NodeData
from sgat.features import SparseFeatures
from sgat.graph import Graph
from sgat_lab.baselines import METHODS, find_method, fit, lagcn
from sgat_lab.baselines import prepare as prepare_all
from sgat_lab.baselines.method import Method
from sgat_lab.config import MethodConfig
from sgat_lab.trials.evaluation import evaluate

VARIANTS = {
    f"geom_gcn, {embedding}": ("geom_gcn", {"embedding": embedding})
    for embedding in ("poincare", "struc2vec")
}
NAMES = ["sgat", *METHODS, *VARIANTS]
TRAIN = TrainConfig(epochs=8, device="cpu", l0_weight=1e-4)


def config(name: str) -> MethodConfig:
    method, options = VARIANTS.get(name, (name, {}))
    return MethodConfig(
        method=method,
        hidden=8,
        dropout=0.2,
        attention_dropout=0.2,
        symmetric=False,
        options=options,
    )


def method_of(name: str) -> Method:
    return find_method(config(name).method)


def prepared(name: str, data: NodeData, seed: int = 0) -> NodeData:
    return prepare_all([data], config(name), seed)[0]


def trained(name: str, data: NodeData, **changes):
    return fit([data], config(name), dataclasses.replace(TRAIN, **changes))


@pytest.fixture(scope="module", autouse=True)
def short_first_phase():
    """LAGCN's classifier of edges learns enough in fewer steps here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lagcn, "STEPS", 20)
        yield


@pytest.fixture(params=NAMES, scope="module")
def name(request) -> str:
    return request.param


@pytest.fixture(scope="module")
def data(name) -> NodeData:
    return prepared(name, block_graph())


@pytest.fixture(scope="module")
def model(name, data):
    """A model trained for a few epochs: only to be read."""
    return trained(name, data).model


def logits(model, data: NodeData) -> torch.Tensor:
    with torch.no_grad():
        return model.eval()(data.x, data.graph)


def test_it_learns_what_the_block_model_shows(name):
    easy = prepared(name, block_graph(feature_signal=3.0))
    result = trained(name, easy, epochs=30, lr=0.04)
    (test,) = evaluate(result.model, [easy], ["test"])
    assert test.score > 0.6, "three classes of equal size: 0.33 is chance"


def test_relabelling_the_nodes_relabels_the_scores(name, data, model):
    if name in VARIANTS:
        pytest.skip("its places are drawn node by node")
    if name != "sgat" and method_of(name).is_transductive:
        pytest.skip("this model knows the graph it was trained on by its order")
    order = torch.randperm(
        data.num_nodes, generator=torch.Generator().manual_seed(3)
    )  # new node k is old node order[k]
    place = order.argsort()
    graph = Graph.from_edges(
        place[data.graph.edge_index], data.num_nodes, data.graph.edge_weight
    )
    x = data.x.to_dense() if isinstance(data.x, SparseFeatures) else data.x
    moved = dataclasses.replace(data, graph=graph, x=x[order])
    plain = dataclasses.replace(data, x=x)
    torch.testing.assert_close(
        logits(model, moved), logits(model, plain)[order], rtol=1e-3, atol=1e-4
    )


def test_the_order_of_the_edges_does_not_matter(data, model):
    mixed = torch.randperm(data.graph.num_edges)
    graph = Graph.from_edges(
        data.graph.edge_index[:, mixed], data.num_nodes, data.graph.edge_weight[mixed]
    )
    again = dataclasses.replace(data, graph=graph)
    torch.testing.assert_close(logits(model, again), logits(model, data))


def test_a_graph_without_edges_trains(name):
    data = block_graph()
    nothing = torch.empty(2, 0, dtype=torch.long)
    bare = dataclasses.replace(data, graph=Graph.from_edges(nothing, data.num_nodes))
    bare = prepared(name, bare)
    result = trained(name, bare, epochs=4)
    assert logits(result.model, bare).isfinite().all()


def test_isolated_nodes_get_finite_scores_and_gradients(name):
    data = block_graph()
    lonely = torch.arange(0, data.num_nodes, 3)
    src, dst = data.graph.edge_index
    touches = torch.isin(src, lonely) | torch.isin(dst, lonely)
    data = dataclasses.replace(data, graph=data.graph.select(~touches))
    data = prepared(name, data)
    result = trained(name, data, epochs=4)
    assert logits(result.model, data).isfinite().all()
    assert all(torch.isfinite(torch.tensor(r.loss)) for r in result.records)


def test_evaluation_repeats(data, model):
    assert torch.equal(logits(model, data), logits(model, data))


@pytest.mark.judged_anew
def test_same_seed_same_training_and_torch_is_left_alone(name):
    before = torch.random.get_rng_state()
    data = [prepared(name, block_graph()) for _ in range(2)]
    first, second = (trained(name, each, epochs=4) for each in data)
    losses = [[record.loss for record in r.records] for r in (first, second)]
    assert losses[0] == losses[1]
    assert torch.equal(logits(first.model, data[0]), logits(second.model, data[1]))
    assert torch.equal(before, torch.random.get_rng_state())


def test_another_seed_is_another_training(name, data):
    first, second = (trained(name, data, seed=seed, epochs=2) for seed in (0, 1))
    assert first.records[0].loss != second.records[0].loss


def test_weights_saved_and_loaded_give_the_same_scores(name, data, model):
    fresh = trained(name, data, seed=1, epochs=2).model
    assert not torch.equal(logits(fresh, data), logits(model, data))
    fresh.load_state_dict(model.state_dict())
    assert torch.equal(logits(fresh, data), logits(model, data))


def test_sparse_and_dense_features_agree(data, model):
    x = data.x.to_dense() if isinstance(data.x, SparseFeatures) else data.x
    dense = dataclasses.replace(data, x=x)
    sparse = dataclasses.replace(data, x=SparseFeatures.from_dense(x))
    torch.testing.assert_close(
        logits(model, sparse), logits(model, dense), rtol=1e-4, atol=1e-4
    )


def test_scores_of_edges_are_one_number_per_edge_or_none(data, model):
    scores = model.eval().score_edges(data.x, data.graph)
    if scores is not None:
        assert scores.shape == (data.graph.num_edges,)
        assert scores.isfinite().all()


@pytest.mark.gpu
def test_a_model_moves_to_the_gpu_and_back(data, model):
    model = copy.deepcopy(model)
    here = logits(model, data)
    there = logits(model.to("cuda"), data.to("cuda")).cpu()
    torch.testing.assert_close(there, here, rtol=1e-3, atol=1e-3)
    torch.testing.assert_close(logits(model.to("cpu"), data), here)
