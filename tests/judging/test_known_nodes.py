"""Fingerprints against whole numbers of Python, and who is found again by them."""

import struct

import pytest
import torch
from torch import Tensor

from sgat.features import SparseFeatures
from sgat.judging import known_nodes
from sgat.judging.known_nodes import KnownNodes, fingerprints

ALL = (1 << 64) - 1


@pytest.fixture(autouse=True)
def few_entries_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known_nodes, "ENTRIES_AT_ONCE", 31)


def features(number: int = 53, width: int = 7) -> Tensor:
    """About half of the entries are 0, no two rows are the same."""
    x = torch.randn(number, width) * (torch.rand(number, width) < 0.5)
    x[:, 0] = torch.arange(number) + 1
    return x


def by_hand(row: list[float]) -> int:
    """SplitMix64's finaliser of (column, bits of the value), summed."""
    total = 0
    for column, value in enumerate(row):
        if value == 0:
            continue
        number = (column << 32) | struct.unpack("<I", struct.pack("<f", value))[0]
        number = ((number ^ (number >> 30)) * 0xBF58476D1CE4E5B9) & ALL
        number = ((number ^ (number >> 27)) * 0x94D049BB133111EB) & ALL
        total = (total + (number ^ (number >> 31))) & ALL
    return total - (1 << 64) if total >> 63 else total


def test_a_fingerprint_is_a_sum_of_mixed_bits(seed: int):
    x = features()
    found = fingerprints(x)
    assert found.dtype == torch.int64
    assert found.tolist() == [by_hand(row) for row in x.tolist()]
    assert len(found.unique()) == len(x)


def test_dense_and_sparse_features_have_the_same_fingerprints(seed: int):
    x = features()
    sparse = SparseFeatures.from_dense(x)
    assert torch.equal(fingerprints(sparse), fingerprints(x))
    # Entries of 0 that are kept, in any order, say nothing either.
    whole = SparseFeatures(
        torch.arange(54) * 7, torch.arange(7).flip(0).repeat(53), x.flip(1).flatten(), 7
    )
    assert torch.equal(fingerprints(whole), fingerprints(x))
    assert torch.equal(fingerprints(-0.0 * torch.ones(3, 5)), torch.zeros(3).long())


def test_fingerprints_follow_their_rows_and_tell_columns_apart(seed: int):
    x = features()
    order = torch.randperm(len(x))
    assert torch.equal(fingerprints(x[order]), fingerprints(x)[order])
    assert torch.equal(fingerprints(x.T.contiguous().T), fingerprints(x))
    assert torch.equal(fingerprints(x.double()), fingerprints(x))
    assert not (fingerprints(x.flip(1)) == fingerprints(x)).any()
    assert not (fingerprints(torch.nextafter(x, x + 1)) == fingerprints(x)).any()


@pytest.mark.parametrize("shape", [(0, 7), (5, 0), (0, 0)])
def test_no_rows_and_no_columns_are_no_obstacle(shape: tuple[int, int]):
    x = torch.zeros(shape)
    assert torch.equal(fingerprints(x), torch.zeros(shape[0]).long())
    table = KnownNodes.of(x, torch.zeros(shape[0]).long(), torch.ones(shape[0]).bool())
    assert (table.labels(x) == -1).all()


def test_known_nodes_are_found_wherever_they_stand(seed: int):
    x, y = features(), torch.arange(53) % 3
    known = torch.rand(53) < 0.6
    table = KnownNodes.of(x, y, known)
    expected = torch.where(known, y, -1)
    assert torch.equal(table.labels(x), expected)
    part = torch.randperm(53)[:17]
    assert torch.equal(table.labels(x[part]), expected[part])
    assert torch.equal(table.labels(SparseFeatures.from_dense(x[part])), expected[part])
    strangers = torch.cat([x[part], features() + 100])
    assert torch.equal(table.labels(strangers)[:17], expected[part])
    assert (table.labels(strangers)[17:] == -1).all()
    assert bool((table.fingerprint.diff() > 0).all())


def test_nodes_that_share_their_features_or_have_none_are_not_known(seed: int):
    x, y, everyone = features(7), torch.arange(7) % 3, torch.ones(7, dtype=torch.bool)
    x[3], x[5] = x[2], 0
    table = KnownNodes.of(x, y, everyone)
    assert table.labels(x).tolist() == [0, 1, -1, -1, 1, -1, 0]
    # A twin who is not known is a twin all the same.
    assert len(KnownNodes.of(x, y, torch.arange(7) == 2).label) == 0
    # Nor is a node here that could be either of two.
    assert table.labels(x[[0, 1, 1, 4]]).tolist() == [0, -1, -1, 1]


@pytest.mark.gpu
def test_fingerprints_are_those_of_the_cpu(seed: int):
    x, y = features(211, 13), torch.arange(211) % 3
    expected = fingerprints(x)
    sparse = SparseFeatures.from_dense(x).to("cuda")
    assert torch.equal(fingerprints(x.cuda()).cpu(), expected)
    assert torch.equal(fingerprints(sparse).cpu(), expected)
    table = KnownNodes.of(x.cuda(), y.cuda(), (y < 2).cuda())
    assert torch.equal(table.labels(sparse).cpu(), torch.where(y < 2, y, -1))
