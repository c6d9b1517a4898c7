import itertools

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from sgat.data import check
from sgat.graph import Graph
from sgat_lab.synthetic.block_models import (
    BLOCK_MODELS,
    auc_ceiling,
    block_model,
    class_features,
    class_means,
    class_space,
    contextual_block_model,
    graph_from_pairs,
)


def ends(graph):
    return graph.dst.long(), graph.src.long()


@settings(deadline=None, max_examples=100)
@given(y=st.lists(st.integers(-1, 2), max_size=11))
@pytest.mark.parametrize("step", [0, 1])
def test_a_class_space_numbers_each_pair_of_its_kind_once(step, y):
    labels = torch.tensor(y, dtype=torch.int64)
    space = class_space(labels, 3, assortative=step == 0)
    node, partner = space.pair(torch.arange(space.size))
    expected = [
        (i, j)
        for i, j in itertools.permutations(range(len(y)), 2)
        if min(y[i], y[j]) >= 0 and y[j] == (y[i] - step) % 3
    ]
    assert sorted(zip(node.tolist(), partner.tolist(), strict=True)) == expected


@settings(deadline=None, max_examples=60)
@given(
    num_nodes=st.integers(23, 61),
    num_classes=st.integers(2, 5),
    degree=st.floats(0, 3),
    noise_rate=st.floats(0, 1),
    assortative=st.booleans(),
    undirected=st.booleans(),
    seed=st.integers(0, 2**40),
)
def test_every_edge_is_of_the_kind_it_is_said_to_be(
    num_nodes, num_classes, degree, noise_rate, assortative, undirected, seed
):
    made = contextual_block_model(
        num_nodes=num_nodes,
        num_classes=num_classes,
        degree=degree,
        noise_rate=noise_rate,
        assortative=assortative,
        undirected=undirected,
        num_features=3,
        seed=seed,
    )
    graph, y = made.data.graph, made.data.y
    dst, src = ends(graph)
    key = dst * num_nodes + src
    assert (dst != src).all()
    assert (key.diff() > 0).all()
    assert made.is_signal.shape == key.shape
    assert made.is_signal.dtype == torch.bool

    directions = 2 if undirected else 1
    total = round(num_nodes * degree / directions)
    assert graph.num_edges == directions * total
    assert (~made.is_signal).sum() == directions * round(total * noise_rate)

    step = (y[dst] - y[src]) % num_classes
    fits = step == (0 if assortative else 1)
    if undirected:
        assert graph.is_undirected
        fits |= (-step) % num_classes == (0 if assortative else 1)
        assert torch.equal(made.is_signal[graph.by_source.edge], made.is_signal)
    assert fits[made.is_signal].all()
    assert y.bincount(minlength=num_classes).diff().abs().max() <= 1
    if num_nodes > 30:
        check([made.data])


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("assortative", "expected"), [(True, 0.7 + 0.3 / 5), (False, 0.3 / 5)]
)
def test_homophily_is_as_documented(assortative, expected, seed):
    made = contextual_block_model(num_nodes=4001, assortative=assortative, seed=seed)
    dst, src = ends(made.data.graph)
    same = (made.data.y[dst] == made.data.y[src]).double().mean()
    assert float(same) == pytest.approx(expected, abs=0.01)


def test_noise_edges_join_any_two_classes():
    made = contextual_block_model(num_nodes=2003, noise_rate=0.5, degree=20)
    dst, src = ends(made.data.graph)
    pair = (made.data.y[dst] * 5 + made.data.y[src])[~made.is_signal]
    share = pair.bincount(minlength=25) / len(pair)
    # Same-class pairs are partly taken by the signal edges.
    assert share.min() > 0.035
    assert share.max() < 0.045


def test_features_follow_the_classes_as_strongly_as_asked_for():
    def spread_of_class_means(feature_signal):
        made = contextual_block_model(
            num_nodes=5003, feature_signal=feature_signal, num_features=7
        )
        x, y = made.data.x, made.data.y
        assert x.shape == (5003, 7)
        return torch.stack([x[y == c].mean(0).norm() for c in range(5)])

    # The mean of 1,000 standard normal vectors of width 7 has length 0.08.
    assert spread_of_class_means(0.0).max() < 0.2
    torch.testing.assert_close(
        spread_of_class_means(3.0), torch.full((5,), 3.0), atol=0.2, rtol=0
    )


def test_the_same_seed_gives_the_same_data_and_another_seed_does_not():
    one, two, other = (contextual_block_model(seed=s) for s in (5, 5, 6))
    for a, b in [
        (one.data.graph.src, two.data.graph.src),
        (one.data.x, two.data.x),
        (one.data.y, two.data.y),
        (one.data.train, two.data.train),
        (one.is_signal, two.is_signal),
    ]:
        assert torch.equal(a, b)
    assert not torch.equal(one.data.graph.src, other.data.graph.src)
    assert not torch.equal(one.data.x, other.data.x)
    assert not torch.equal(one.data.y, other.data.y)
    assert not torch.equal(one.data.train, other.data.train)


def test_roles_have_the_shares_asked_for():
    data = contextual_block_model(num_nodes=101, fractions=(0.5, 0.3, 0.1)).data
    sizes = [int(mask.sum()) for mask in (data.train, data.val, data.test)]
    assert sizes == [51, 30, 10]


def test_the_widest_graph_is_made_and_one_edge_more_is_refused():
    options = {"num_nodes": 7, "num_classes": 2, "noise_rate": 0.5, "num_features": 2}
    made = contextual_block_model(**options, degree=18 / 7)
    assert made.data.graph.num_edges == 18
    with pytest.raises(ValueError) as error:
        contextual_block_model(**options, degree=6.0)
    assert str(error.value) == (
        "`degree` must leave room for 11 signal pairs among 7 nodes of 2 classes,"
        " got 6.0."
    )


def test_too_much_noise_is_refused():
    with pytest.raises(ValueError) as error:
        contextual_block_model(
            num_nodes=7, num_classes=2, noise_rate=1, degree=6.5, undirected=False
        )
    assert str(error.value) == (
        "`degree` must leave room for 46 noise edges among 7 nodes, got 6.5."
    )


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"num_classes": 1}, "`num_classes` must be at least 2, got 1."),
        (
            {"num_nodes": 3},
            "`num_nodes` must be at least the number of classes, 5, got 3.",
        ),
        ({"degree": -1.0}, "`degree` must be at least 0, got -1.0."),
        ({"degree": float("nan")}, "`degree` must be at least 0, got nan."),
        ({"noise_rate": 1.5}, "`noise_rate` must be from 0 to 1, got 1.5."),
        ({"num_features": 0}, "`num_features` must be at least 1, got 0."),
        ({"seed": -1}, "`seed` must be at least 0, got -1."),
    ],
)
def test_bad_arguments_are_named(options, sentence):
    with pytest.raises(ValueError) as error:
        contextual_block_model(**options)
    assert str(error.value) == sentence


def test_repr_is_one_line():
    made = contextual_block_model(num_nodes=101, degree=4)
    assert repr(made) == (
        "SyntheticData(NodeData('block-model', 101 nodes, 404 edges, 32 features,"
        " 5 classes, 61 train, 20 val, 20 test), 282 signal edges)"
    )


@pytest.mark.gpu
def test_the_block_model_is_drawn_on_a_gpu_repeatably():
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    for options in ({}, {"undirected": False, "assortative": False}):
        one, two = (
            contextual_block_model(num_nodes=4001, device="cuda", seed=3, **options)
            for _ in range(2)
        )
        assert one.data.graph.device.type == one.data.x.device.type == "cuda"
        assert one.is_signal.device.type == one.data.train.device.type == "cuda"
        assert torch.equal(one.data.graph.src, two.data.graph.src)
        assert torch.equal(one.data.x, two.data.x)
        assert torch.equal(one.is_signal, two.is_signal)
        here = contextual_block_model(num_nodes=4001, seed=3, **options)
        assert torch.equal(one.data.y.cpu(), here.data.y)
        assert torch.equal(one.data.train.cpu(), here.data.train)
        assert one.data.graph.num_edges == here.data.graph.num_edges


def test_features_are_the_class_mean_plus_the_same_noise_at_any_signal():
    y = torch.arange(7) % 3
    noise = class_features(y, 3, 5, 0.0, seed=2)
    mean = class_features(y, 3, 5, 2.0, seed=2) - noise  # [7, 5]
    torch.testing.assert_close(mean.norm(dim=1), torch.full((7,), 2.0))
    torch.testing.assert_close(mean[:3], mean[3:6])
    torch.testing.assert_close(mean, class_means(3, 5, 2.0, seed=2)[y])
    assert (mean[0] - mean[1]).norm() > 0.1


def test_data_move_to_another_device_as_a_whole():
    made = contextual_block_model(num_nodes=23, degree=2).to("meta")
    assert made.is_signal.device.type == made.data.graph.device.type == "meta"


@settings(deadline=None, max_examples=100)
@given(
    num_nodes=st.integers(2, 13),
    pairs=st.sets(st.tuples(st.integers(0, 12), st.integers(0, 12))),
)
def test_graphs_from_keys_equal_graphs_from_edges(num_nodes, pairs):
    pairs = sorted({(min(p), max(p)) for p in pairs if p[0] != p[1]})
    pairs = [p for p in pairs if p[1] < num_nodes]
    index = torch.tensor(pairs, dtype=torch.int64).reshape(-1, 2).T
    key = index[0] * num_nodes + index[1]
    mark = key % 3

    graph, edge_mark = graph_from_pairs(key, mark, num_nodes)
    expected = Graph.from_edges(index, num_nodes, make_undirected=True)
    low, high = graph.edge_index.sort(dim=0).values
    assert torch.equal(edge_mark, (low * num_nodes + high) % 3)
    for field in ("dst", "src", "row_ptr"):
        assert torch.equal(getattr(graph, field), getattr(expected, field))
        assert getattr(graph, field).dtype == getattr(expected, field).dtype

    directed = Graph.from_keys(key, num_nodes)
    expected = Graph.from_edges(index.flip(0), num_nodes)
    for field in ("dst", "src", "row_ptr"):
        assert torch.equal(getattr(directed, field), getattr(expected, field))
        assert getattr(directed, field).dtype == getattr(expected, field).dtype


@pytest.mark.parametrize("name", BLOCK_MODELS)
def test_the_planted_share_is_exact(name, seed):
    made = block_model(name, seed, noise_rate=0.3, feature_signal=1.0)
    graph, y = made.data.graph, made.data.y
    assert made.is_signal.double().mean() == pytest.approx(0.7, abs=1e-3)
    assert bool((y[graph.dst] == y[graph.src])[made.is_signal].all())
    assert made.data.num_classes == BLOCK_MODELS[name]["num_classes"]


def test_few_labels_are_a_tenth():
    made = block_model("block-20-few", 0, noise_rate=0.3, feature_signal=1.0)
    assert int(made.data.train.sum()) == 100


def test_shuffling_deals_the_same_labels_out_anew_and_changes_nothing_else(seed):
    given = contextual_block_model(noise_rate=0.5, feature_signal=0.0, seed=seed)
    made = block_model(
        "block-5", seed, noise_rate=0.5, feature_signal=0.0, shuffled=True
    )
    assert torch.equal(made.data.x, given.data.x)
    assert torch.equal(made.data.graph.src, given.data.graph.src)
    assert torch.equal(made.is_signal, given.is_signal)
    assert torch.equal(made.data.y.bincount(), given.data.y.bincount())
    assert (made.data.y == given.data.y).double().mean() < 0.3
    y, graph = made.data.y, made.data.graph
    alike = (y[graph.dst] == y[graph.src])[made.is_signal].double().mean()
    assert alike == pytest.approx(0.2, abs=0.06)


@pytest.mark.parametrize("name", BLOCK_MODELS)
@pytest.mark.parametrize("share", [0.1, 0.9])
def test_who_knows_the_classes_reaches_the_ceiling(name, share):
    seeds, ceiling = range(20), auc_ceiling(name, share)
    found, pairs = [], 0
    for seed in seeds:
        made = block_model(name, seed, noise_rate=share, feature_signal=0.0)
        graph, y = made.data.graph, made.data.y
        alike = y[graph.dst] == y[graph.src]
        found.append(roc_auc_score(made.is_signal, alike))
        pairs += int((~made.is_signal).sum()) // 2
    inside = 2 * (1 - ceiling)
    error = (inside * (1 - inside) / pairs) ** 0.5 / 2
    assert sum(found) / len(seeds) == pytest.approx(ceiling, abs=4 * error)
