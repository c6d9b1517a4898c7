import pytest
import torch
from support.small_data import block_graph

from sgat.data.given_data import GivenData
from sgat.data.pyg import from_pyg
from sgat.data.splits import with_role


@pytest.fixture(scope="module")
def make(pyg):
    return pyg.data.Data


EDGES = torch.tensor([[2, 0, 1, 1, 0], [0, 1, 1, 2, 1]])


def test_order_loops_and_duplicates_survive_pruning(make):
    data = make(x=torch.eye(3), edge_index=EDGES, edge_weight=torch.arange(5.0) + 1)
    given = GivenData(data)
    # Edges of the graph by (dst, src): 2→0, 0→1 (twice given), 1→2.
    factor = torch.tensor([1.0, 0.0, 1.0])
    small = given.pruned(given.read(), [factor > 0], [factor])
    assert small.edge_index.tolist() == [[2, 1, 1], [0, 1, 2]]
    assert small.edge_weight.tolist() == [1.0, 3.0, 4.0]


def test_one_column_of_edge_attributes_is_the_weight(make):
    data = make(x=torch.eye(3), edge_index=EDGES, edge_attr=torch.full((5, 1), 2.0))
    assert from_pyg(data).graph.weight.tolist() == [2.0, 4.0, 2.0]


def test_masks_of_another_length_are_refused(make):
    data = make(x=torch.rand(7, 2), edge_index=torch.tensor([[0, 1], [1, 2]]))
    data.train_mask = torch.ones(5, dtype=torch.bool)
    with pytest.raises(ValueError, match="`train_mask` must have 7 entries, one for"):
        from_pyg(data)


def test_masks_with_several_splits_are_chosen_by_number(make):
    data = block_graph()
    masks = {
        f"{role}_mask": torch.stack([getattr(data, role), ~getattr(data, role)], dim=1)
        for role in ("train", "val", "test")
    }
    pyg = make(x=data.x, edge_index=data.graph.edge_index, y=data.y, **masks)
    assert torch.equal(from_pyg(pyg, split_index=1).train, ~data.train)
    with pytest.raises(ValueError, match="`split_index` must be 0 to 1"):
        from_pyg(pyg, split_index=2)


def test_a_role_for_all_labelled_nodes(make):
    data = make(x=torch.eye(3), edge_index=EDGES, y=torch.tensor([0, -1, 1]))
    found = with_role(from_pyg(data), "test")
    assert found.test.tolist() == [True, False, True] and not found.train.any()


def test_without_features_every_node_has_its_own(make):
    data = from_pyg(make(edge_index=EDGES, num_nodes=4))
    assert torch.equal(data.x.to_dense(), torch.eye(4))


def test_data_without_edges_is_refused(make):
    with pytest.raises(ValueError, match="`data` must have an `edge_index`"):
        from_pyg(make(x=torch.eye(3)))
