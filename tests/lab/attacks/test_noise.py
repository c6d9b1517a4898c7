import dataclasses

import pytest
import torch
from support.small_data import block_graph

from sgat_lab.attacks import noise

DATA = dataclasses.replace(block_graph(num_nodes=211), has_directions=False)


def pairs(data) -> set[tuple[int, int]]:
    return {tuple(sorted(pair)) for pair in data.graph.edge_index.T.tolist()}


@pytest.mark.parametrize("kind", [k for k in noise.KINDS if k not in noise.CHANGED])
def test_so_many_undirected_edges_are_new(kind: str, seed: int):
    before, found = pairs(DATA), noise.add(DATA, kind, 0.3, seed)
    assert found.graph.is_undirected and before < pairs(found)
    assert len(pairs(found)) == len(before) + round(0.3 * len(before))
    again = noise.add(DATA, kind, 0.3, seed)
    assert torch.equal(found.graph.keys, again.graph.keys)


def test_dice_takes_within_classes_what_it_adds_across(seed: int):
    before, after = pairs(DATA), pairs(noise.add(DATA, "dice", 0.4, seed))
    gone, new = before - after, after - before
    assert len(gone) == len(new) == round(0.2 * len(before))
    assert all(DATA.y[a] == DATA.y[b] for a, b in gone)
    assert all(DATA.y[a] != DATA.y[b] for a, b in new)


def test_rewired_edges_keep_one_end(seed: int):
    before, after = pairs(DATA), pairs(noise.add(DATA, "rewired", 0.25, seed))
    gone, new = before - after, after - before
    assert len(gone) == len(new) == round(0.2 * len(before))
    kept = {node for pair in gone for node in pair}
    assert all(kept & set(pair) for pair in new)


def test_aimed_edges_are_at_training_nodes_and_unlike_ends_are_unlike(seed: int):
    few = torch.zeros(211, dtype=torch.bool)
    few[:180] = True
    data = dataclasses.replace(DATA, train=few)
    aimed = torch.tensor(list(pairs(noise.add(data, "aimed", 0.1, seed)) - pairs(DATA)))
    assert (DATA.y[aimed[:, 0]] != DATA.y[aimed[:, 1]]).all()
    assert float(few[aimed].any(dim=1).float().mean()) > 0.95
    found = pairs(noise.add(DATA, "unlike", 0.1, seed)) - pairs(DATA)
    unit = torch.nn.functional.normalize(DATA.x - DATA.x.mean(0), dim=1)
    one, other = torch.tensor(list(found)).T
    assert float((unit[one] * unit[other]).sum(1).mean()) < -0.1


def test_a_ring_is_joined_within(seed: int):
    ring = pairs(noise.add(DATA, "ring", 0.2, seed)) - pairs(DATA)
    neighbours: dict[int, set[int]] = {}
    for one, other in ring:
        neighbours.setdefault(one, set()).add(other)
        neighbours.setdefault(other, set()).add(one)
    closed = [bool(neighbours[one] & neighbours[other]) for one, other in ring]
    assert sum(closed) > 0.5 * len(closed)


def test_spam_comes_from_few_nodes_and_a_community_is_a_place(seed: int):
    spam = pairs(noise.add(DATA, "spam", 0.3, seed)) - pairs(DATA)
    count = torch.bincount(torch.tensor(list(spam)).flatten(), minlength=211)
    assert int(count.topk(12).values.sum()) >= len(spam)
    place = pairs(noise.add(DATA, "community", 0.1, seed)) - pairs(DATA)
    assert len({node for pair in place for node in pair}) <= 0.3 * 211


def test_preferential_edges_have_the_degrees_of_edges(seed: int):
    hub = torch.tensor([[0] * 100, list(range(50, 150))])
    both = torch.cat([DATA.graph.edge_index, hub, hub.flip(0)], dim=1)
    graph = type(DATA.graph).from_edges(both.unique(dim=1), 211)
    found = noise.add(
        dataclasses.replace(DATA, graph=graph), "preferential", 0.3, seed
    ).graph
    degree = torch.bincount(graph.dst, minlength=211)
    more = torch.bincount(found.dst, minlength=211) - degree
    assert int(more[0]) > 2 * float(more.float().mean())


def test_alike_ends_are_alike(seed: int):
    found = noise.add(DATA, "alike", 0.1, seed)
    unit = torch.nn.functional.normalize(DATA.x - DATA.x.mean(0), dim=1)
    new = torch.tensor(list(pairs(found) - pairs(DATA))).T
    likeness = (unit[new[0]] * unit[new[1]]).sum(1)
    assert float(likeness.mean()) > 2 * float((unit @ unit.T).abs().mean())
    nothing = dataclasses.replace(DATA, x=DATA.x[:, :0])
    with pytest.raises(ValueError, match="needs features"):
        noise.add(nothing, "alike", 0.1, seed)


def test_kinds_follow_one_another(seed: int):
    before, after = pairs(DATA), pairs(noise.add(DATA, "random+hub", 0.1, seed))
    first = round(0.1 * len(before))
    assert len(after - before) == first + round(0.1 * (len(before) + first))
