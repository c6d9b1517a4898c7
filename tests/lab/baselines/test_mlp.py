import torch
from support.small_data import block_graph

from sgat_lab.baselines.mlp import MLP


def test_two_layers_by_hand():
    data = block_graph()
    model = MLP(13, 4, 3).eval()
    model.reset_parameters(torch.Generator().manual_seed(1))
    hidden = (data.x @ model.first.weight + model.first.bias).relu()
    expected = hidden @ model.rest[0].weight.T + model.rest[0].bias
    torch.testing.assert_close(model(data.x, data.graph), expected)


def test_it_listens_to_no_edge():
    data = block_graph()
    model = MLP(13, 4, 3).eval()
    model.reset_parameters()
    nothing = data.graph.select(torch.zeros(data.graph.num_edges, dtype=torch.bool))
    assert torch.equal(model(data.x, data.graph), model(data.x, nothing))
    assert int(model.compute(data.x, data.graph).num_used) == 0
