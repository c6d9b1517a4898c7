import torch
from sklearn.metrics import roc_auc_score

from sgat.features import SparseFeatures
from sgat.graph import Graph
from sgat_lab.attacks.auto_encoder import auto_encoder
from sgat_lab.synthetic.block_models import contextual_block_model


def test_edges_within_blocks_score_above_noise_and_by_seed_alone(seed):
    made = contextual_block_model(
        num_nodes=211, num_classes=3, noise_rate=0.3, feature_signal=3.0, seed=seed
    )
    x, graph = made.data.x, made.data.graph
    found = auto_encoder(x, graph, seed=seed)
    assert roc_auc_score(made.is_signal, found) > 0.7
    assert torch.equal(found, auto_encoder(x, graph, seed=seed))
    assert not torch.equal(found, auto_encoder(x, graph, seed=seed + 1))
    assert torch.allclose(found, found[graph.reverse_edge], atol=1e-4), (
        "both directions"
    )
    sparse = auto_encoder(SparseFeatures.from_dense(x), graph, seed=seed)
    assert torch.allclose(found, sparse, atol=1e-2)


def test_no_edges_have_no_scores():
    graph = Graph.from_edges(torch.zeros(2, 0, dtype=torch.long), 3)
    assert len(auto_encoder(torch.ones(3, 2), graph)) == 0


def test_a_graph_with_all_its_edges_has_no_pairs_to_learn_from():
    src, dst = torch.cartesian_prod(torch.arange(5), torch.arange(5)).T
    graph = Graph.from_edges(torch.stack([src, dst])[:, src != dst], 5)
    found = auto_encoder(torch.eye(5), graph)
    assert len(found) == 20 and bool(found.isfinite().all())
