"""judge(): one graph, with and without labels, and what is refused."""

import re

import pytest
import torch
from sklearn.metrics import roc_auc_score
from torch import Tensor

from sgat.features import SparseFeatures
from sgat.graph import Graph
from sgat.judging import REASONS, judge
from sgat_lab.synthetic.block_models import contextual_block_model

SETTINGS = {"num_classes": 5, "noise_rate": 0.4, "feature_signal": 3.0, "seed": 1}
BLOCK = contextual_block_model(num_nodes=401, degree=15.0, num_features=13, **SETTINGS)
DATA = BLOCK.data
SMALL = contextual_block_model(
    num_nodes=101, degree=8.0, num_features=13, **SETTINGS
).data
"""For what holds whatever the edges are: each verdict takes time."""


def test_a_graph_is_judged_without_labels_and_without_a_network():
    before = torch.get_rng_state()
    found = judge(DATA.graph, DATA.x)
    assert torch.equal(torch.get_rng_state(), before)
    assert DATA.graph.log_odds is None
    assert torch.equal(found.graph.src, DATA.graph.src)
    assert roc_auc_score(BLOCK.is_signal, found.graph.log_odds) > 0.85
    assert 0 < found.noise_share < 0.5


def test_labels_of_training_nodes_are_used_and_others_are_not():
    found = judge(DATA.graph, DATA.x, DATA.y, train=DATA.train)
    # A fifth of the noise joins one class, as real edges do.
    assert found.noise_share == pytest.approx(0.32, abs=0.06)
    found = judge(SMALL.graph, SMALL.x, SMALL.y, train=SMALL.train)
    hidden = torch.where(SMALL.train, SMALL.y, -1)
    for y, train in ((hidden, None), (hidden, SMALL.train)):
        other = judge(SMALL.graph, SMALL.x, y, train=train)
        assert torch.equal(other.graph.log_odds, found.graph.log_odds)
    every = judge(SMALL.graph, SMALL.x, SMALL.y)
    assert not torch.equal(every.graph.log_odds, found.graph.log_odds)


def test_the_same_seed_gives_the_same_bits_with_sparse_features():
    x = SparseFeatures.from_dense((SMALL.x > 1).float())
    one, same, other = (judge(SMALL.graph, x, seed=seed) for seed in (0, 0, 1))
    assert torch.equal(one.graph.log_odds, same.graph.log_odds)
    assert not torch.equal(one.graph.log_odds, other.graph.log_odds)


def test_nodes_without_edges_hide_no_wrong_edge():
    x = torch.cat([SMALL.x, SMALL.x.flip(0), SMALL.x])
    edge_index = torch.stack([SMALL.graph.src, SMALL.graph.dst])
    found = judge(Graph.from_edges(edge_index, len(x)), x)
    assert found.noise_share == pytest.approx(0.32, abs=0.12)


def test_a_graph_without_edges_has_no_noise():
    empty = Graph.from_edges(torch.zeros(2, 0, dtype=torch.long), 3)
    found = judge(empty, torch.randn(3, 2), torch.tensor([0, 1, -1]))
    assert found.graph.log_odds.shape == (0,) and found.noise_share == 0


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (
            {"x": torch.ones(3, 2)},
            "`x` must have one row for each of the 401 nodes of the graph, got 3.",
        ),
        (
            {"y": torch.ones(3)},
            "`y` must have one row for each of the 401 nodes of the graph, got 3.",
        ),
        ({"y": torch.ones(401, 2)}, "`y` must have shape [N], got [401, 2]."),
    ],
)
def test_what_does_not_fit_is_refused(given: dict, sentence: str):
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        judge(DATA.graph, **({"x": DATA.x} | given))


def test_probabilities_reasons_and_stages_come_with_the_odds():
    stages: list[str] = []
    found = judge(DATA.graph, DATA.x, progress=stages.append)
    assert torch.equal(found.probability, torch.sigmoid(found.graph.log_odds))
    wrong = 1 - found.probability.double()
    assert found.noise_share == pytest.approx(float(wrong.mean()))
    back = DATA.graph.by_source.edge
    assert torch.equal(found.reason, found.reason[back])
    said = [REASONS[place] for place in found.reason.unique()]
    assert len(said) >= 3 and stages[0] == "drawing pairs to compare with"
    speaks_against = torch.tensor(
        ["unlike" in text or "wrong" in text for text in REASONS]
    )
    assert torch.equal(speaks_against[found.reason], found.probability < 0.5)


def test_edges_alone_are_enough():
    found = judge(DATA.graph)
    # Nobody says of nodes without features that they are alike, or not.
    said = {REASONS[place] for place in found.reason.unique()}
    assert not said & {"its ends are alike", "its ends are unlike"}
    assert roc_auc_score(BLOCK.is_signal, found.graph.log_odds) > 0.7


def test_features_that_no_two_nodes_share_are_none():
    found = judge(SMALL.graph)
    for nothing in (torch.zeros(101, 0), SparseFeatures.identity(101)):
        other = judge(SMALL.graph, nothing)
        assert torch.equal(other.graph.log_odds, found.graph.log_odds)
    assert not torch.equal(
        judge(SMALL.graph, SMALL.x).graph.log_odds, found.graph.log_odds
    )


def king_moves(size: int, extra: float) -> tuple[Graph, Tensor]:
    """A board whose squares are joined to those around them, and any pairs besides."""
    place = torch.arange(size * size).view(size, size)
    ends = [
        (place[:-1], place[1:]),
        (place[:, :-1], place[:, 1:]),
        (place[:-1, :-1], place[1:, 1:]),
        (place[1:, :-1], place[:-1, 1:]),
    ]
    real = torch.cat([torch.stack([a.flatten(), b.flatten()]) for a, b in ends], dim=1)
    number = int(extra * real.shape[1])
    generator = torch.Generator().manual_seed(0)
    wrong = torch.randint(size * size, (2, number), generator=generator)
    both = torch.cat([real, wrong], dim=1)
    graph = Graph.from_edges(both, size * size, make_undirected=True)
    step = torch.stack([graph.src // size - graph.dst // size, graph.src % size])
    step[1] -= graph.dst % size
    return graph, step.abs().max(dim=0).values > 1


@pytest.mark.parametrize("extra", [0.0, 0.1, 0.5, 1.0])
def test_without_features_wrong_edges_are_not_taken_for_real_ones_that_stand_alone(
    extra,
):
    graph, is_wrong = king_moves(41, extra)
    share = float(is_wrong.float().mean())
    assert abs(judge(graph).noise_share - share) < (0.03 if share < 0.1 else 0.05)


@pytest.mark.parametrize("seed", [0, 1])
def test_a_clean_graph_that_looks_like_chance_has_no_wrong_edges(seed):
    made = contextual_block_model(
        num_nodes=3000, degree=8.0, noise_rate=0.0, feature_signal=0.5, seed=seed
    )
    assert judge(made.data.graph, made.data.x).noise_share < 0.03
