import numpy as np
import pytest
import torch
from support.attacked import CLASSES, write_graphs

from sgat.features import SparseFeatures
from sgat_lab.attacks.graphs import (
    has_kind,
    noisy_graph,
    read_attacked,
    read_more,
)


@pytest.fixture
def root(tmp_path) -> str:
    write_graphs(tmp_path)
    return str(tmp_path)


def test_edges_that_the_attack_added_are_wrong_and_no_others(root):
    found = read_attacked("cora", 0.25, root)
    arrays = np.load(f"{root}/Attacked/cora.npz")
    clean = {tuple(sorted(pair)) for pair in arrays["edges_clean"].T.tolist()}
    pairs = found.data.graph.edge_index.T.tolist()
    assert found.wrong.tolist() == [tuple(sorted(p)) not in clean for p in pairs]
    assert 0 < int(found.wrong.sum()) < len(pairs)
    assert len(pairs) == 2 * arrays["edges_metattack_0.25"].shape[1]
    assert not read_attacked("cora", 0.0, root).wrong.any()


def test_attacked_graphs_have_the_nodes_of_their_file(root):
    data = read_attacked("cora", 0.25, root).data
    arrays = np.load(f"{root}/Attacked/cora.npz")
    for role in ("train", "val", "test"):
        found = getattr(data, role).nonzero()[:, 0].tolist()
        assert found == sorted(arrays[role].tolist())
    assert isinstance(data.x, SparseFeatures)
    assert data.y.tolist() == arrays["y"].tolist() and not data.has_directions


def test_a_split_of_the_file_is_taken_by_its_number(root):
    role = np.load(f"{root}/More/split.npz")["role"]
    for seed in (0, 1, 2):
        data = read_more("split", seed=seed, root=root)
        for number, mask in enumerate((data.train, data.val, data.test)):
            assert mask.tolist() == (role[seed % 2] == number).tolist()


def test_without_a_split_20_and_30_of_each_class_are_drawn(root):
    data = read_more("plain", seed=3, root=root)
    for number in range(CLASSES):
        of_class = data.y == number
        assert int((data.train & of_class).sum()) == 20
        assert int((data.val & of_class).sum()) == 30
    assert bool((data.train.int() + data.val.int() + data.test.int() == 1).all())
    other = read_more("plain", seed=4, root=root)
    assert not torch.equal(data.train, other.train)


def test_edges_are_added_to_named_graphs_and_files(root):
    for name in ("karate", "plain"):
        clean = noisy_graph(name, "clean", 0.0, root=root)
        assert not clean.wrong.any()
        noisy = noisy_graph(name, "random", 0.5, root=root)
        added = noisy.data.graph.num_edges - clean.data.graph.num_edges
        assert int(noisy.wrong.sum()) == added > 0


def test_metattack_is_in_attacked_files_alone():
    assert has_kind("attacked-cora", "metattack") and has_kind("cora", "hub")
    assert not has_kind("cora", "metattack") and not has_kind("attacked-cora", "hub")
    assert has_kind("cora", "clean") and has_kind("attacked-cora", "clean")


def test_a_file_elsewhere_is_given_by_its_path(root, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    for found, wanted in (
        ("More/plain.npz", "mine.npz"),
        ("Attacked/cora.npz", "attacked-mine.npz"),
    ):
        (tmp_path / found).rename(elsewhere / wanted)
    mine = noisy_graph(f"{elsewhere}/mine.npz", "spam", 0.1)
    assert mine.data.name == "mine" and bool(mine.wrong.any())
    attacked = noisy_graph(f"{elsewhere}/attacked-mine.npz", "metattack", 0.25)
    assert attacked.data.name == "attacked-mine" and bool(attacked.wrong.any())
    with pytest.raises(ValueError, match=r"no graph 'moon': .*moon.npz does not exist"):
        noisy_graph(f"{elsewhere}/moon.npz", "clean", 0.0, root=root)


def test_kinds_joined_by_plus_come_on_top_of_an_attack(root):
    attacked = noisy_graph("attacked-cora", "metattack", 0.25, root=root)
    more = noisy_graph("attacked-cora", "metattack+random", 0.25, root=root)
    added = int(more.wrong.sum()) - int(attacked.wrong.sum())
    assert added == 2 * round(0.25 * attacked.data.graph.num_edges / 2)
    assert has_kind("attacked-cora", "metattack+random")
    assert not has_kind("cora", "metattack+random") and has_kind("cora", "random+hub")


def test_what_is_not_there_is_named(root):
    with pytest.raises(ValueError, match=r"no graph 'moon': .*plain, .*attacked-cora"):
        read_more("moon", root=root)
    with pytest.raises(ValueError, match=r"`rates` must be in .*cora.npz, got 0.3"):
        read_attacked("cora", 0.3, root)
