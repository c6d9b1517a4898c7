import dataclasses

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from support.small_data import several_graphs

from sgat.data import NodeData, load
from sgat.data.files import FileOptions, read_graph
from sgat.data.synthetic import inject
from sgat.data.synthetic.injection import write_injected
from sgat.graph import Graph
from sgat_lab.synthetic.block_models import contextual_block_model

KINDS = ["random", "cross-class", "hub"]


def node_data(graph, y):
    nobody = torch.zeros(graph.num_nodes, dtype=torch.bool)
    return NodeData(
        graph=graph,
        x=torch.ones(graph.num_nodes, 2),
        y=y,
        train=nobody,
        val=nobody,
        test=nobody,
        classes=(0, 1, 2),
        name="small",
    )


@st.composite
def small_data(draw, undirected):
    num_nodes = draw(st.integers(1, 13))
    node = st.integers(0, num_nodes - 1)
    edges = draw(st.lists(st.tuples(node, node), max_size=23))
    index = torch.tensor(edges, dtype=torch.int64).reshape(-1, 2).T
    weight = None
    if draw(st.booleans()):
        weight = torch.arange(1.0, index.shape[1] + 1)
    y = draw(
        st.lists(st.integers(-1, 2), min_size=num_nodes, max_size=num_nodes).map(
            torch.tensor
        )
    )
    graph = Graph.from_edges(index, num_nodes, weight, make_undirected=undirected)
    return node_data(graph, y)


def edge_set(graph, keep=slice(None)):
    return set(zip(graph.src[keep].tolist(), graph.dst[keep].tolist(), strict=True))


def possible_edges(data, kind, undirected, hubs):
    """Every edge that may be added, found by trying them all."""
    graph, y = data.graph, data.y.tolist()
    old = edge_set(graph)
    degree = torch.bincount(graph.dst, minlength=graph.num_nodes) + torch.bincount(
        graph.src, minlength=graph.num_nodes
    )
    top = sorted(range(graph.num_nodes), key=lambda i: (-int(degree[i]), i))[:hubs]
    given = graph.input_edge[graph.input_edge >= 0]
    senders, receivers = (set(end[given].tolist()) for end in (graph.src, graph.dst))
    has_sides = given.numel() and not senders & receivers
    if has_sides and not undirected:
        top = sorted(receivers, key=lambda i: (-int(degree[i]), i))[:hubs]
    found = set()
    for src in range(graph.num_nodes):
        for dst in range(graph.num_nodes):
            new = src != dst and (src, dst) not in old
            if undirected:
                new = new and (dst, src) not in old
            if has_sides:
                ways = [(src, dst), (dst, src)][: 1 + undirected]
                new = new and any(a in senders and b in receivers for a, b in ways)
            if kind == "cross-class":
                new = new and min(y[src], y[dst]) >= 0 and y[src] != y[dst]
            if kind == "hub":
                new = new and (dst in top or (undirected and src in top))
            if new:
                found.add((src, dst))
    return found


# Duplicates among the drawn edges are merged with a log message, not a warning.
@settings(deadline=None, max_examples=80)
@given(st.data())
@pytest.mark.parametrize("undirected", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_added_edges_are_new_and_of_their_kind_and_counts_are_exact(
    kind, undirected, draws
):
    data = draws.draw(small_data(undirected))
    rate = draws.draw(st.floats(0, 2))
    hubs = draws.draw(st.integers(1, data.num_nodes))
    allowed = possible_edges(data, kind, undirected, hubs)
    step = 2 if undirected else 1
    count = step * round(rate * data.graph.num_edges / step)
    if count > len(allowed):
        with pytest.raises(ValueError, match="has no room for"):
            inject(data, kind, rate, undirected=undirected, hubs=hubs)
        return
    result = inject(data, kind, rate, 7, undirected=undirected, hubs=hubs)
    graph, added = result.data.graph, result.added
    assert added.shape == (data.graph.num_edges + count,) == graph.src.shape
    assert int(added.sum()) == count
    assert edge_set(graph, added) <= allowed
    assert edge_set(graph, ~added) == edge_set(data.graph)
    assert torch.equal(graph.edge_weight[~added], data.graph.edge_weight)
    assert (graph.edge_weight[added] == 1).all()
    key = graph.dst.long() * graph.num_nodes + graph.src
    assert (key.diff() > 0).all()
    assert torch.equal(
        graph.row_ptr[1:], graph.dst.bincount(minlength=graph.num_nodes).cumsum(0)
    )
    if undirected:
        assert graph.is_undirected == data.graph.is_undirected
        assert torch.equal(added[graph.by_source.edge], added)
    assert graph.loop_weight is data.graph.loop_weight


@pytest.mark.parametrize("undirected", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_edges_between_users_and_items_are_joined_by_such(kind, undirected, tmp_path):
    # Items first, so that an item has a lower number than a user.
    rows = [(f"u{n}", f"i{n * k % 11}") for n in range(23) for k in (1, 2, 3)]
    edges = "\n".join(f"{u},{i}" for u, i in dict.fromkeys(rows))
    (tmp_path / "e.csv").write_text(f"src,dst\n{edges}\n")
    names = [f"i{n}" for n in range(11)] + [f"u{n}" for n in range(23)] + ["alone"]
    nodes = "\n".join(f"{name},{n % 3}" for n, name in enumerate(names))
    (tmp_path / "n.csv").write_text(f"id,y\n{nodes}\n")
    options = FileOptions(label="y", undirected=undirected)
    files = read_graph(tmp_path / "e.csv", tmp_path / "n.csv", options=options)
    injected = inject(files.data, kind, 0.5, undirected=undirected)
    write_injected([injected], tmp_path / "out", files)
    added = written_edges(pq.read_table(tmp_path / "out" / "added.parquet"))
    assert len(added) == round(0.5 * len(files.edges))
    assert {src[0] + dst[0] for src, dst in added} == {"ui"}
    if kind == "cross-class":
        place = {name: n % 3 for n, name in enumerate(names)}
        assert all(place[src] != place[dst] for src, dst in added)


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_seed_adds_the_same_edges_and_another_seed_does_not(kind):
    data = contextual_block_model(num_nodes=211).data
    one, two, other = (inject(data, kind, 0.5, seed) for seed in (1, 1, 2))
    assert torch.equal(one.data.graph.src, two.data.graph.src)
    assert torch.equal(one.added, two.added)
    assert not torch.equal(one.data.graph.src, other.data.graph.src)


def test_all_room_can_be_used():
    (data,) = load("karate")
    room = 34 * 33 - data.graph.num_edges
    result = inject(data, "random", room / data.graph.num_edges)
    assert result.data.graph.num_edges == 34 * 33


def test_no_room_is_told_in_one_sentence():
    (data,) = load("karate")
    with pytest.raises(ValueError) as error:
        inject(data, "random", 7.0)
    assert str(error.value) == (
        "'karate' has no room for 546 new random pairs; lower `rate`, which was 7.0."
    )
    with pytest.raises(ValueError) as error:
        inject(data, "hub", 1.0, hubs=1, undirected=False)
    assert str(error.value) == (
        "'karate' has no room for 156 new hub edges; lower `rate`, which was 1.0,"
        " or raise `hubs`."
    )


def test_hubs_are_by_default_a_twentieth_of_the_nodes():
    data = contextual_block_model(num_nodes=401, degree=3).data
    result = inject(data, "hub", 0.5, undirected=False)
    hubs = result.data.graph.dst[result.added].unique()
    degree = data.graph.row_ptr.diff()
    assert len(hubs) == 21
    assert degree[hubs.long()].min() >= degree.sort(descending=True).values[20]


def test_nothing_but_the_edges_changes_and_the_argument_stays_as_it_was():
    (data,) = load("karate")
    before = data.graph.src.clone()
    result = inject(data, "cross-class", 0.5)
    assert torch.equal(data.graph.src, before)
    for field in ("x", "y", "train", "val", "test", "classes", "name"):
        assert getattr(result.data, field) is getattr(data, field)


def test_multilabel_data_take_random_edges_but_no_cross_class_ones():
    data = several_graphs()[0]
    assert inject(data, "random", 0.5).added.any()
    with pytest.raises(ValueError) as error:
        inject(data, "cross-class")
    assert str(error.value) == (
        "`kind` must be random or hub for 'ppi-shaped-0', whose nodes have several"
        " labels at once, got 'cross-class'."
    )


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            {"kind": "hubs"},
            "`kind` must be one of random, cross-class, hub, got 'hubs'.",
        ),
        ({"rate": -1.0}, "`rate` must be finite and at least 0, got -1.0."),
        ({"rate": float("nan")}, "`rate` must be finite and at least 0, got nan."),
        ({"rate": float("inf")}, "`rate` must be finite and at least 0, got inf."),
        ({"hubs": 0}, "`hubs` must be from 1 to the number of nodes, 34, got 0."),
        ({"seed": -1}, "`seed` must be at least 0, got -1."),
    ],
)
def test_bad_arguments_are_named(options, sentence):
    (data,) = load("karate")
    with pytest.raises(ValueError) as error:
        inject(data, **options)
    assert str(error.value) == sentence


@pytest.mark.gpu
@pytest.mark.parametrize("kind", KINDS)
def test_edges_are_added_on_a_gpu_repeatably(kind):
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    data = contextual_block_model(num_nodes=2003, device="cuda").data
    one, two = (inject(data, kind, 0.5) for _ in range(2))
    assert one.added.device.type == one.data.graph.device.type == "cuda"
    pairs = round(0.5 * data.graph.num_edges / 2)
    assert int(one.added.sum()) == 2 * pairs
    assert torch.equal(one.data.graph.src, two.data.graph.src)
    assert torch.equal(one.added, two.added)


def written_edges(table):
    return set(zip(table["src"].to_pylist(), table["dst"].to_pylist(), strict=True))


def test_written_data_are_read_again_unchanged(tmp_path):
    data = contextual_block_model(num_nodes=53, num_features=3, num_classes=3).data
    y = data.y.clone()
    y[7] = -1
    nobody = torch.arange(53) == 7
    data = dataclasses.replace(
        data,
        y=y,
        train=data.train & ~nobody,
        val=data.val & ~nobody,
        test=data.test & ~nobody,
        graph=dataclasses.replace(
            data.graph,
            weight=torch.arange(1.0, data.graph.num_edges + 1),
        ),
        node_ids=np.array([f"né, {i}" for i in range(53)]),
        classes=("a", "b", "c"),
    )
    injected = inject(data, "cross-class", 0.3)
    files = write_injected([injected], tmp_path / "out")
    assert [file.name for file in files] == [
        "added.parquet",
        "edges.parquet",
        "nodes.parquet",
    ]
    again = read_graph(
        tmp_path / "out" / "edges.parquet",
        tmp_path / "out" / "nodes.parquet",
        options=FileOptions(label="label"),
    ).data
    old = injected.data
    for field in ("x", "y", "train", "val", "test"):
        torch.testing.assert_close(
            getattr(again, field), getattr(old, field), rtol=0, atol=0
        )
    for field in ("dst", "src", "weight"):
        assert torch.equal(getattr(again.graph, field), getattr(old.graph, field))
    assert again.classes == old.classes
    assert again.node_ids.tolist() == old.node_ids.tolist()

    added = written_edges(pq.read_table(tmp_path / "out" / "added.parquet"))
    src, dst = (
        old.node_ids[end[injected.added]] for end in (old.graph.src, old.graph.dst)
    )
    assert added == set(zip(src, dst, strict=True))
    assert len(added) == int(injected.added.sum()) > 0


def test_identity_features_are_left_out(tmp_path):
    (data,) = load("karate")
    write_injected([inject(data, rate=0.5)], tmp_path / "out")
    table = pq.read_table(tmp_path / "out" / "nodes.parquet")
    assert table.column_names == ["id", "label", "split"]


def test_several_graphs_and_labels_get_a_folder_and_columns_each(tmp_path):
    graphs = [inject(data) for data in several_graphs()[2:]]
    files = write_injected(graphs, tmp_path / "deep" / "out")
    assert len(files) == 9
    place = tmp_path / "deep" / "out" / "2"
    table = pq.read_table(place / "nodes.parquet")
    assert table["split"].to_pylist() == ["test"] * len(table)
    assert table["label_6"].to_pylist() == graphs[2].data.y[:, 6].tolist()


def test_a_folder_that_holds_something_is_left_alone(tmp_path):
    (data,) = load("karate")
    (tmp_path / "out").mkdir()
    injected = [inject(data, rate=0.5)]
    write_injected(injected, tmp_path / "out")
    with pytest.raises(ValueError) as error:
        write_injected(injected, tmp_path / "out")
    assert str(error.value) == (
        f"The output folder {str(tmp_path / 'out')!r} must be new or empty; choose"
        f" another or remove it."
    )


def test_a_failure_on_the_way_leaves_nothing_behind(tmp_path, monkeypatch):
    (data,) = load("karate")

    def full_disk(table, place):
        if place.name == "nodes.parquet":
            raise OSError(28, "No space left on device")
        place.write_bytes(b"half")

    monkeypatch.setattr(pq, "write_table", full_disk)
    with pytest.raises(OSError, match="No space left"):
        write_injected([inject(data, rate=0.5)], tmp_path / "out")
    assert list(tmp_path.iterdir()) == []
