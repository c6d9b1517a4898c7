import pickle
import shutil

import numpy as np
import pytest
import torch

from sgat.data import check, load, names
from sgat.data.named import load_karate
from sgat.features import SparseFeatures

WIDTH, LABELS = 11, 5


def copy_raw(benchmarks, root, folder):
    shutil.copytree(benchmarks / folder / "raw", root / folder / "raw")
    return root / folder


def test_an_unknown_name_lists_the_names():
    with pytest.raises(ValueError) as error:
        load("coral")
    assert str(error.value).startswith("Unknown data set 'coral'; choose one of actor,")
    assert all(name in str(error.value) for name in names())


def test_karate_needs_no_files(tmp_path):
    (data,) = load("karate", root=tmp_path / "nowhere")
    assert (data.num_nodes, data.graph.num_edges) == (34, 156)
    assert data.train.nonzero().squeeze(1).tolist() == [0, 33]


def test_ppi_is_read_with_its_graphs_and_roles(tmp_path, write_ppi):
    raw = write_ppi(tmp_path)
    graphs = load("ppi", root=tmp_path)
    check(graphs)
    assert [data.num_nodes for data in graphs] == [7, 5, 3, 4, 6, 13]
    assert [data.graph.num_edges for data in graphs] == [12, 8, 4, 6, 10, 24]
    assert [data.name for data in graphs][2:4] == ["ppi-train-2", "ppi-val-0"]
    assert [bool(data.train.all()) for data in graphs] == [True] * 3 + [False] * 3
    assert [bool(data.val.any()) for data in graphs] == [False] * 3 + [True] * 2 + [
        False
    ]
    assert graphs[5].test.all()
    assert graphs[1].y.shape == (5, LABELS)
    labels = np.load(raw / "train_labels.npy")[7:12]
    assert torch.equal(graphs[1].y, torch.from_numpy(labels).float())


def test_reddit_is_read_with_its_split(tmp_path, write_reddit):
    write_reddit(tmp_path)
    (data,) = load("reddit", root=tmp_path)
    check([data])
    assert (data.num_nodes, data.graph.num_edges) == (17, 34)
    assert data.graph.is_undirected
    assert [int(mask.sum()) for mask in (data.train, data.val, data.test)] == [10, 4, 3]
    assert data.x[1, 0] == WIDTH + 1
    assert data.num_classes == LABELS


def test_a_malformed_file_is_refused_in_one_sentence(tmp_path, write_ppi):
    raw = write_ppi(tmp_path)
    (raw / "valid_graph.json").write_text('{"nodes": [')
    with pytest.raises(ValueError) as error:
        load("ppi", root=tmp_path)
    assert f"The files of 'ppi' in {raw} could not be read" in str(error.value)


def test_a_pickle_in_an_unlisted_file_is_not_opened(tmp_path, write_ppi):
    raw = write_ppi(tmp_path)
    np.save(raw / "test_feats.npy", np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(ValueError, match="Object arrays cannot be loaded"):
        load("ppi", root=tmp_path)


class Trap:
    """Unpickling this creates the file at `path`."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (str(self.path), "w")


def test_an_altered_pickle_is_refused_unopened(tmp_path, benchmarks):
    raw = copy_raw(benchmarks, tmp_path, "Planetoid/Cora") / "raw"
    sprung = tmp_path / "sprung"
    (raw / "ind.cora.graph").write_bytes(pickle.dumps(Trap(sprung)))
    with pytest.raises(ValueError) as error:
        load("cora", root=tmp_path)
    message = str(error.value)
    assert str(raw / "ind.cora.graph") in message
    assert "58f13302f39dde8852dad6fe6d15b89b077b6d7f837626bce671ef80344b383d" in message
    assert "it was not opened" in message
    assert not sprung.exists()


def test_an_altered_text_file_is_refused(tmp_path, benchmarks):
    raw = copy_raw(benchmarks, tmp_path, "WebKB/texas") / "raw"
    with (raw / "out1_graph_edges.txt").open("a") as file:
        file.write("1\t2\n")
    with pytest.raises(
        ValueError, match=r"out1_graph_edges\.txt must be the published"
    ):
        load("texas", root=tmp_path)


def test_processed_files_in_the_root_are_never_opened(tmp_path, benchmarks):
    folder = copy_raw(benchmarks, tmp_path, "WebKB/texas")
    (folder / "processed").mkdir()
    sprung = tmp_path / "sprung"
    for name in ("data.pt", "pre_transform.pt", "pre_filter.pt"):
        torch.save(Trap(sprung), folder / "processed" / name)
    (data,) = load("texas", root=tmp_path)
    assert data.graph.num_edges == 558
    assert not sprung.exists()


def test_loading_leaves_a_read_only_root_as_it_was(tmp_path, benchmarks):
    def snapshot():
        return {
            str(path): (path.stat().st_mtime_ns, path.stat().st_mode)
            for path in sorted(tmp_path.rglob("*"))
        }

    copy_raw(benchmarks, tmp_path, "WebKB-2020/cornell")
    for path in tmp_path.rglob("*"):
        path.chmod(0o555 if path.is_dir() else 0o444)
    before = snapshot()
    assert len(before) > 12
    load("cornell-2020", root=tmp_path)
    assert snapshot() == before


def test_loading_is_silent(tmp_path, capfd, write_reddit):
    write_reddit(tmp_path)
    load("reddit", root=tmp_path)
    assert capfd.readouterr() == ("", "")


def test_sparse_features_are_normalised_where_the_default_says_so(benchmarks):
    for name, expected in (("actor", True), ("texas", False)):
        (data,) = load(name, root=benchmarks)
        (other,) = load(name, root=benchmarks, normalise_features=not expected)
        assert isinstance(data.x, SparseFeatures)
        raw = other if expected else data
        assert set(raw.x.value.tolist()) == {1.0}
        scaled = data if expected else other
        sums = scaled.x.to_dense().sum(1)
        assert torch.all((sums - 1).abs().lt(1e-5) | sums.eq(0))


def test_amazon_features_are_dense_and_raw(benchmarks):
    (data,) = load("photo", root=benchmarks)
    assert isinstance(data.x, torch.Tensor)
    assert data.x.unique().tolist() == [0.0, 1.0]


def test_benchmarks_are_undirected_and_unweighted(benchmarks):
    for name in ("citeseer", "wisconsin"):
        graph = load(name, root=benchmarks)[0].graph
        assert graph.is_undirected
        assert graph.weight is None
        assert graph.loop_weight is None


def test_the_only_texas_node_of_its_class_trains(benchmarks):
    for seed in range(5):
        (data,) = load("texas", root=benchmarks, split="random-60-20-20", seed=seed)
        assert data.train[data.y == 1].all()
        assert int(data.train.sum()) == 20 + 1 + 11 + 61 + 18


def test_random_20_differs_from_public_and_follows_the_seed(benchmarks):
    (first,) = load("cora", root=benchmarks, split="random-20", seed=1)
    (again,) = load("cora", root=benchmarks, split="random-20", seed=1)
    (other,) = load("cora", root=benchmarks, split="random-20", seed=2)
    assert torch.equal(first.test, again.test)
    assert not torch.equal(first.test, other.test)
    assert torch.bincount(first.y[first.train]).tolist() == [20] * 7


def test_the_published_split_follows_its_nodes_into_the_component(benchmarks):
    (whole,) = load("citeseer", root=benchmarks)
    (part,) = load("citeseer", root=benchmarks, largest_component=True)
    assert part.num_nodes == 2120
    assert 0 < int(part.train.sum()) < int(whole.train.sum())
    assert set(part.y[part.train].tolist()) <= set(range(6))


def test_karate_is_the_papers_toy():
    data = load_karate()
    assert (data.num_nodes, data.graph.num_edges) == (34, 156)
    assert data.train.nonzero().squeeze(1).tolist() == [0, 33]
    assert int(data.test.sum()) == 32
    assert data.classes == ("Mr. Hi", "Officer")
    assert data.graph.weight is None and data.graph.is_undirected
