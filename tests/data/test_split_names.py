import numpy as np
import pytest
import torch

from sgat.data import load
from sgat.data.catalogue import CATALOGUE
from sgat.data.split_names import choose_split
from sgat.data.splits import Split


def test_the_seed_chooses_the_fixed_file_and_a_number_overrides_it(benchmarks):
    def train(**options):
        return load("texas", root=benchmarks, **options)[0].train

    raw = benchmarks / "WebKB" / "texas" / "raw"
    with np.load(raw / "texas_split_0.6_0.2_7.npz") as file:
        expected = torch.from_numpy(file["train_mask"].astype(bool))
    assert torch.equal(train(seed=7), expected)
    assert torch.equal(train(seed=17), expected)
    assert torch.equal(train(seed=2, split="geom-gcn-7"), expected)
    assert not torch.equal(train(seed=6), expected)


def test_a_split_that_a_data_set_does_not_have_is_refused():
    with pytest.raises(ValueError) as error:
        load("karate", split="geom-gcn")
    assert str(error.value) == (
        "`split` of 'karate' must be one of leaders, random-20, random-60-20-20,"
        " stratified-A-B-C, uniform-A-B-C (per cent) or a file .npz, got 'geom-gcn'."
    )


@pytest.mark.parametrize(
    ("split", "sizes"),
    [
        ("uniform-50-30-20", (17, 10, 7)),
        ("stratified-48-32-20", (16, 12, 6)),
        ("random-60-20-20", (20, 8, 6)),
    ],
)
def test_shares_in_the_name_of_a_split_are_per_cent(split, sizes):
    (data,) = load("karate", split=split)
    found = (int(mask.sum()) for mask in (data.train, data.val, data.test))
    assert tuple(found) == sizes


def test_a_split_is_read_from_its_file(tmp_path):
    words = ["train"] * 11 + ["valid"] * 7 + [""] * 3 + ["Test "] * 13
    np.savez(tmp_path / "s.npz", split=words)
    for path in (tmp_path / "s.npz", str(tmp_path / "s.npz")):
        (data,) = load("karate", split=path)
        masks = (data.train, data.val, data.test)
        assert [int(mask.sum()) for mask in masks] == [11, 7, 13]
        assert data.train[:11].all() and data.test[21:].all()


def test_words_of_several_graphs_follow_each_other(tmp_path, write_ppi):
    write_ppi(tmp_path)
    sizes = [data.num_nodes for data in load("ppi", root=tmp_path)]
    words = [("val", "train", "test")[place % 3] for place in range(len(sizes))]
    np.savez(tmp_path / "s.npz", split=np.repeat(words, sizes))
    graphs = load("ppi", root=tmp_path, split=tmp_path / "s.npz")
    for word, data in zip(words, graphs, strict=True):
        assert getattr(data, word).all()


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"split": ["train"] * 3}, "column 'split': must have 34 words, one for each"),
        ({"split": ["tset"] * 34}, "row 0, column 'split': must be train, val, test"),
        ({"other": ["train"] * 34}, "no column 'split' for the split .*; the columns"),
        ({"split": np.array([{}] * 34)}, "Python objects .pickle., which are never"),
    ],
)
def test_a_wrong_split_file_is_refused(tmp_path, arrays, message):
    np.savez(tmp_path / "s.npz", **arrays)
    with pytest.raises(ValueError, match=message):
        load("karate", split=tmp_path / "s.npz")


def test_graphs_get_the_roles_asked_for(tmp_path, write_ppi):
    write_ppi(tmp_path)
    mapping = {"train": ["val-0"], "test": ["test-0", "train-1"]}
    text = "by-graph:train=val-0, test=test-0+train-1"
    for split in (mapping, text):
        graphs = load("ppi", root=tmp_path, split=split)
        roles = [
            "".join(
                role[1]
                for role in ("train", "val", "test")
                if bool(getattr(data, role).all())
            )
            for data in graphs
        ]
        assert roles == ["", "e", "", "r", "", "e"]


def test_malformed_roles_are_refused(tmp_path, write_ppi):
    write_ppi(tmp_path)
    for split in ("by-graph:train", "by-graph:train=", "by-graph:test=a,test=b"):
        with pytest.raises(ValueError, match="`split` must read like 'by-graph:train="):
            load("ppi", root=tmp_path, split=split)


def test_one_split_is_not_for_several_graphs():
    (club,) = load("karate")
    split = Split.from_masks(club.train, club.val, club.test)
    with pytest.raises(ValueError, match="must be for 2 graphs, got one for 1"):
        choose_split(CATALOGUE["twitch"], [club, club], [], split, 0)


def test_several_graphs_are_split_differently_by_one_seed():
    clubs = load("karate") * 2
    first, second = choose_split(
        CATALOGUE["twitch"], clubs, [], "stratified-60-20-20", 1
    )
    assert not torch.equal(first.train, second.train)
    assert int(first.train.sum()) == int(second.train.sum()) == 20
