import dataclasses

import pytest
import torch
from support.small_data import block_graph, several_graphs

from sgat.data.node_data import check, fingerprint, merge
from sgat.features import SparseFeatures


def test_selected_edges_bring_their_columns():
    data = block_graph()
    column = torch.arange(data.graph.num_edges).float()
    numbered = dataclasses.replace(data.graph, log_odds=column)
    data = dataclasses.replace(data, graph=numbered)
    kept = torch.arange(data.graph.num_edges) % 3 == 0
    smaller = data.select_edges(kept)
    assert torch.equal(smaller.graph.edge_index, data.graph.edge_index[:, ::3])
    assert smaller.graph.log_odds.tolist() == column[::3].tolist()
    assert block_graph().select_edges(kept).graph.log_odds is None


def test_the_role_of_a_node_is_its_place_among_the_roles():
    data = block_graph()
    nobody = torch.zeros_like(data.train)
    first, second, third = (
        nobody.index_fill(0, torch.tensor(n), True) for n in (2, 3, 5)
    )
    role = data.with_split(first, second, third).role
    assert role[:7].tolist() == [-1, -1, 0, 1, -1, 2, -1]
    assert data.with_split(nobody, nobody, nobody).role.eq(-1).all()


def spoiled(**changes):
    data = block_graph()
    x, y = data.x.clone(), data.y.clone()
    values = {
        "nan": {
            "x": x.index_put(
                (torch.tensor(3), torch.tensor(5)), torch.tensor(float("nan"))
            )
        },
        "inf": {
            "x": SparseFeatures.from_dense(
                x.index_fill(1, torch.tensor(2), float("inf"))
            )
        },
        "label": {"y": y.index_fill(0, torch.tensor(7), 3)},
        "label below": {"y": y.index_fill(0, torch.tensor(7), -2)},
        "rows": {"x": x[:-1]},
        "alone": {"train": data.train & (y == 1)},
        "empty": {"train": torch.zeros_like(data.train)},
        "mask": {"val": data.val.int()},
        "twice": {"val": data.train},
        "unlabelled": {"y": torch.full_like(y, -1)},
        "one class": {"classes": ("a",), "y": torch.zeros_like(y)},
        "multi": {"y": torch.full((len(y), 3), 0.5)},
    }
    return dataclasses.replace(data, **values[changes["kind"]])


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (
            "nan",
            "must be finite and at most 1e+15 in size, got nan at node 3, column 5.",
        ),
        (
            "inf",
            "must be finite and at most 1e+15 in size, got inf at node 0, column 2.",
        ),
        ("label", "must be a class 0 to 2, or -1 for no label, got 3 at node 7."),
        ("label below", "or -1 for no label, got -2 at node 7."),
        ("rows", "`x` of 'data' must have one row for each of the 211 nodes"),
        ("alone", "All training nodes of 'data' have the class '1', so there is"),
        ("empty", "The training set of 'data' is empty"),
        ("mask", "`val` of 'data' must be a boolean mask with 211 entries"),
        ("twice", "is in more than one of `train`, `val` and `test`."),
        ("unlabelled", "`train` of 'data' names node"),
        ("one class", "must hold at least 2 classes, got 1."),
        ("multi", "must hold 0 or 1 for every label, got 0.5 at node 0, label 0."),
    ],
)
def test_data_no_model_can_learn_from_is_refused(kind, message):
    data = dataclasses.replace(spoiled(kind=kind), name="data")
    with pytest.raises(ValueError) as error:
        check([data])
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_graphs_that_differ_are_refused():
    first, second = several_graphs()[:2]
    with pytest.raises(ValueError, match="All graphs must have the same features"):
        check([first, dataclasses.replace(second, x=second.x[:, 1:])])
    with pytest.raises(ValueError, match="All graphs must have the same classes"):
        check([first, dataclasses.replace(second, classes=first.classes[1:])])
    with pytest.raises(ValueError, match="at least one graph, got none"):
        check([])


def test_merging_puts_graphs_side_by_side():
    graphs = several_graphs()[:3]
    whole = merge(graphs)
    assert whole.num_nodes == sum(data.num_nodes for data in graphs)
    assert whole.graph.num_edges == sum(data.graph.num_edges for data in graphs)
    assert torch.equal(whole.y, torch.cat([data.y for data in graphs]))


def test_the_fingerprint_tells_data_apart():
    data = block_graph()
    same = fingerprint([block_graph()])
    assert fingerprint([data]) == same
    y = data.y.clone()
    y[0] = (y[0] + 1) % 3
    assert fingerprint([dataclasses.replace(data, y=y)]) != same
    assert fingerprint([dataclasses.replace(data, train=~data.train)]) != same
    kept = torch.ones(data.graph.num_edges, dtype=torch.bool)
    kept[7] = False
    assert (
        fingerprint([dataclasses.replace(data, graph=data.graph.select(kept))]) != same
    )
