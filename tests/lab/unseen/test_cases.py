import dataclasses

import numpy as np
import pytest
import torch
from support.attacked import write_graphs

from sgat_lab.unseen import cases
from sgat_lab.unseen.cases import CaseName, Cases, case_names

NOISY = CaseName("plain", "cross-class")


@pytest.fixture
def root(tmp_path):
    write_graphs(tmp_path)
    return tmp_path


def test_uneven_graphs_have_no_noise_and_another_score():
    found = case_names(["cora", "minesweeper"], ["clean", "cross-class"])
    assert found == [
        ("cora", "clean"),
        ("minesweeper", "clean"),
        ("cora", "cross-class"),
    ]
    assert [name.metric for name in found[:2]] == ["accuracy", "roc_auc"]


def test_judged_edges_are_some_of_the_edges(root):
    source = Cases(root=str(root))
    data = source.data(NOISY, 2)
    judged = source.data(NOISY, 2, is_judged=True)
    assert 0 < judged.graph.num_edges < data.graph.num_edges
    assert torch.isin(judged.graph.keys, data.graph.keys).all()
    assert torch.equal(judged.y, data.y) and torch.equal(judged.train, data.train)


def test_the_judge_sees_no_label_of_test_nodes(root):
    data = Cases(root=str(root)).data(NOISY, 0)
    y = torch.where(data.test, (data.y + 1) % 3, data.y)
    other = dataclasses.replace(data, y=y)
    first, second = (cases.judged_edges(part, seed=0) for part in (data, other))
    assert torch.equal(first, second)


def test_verdicts_are_shared_by_a_folder(root, monkeypatch):
    folder = root / "judged"
    first = Cases(root=str(root), folder=folder).kept(NOISY, 2)
    monkeypatch.setattr(cases, "judged_edges", None)
    assert torch.equal(Cases(root=str(root), folder=folder).kept(NOISY, 2), first)
    np.save(folder / "plain-cross-class-3.npy", np.ones(3, dtype=bool))
    with pytest.raises(ValueError, match="`judged` must be a folder of verdicts on"):
        Cases(root=str(root), folder=folder).kept(NOISY, 3)


def test_seeds_share_features_and_graphs_do_not(root):
    source = Cases(root=str(root))
    first = source.features(NOISY, 0)
    assert source.features(NOISY, 1) is first
    assert source.data(NOISY, 0) is source.data(NOISY, 0)
    assert source.features(CaseName("split", "clean"), 0) is not first
