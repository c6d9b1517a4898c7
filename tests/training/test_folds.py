import dataclasses

import pytest
import torch
from support.small_data import block_graph, several_graphs

from sgat.training.folds import folds


def one_graph():
    data = block_graph(num_nodes=97)
    return [data]


@pytest.mark.parametrize("make", [one_graph, several_graphs])
def test_each_labelled_node_validates_once_and_trains_otherwise(make, seed):
    graphs = make()
    splits = folds(graphs, 3, seed=seed)
    assert len(splits) == 3
    for place, data in enumerate(graphs):
        pool = data.train | data.val
        parts = [split[place] for split in splits]
        assert torch.equal(sum(part.val.int() for part in parts), pool.int())
        for part in parts:
            assert torch.equal(part.train ^ part.val, pool)
            assert torch.equal(part.test, data.test) and part.y is data.y


def test_classes_are_dealt_out_evenly(seed):
    (data,) = one_graph()
    pool = data.train | data.val
    for (part,) in folds([data], 3, seed=seed):
        held, all_ = (torch.bincount(data.y[mask]) for mask in (part.val, pool))
        assert ((held - all_ / 3).abs() < 1).all()


def test_the_seed_deals(seed):
    graphs = one_graph()
    first, again, other = (folds(graphs, 3, seed=s) for s in (seed, seed, seed + 1))
    assert torch.equal(first[0][0].val, again[0][0].val)
    assert not torch.equal(first[0][0].val, other[0][0].val)


def test_two_nodes_make_two_folds():
    (data,) = one_graph()
    nobody = torch.zeros_like(data.train)
    train, val = nobody.clone(), nobody.clone()
    train[3], val[5] = True, True
    splits = folds([dataclasses.replace(data, train=train, val=val)], 3, seed=0)
    assert [int(split[0].val.sum()) for split in splits] == [1, 1]


def test_labels_of_test_nodes_are_not_looked_at(seed):
    (data,) = one_graph()
    other = dataclasses.replace(data, y=torch.where(data.test, 2 - data.y, data.y))
    pairs = zip(folds([data], 3, seed=seed), folds([other], 3, seed=seed), strict=True)
    assert all(torch.equal(a.val, b.val) for (a,), (b,) in pairs)
