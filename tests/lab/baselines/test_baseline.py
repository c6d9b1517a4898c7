import copy
import gc

import torch
from support.small_data import block_graph

from sgat.features import SparseFeatures
from sgat_lab.baselines.baseline import PerGraph, Projection, dense, seeded


def test_a_value_is_computed_once_per_graph_and_goes_with_it():
    asked = []

    def count(graph) -> int:
        asked.append(graph.num_edges)
        return graph.num_edges

    graphs = [block_graph(seed=seed).graph for seed in range(2)]
    kept = PerGraph(count)
    values = [kept(graph) for graph in (*graphs, *graphs)]
    assert values[:2] == values[2:] == asked
    assert copy.deepcopy(kept)(graphs[0]) == values[0] and len(asked) == 2
    assert len(kept._known) == 2
    del graphs
    gc.collect()
    assert len(kept._known) == 0


def test_seeds_rule_the_noise_and_torch_is_left_alone(seed):
    before = torch.random.get_rng_state()
    drawn = []
    for number in (seed, seed, seed + 1):
        with seeded(torch.tensor(number), torch.device("cpu")):
            drawn.append(torch.rand(5))
    assert torch.equal(drawn[0], drawn[1]) and not torch.equal(drawn[0], drawn[2])
    assert torch.equal(before, torch.random.get_rng_state())


def test_a_projection_is_a_product_whatever_the_features():
    graph, x = block_graph().graph, torch.randn(211, 7)
    layer = Projection(7, 5, bias=True)
    layer.reset_parameters()
    torch.nn.init.normal_(layer.bias)
    expected = x @ layer.weight + layer.bias
    torch.testing.assert_close(layer(x, graph, None), expected)
    sparse = SparseFeatures.from_dense(x)
    torch.testing.assert_close(layer(sparse, graph, None), expected)
    assert torch.equal(dense(sparse), x) and dense(x) is x
