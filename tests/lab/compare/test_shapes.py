"""What is left of a graph, against counting it out."""

import pytest

from sgat.config import DataConfig
from sgat.data.configured import Loaded
from sgat.data.named import load_karate
from sgat_lab.compare.plan import Comparison
from sgat_lab.compare.pruners import select
from sgat_lab.compare.shapes import shapes
from sgat_lab.trials.store import Store


def test_isolated_nodes_and_homophily_are_counted(tmp_path):
    data, store = load_karate(), Store(tmp_path)
    made = Comparison(
        DataConfig(name="karate"),
        Loaded([data]),
        budgets=(0.1,),
        methods=("random", "local-degree", "sgat"),
        seeds=(0, 1, 2),
    )
    found = shapes(made, store)
    # SGAT has not learned yet.
    assert set(found) == {("full", 1.0), ("random", 0.1), ("local-degree", 0.1)}
    for method in ("random", "local-degree"):
        alone, same = [], []
        for seed in (0, 1, 2):
            kept = made.kept(method, 0.1, seed, store)
            assert kept is not None
            (smaller,) = select([data], kept)
            pairs = smaller.graph.edge_index.T.tolist()
            joined = {node for pair in pairs for node in pair}
            alone.append((34 - len(joined)) / 34)
            agree = [data.y[a] == data.y[b] for a, b in pairs]
            same.append(sum(map(bool, agree)) / len(agree))
        assert found[method, 0.1].isolated == pytest.approx(sum(alone) / 3)
        assert found[method, 0.1].homophily == pytest.approx(sum(same) / 3)
    assert found["full", 1.0].isolated == 0
