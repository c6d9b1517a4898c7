import torch
from support.small_data import block_graph

from sgat.graph import Graph
from sgat_lab.baselines.gcn import GCN, normalised


def dense_adjacency(graph: Graph) -> torch.Tensor:
    matrix = torch.eye(graph.num_nodes)
    matrix[graph.dst.long(), graph.src.long()] = graph.edge_weight.float()
    scale = matrix.sum(dim=1).rsqrt()
    return scale[:, None] * matrix * scale


def test_the_matrix_of_a_path_by_hand():
    graph = Graph.from_edges(torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    half, sixth = 0.5, 6**-0.5
    expected = [[half, sixth, 0], [sixth, 1 / 3, sixth], [0, sixth, half]]
    found = normalised(graph).to_dense()
    torch.testing.assert_close(found, torch.tensor(expected))


def test_weights_of_edges_count():
    weight = torch.tensor([2.0, 2.0])
    graph = Graph.from_edges(torch.tensor([[0, 1], [1, 0]]), 2, weight)
    torch.testing.assert_close(normalised(graph).to_dense(), dense_adjacency(graph))


def test_two_layers_and_their_gradients_against_dense_products():
    data = block_graph()
    model = GCN(13, 4, 3).eval()
    model.reset_parameters(torch.Generator().manual_seed(1))
    matrix = dense_adjacency(data.graph)
    first, second = model.convs
    hidden = (matrix @ (data.x @ model.projection.weight) + first.bias).relu()
    expected = matrix @ (hidden @ second.lin.weight.T) + second.bias
    found = model(data.x, data.graph)
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)
    grads = [
        torch.autograd.grad(out.square().sum(), list(model.parameters()))
        for out in (found, expected)
    ]
    torch.testing.assert_close(*grads, rtol=1e-3, atol=1e-3)
