import numpy as np
import pytest
import torch

from sgat.data import load
from sgat.data.node_data import NodeData
from sgat.data.splits import (
    Split,
    by_graph,
    from_column,
    random_fractions,
    random_per_class,
    stratified_fractions,
)
from sgat.features import SparseFeatures
from sgat.graph import Graph

SIZES = (31, 1, 19, 101, 2, 3)


LABELS = torch.repeat_interleave(torch.arange(len(SIZES)), torch.tensor(SIZES))


def roles(split):
    return [split.train.tolist(), split.val.tolist(), split.test.tolist()]


def named(name, nodes=5):
    nobody = torch.zeros(nodes, dtype=torch.bool)
    y = torch.arange(nodes) % 2
    y[-1] = -1
    edge_index = torch.zeros(2, 0, dtype=torch.int64)
    return NodeData(
        graph=Graph.from_edges(edge_index, nodes),
        x=SparseFeatures.identity(nodes),
        y=y,
        train=nobody,
        val=nobody,
        test=nobody,
        classes=("a", "b"),
        name=name,
    )


def assert_disjoint(split):
    everyone = np.concatenate(roles(split))
    assert len(np.unique(everyone)) == len(everyone)
    assert all(ids == sorted(ids) for ids in roles(split))


@pytest.mark.parametrize("seed", [0, 1, 97])
def test_random_per_class_draws_the_asked_numbers(seed):
    y = torch.arange(701) % 7
    y[::5] = -1
    split = random_per_class(y, per_class=11, num_val=103, num_test=211, seed=seed)
    assert torch.bincount(y[torch.from_numpy(split.train)]).tolist() == [11] * 7
    assert split.sizes == (77, 103, 211)
    assert all((y[ids] >= 0).all() for ids in roles(split))
    assert_disjoint(split)


@pytest.mark.parametrize("draw", [random_fractions, stratified_fractions])
def test_the_seed_alone_decides_the_split(draw):
    first, again, other = (draw(LABELS, seed=seed) for seed in (3, 3, 4))
    assert roles(first) == roles(again)
    assert roles(first) != roles(other)


def test_a_class_that_is_too_small_is_named():
    y = torch.tensor([0] * 23 + [1] * 17)
    with pytest.raises(ValueError) as error:
        random_per_class(y)
    assert str(error.value) == (
        "`per_class` must be at most 17, the size of the smallest class (class 1),"
        " got 20; split by shares instead, for instance 'random-60-20-20'."
    )


def test_too_few_nodes_for_validation_and_test_are_refused():
    with pytest.raises(ValueError, match=r"must be at most 33, .* got 23 \+ 11;"):
        random_per_class(torch.arange(43) % 2, per_class=5, num_val=23, num_test=11)


def test_every_class_has_its_shares_and_at_least_one_training_node():
    split = stratified_fractions(LABELS, seed=5)
    counts = [
        torch.bincount(LABELS[ids], minlength=len(SIZES)).tolist()
        for ids in roles(split)
    ]
    assert counts == [
        [19, 1, 11, 61, 1, 2],
        [6, 0, 4, 20, 1, 0],
        [6, 0, 4, 20, 0, 1],
    ]
    assert_disjoint(split)


def test_shares_below_one_leave_nodes_without_a_role():
    y = torch.zeros(101, dtype=torch.int64)
    for draw in (random_fractions, stratified_fractions):
        assert draw(y, (0.1, 0.2, 0.3), seed=1).sizes == (10, 20, 31)


def test_half_a_node_is_rounded_up_whatever_floats_make_of_it():
    y = torch.zeros(50, dtype=torch.int64)
    for draw in (random_fractions, stratified_fractions):
        assert draw(y, (0.29, 0.0, 0.71)).sizes == (15, 0, 35)


def test_a_small_training_share_still_gives_each_class_a_node():
    split = stratified_fractions(LABELS, (0.01, 0.0, 0.99), seed=1)
    assert split.sizes == (len(SIZES), 0, len(LABELS) - len(SIZES))


def test_random_fractions_deal_out_multilabel_nodes_and_skip_unlabelled_ones():
    assert random_fractions(torch.zeros(10, 3), (0.5, 0.3, 0.2)).sizes == (5, 3, 2)
    y = torch.tensor([-1, 0, 1, -1, 0, 1, 0])
    split = random_fractions(y, (0.6, 0.2, 0.2))
    assert split.sizes == (3, 1, 1)
    assert not {0, 3} & {*split.train, *split.val, *split.test}


@pytest.mark.parametrize(
    "fractions", [(0.0, 0.5, 0.5), (0.6, 0.3, 0.2), (0.6, -0.1, 0.2)]
)
def test_impossible_shares_are_refused(fractions):
    for draw in (random_fractions, stratified_fractions):
        with pytest.raises(ValueError, match="`fractions` must be three shares"):
            draw(LABELS, fractions)


def test_a_split_by_class_refuses_several_labels():
    for draw in (random_per_class, stratified_fractions):
        with pytest.raises(ValueError, match=r"one class per node.*\[7, 3\]"):
            draw(torch.zeros(7, 3))


def test_a_column_says_the_roles():
    column = ["train", " Val", "", None, float("nan"), "TEST", "validation", "train"]
    split = from_column(column)
    assert roles(split) == [[0, 7], [1, 6], [5]]
    assert split.num_nodes == 8
    assert roles(from_column(np.array(["test", "train"]))) == [[1], [], [0]]


def test_a_wrong_word_in_the_column_is_named_with_its_row():
    with pytest.raises(ValueError) as error:
        from_column(["train", "test", "tset"])
    assert str(error.value) == (
        "The split column must hold 'train', 'val', 'test' or nothing,"
        " got 'tset' in row 2."
    )


def test_whole_graphs_get_a_role_and_unlabelled_nodes_none():
    graphs = [named("set-A", 5), named("set-B", 7), named("set-C", 3)]
    first, second, third = by_graph(graphs, {"train": ["B"], "test": ["A"]})
    assert first.test.tolist() == [True] * 4 + [False]
    assert second.train.sum() == 6
    assert not (third.train | third.val | third.test).any()
    assert not graphs[0].test.any()


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ({"train": ["Z"]}, "Unknown graph 'Z'; choose from A, B."),
        ({"fit": ["A"]}, "A role must be 'train', 'val' or 'test', got 'fit'."),
        (
            {"train": ["A"], "test": ["A"]},
            "The graph 'A' must have one role, got 'train' and 'test'.",
        ),
    ],
)
def test_wrong_roles_are_named(chosen, message):
    with pytest.raises(ValueError) as error:
        by_graph([named("set-A"), named("set-B")], chosen)
    assert str(error.value) == message


def test_a_split_for_another_graph_is_refused():
    with pytest.raises(ValueError) as error:
        load("karate", split=from_column(["train", "test"]))
    assert str(error.value) == (
        "`split` must be for the 34 nodes of 'karate', got one for 2 nodes."
    )


def test_restricting_a_split_renumbers_its_nodes():
    split = from_column(["train", "val", "test", "train", "", "test"])
    assert roles(split.restrict(torch.tensor([1, 3, 5]))) == [[1], [0], [2]]


def test_masks_and_ids_say_the_same():
    split = from_column(["train", "", "test", "val", "train"])
    again = Split.from_masks(*split.masks())
    assert roles(again) == roles(split)
    assert again.masks()[0].tolist() == [True, False, False, False, True]
