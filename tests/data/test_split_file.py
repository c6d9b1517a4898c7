import io
import zipfile

import numpy as np
import pytest
import torch

from sgat.data import load_split, save_split
from sgat.data.splits import (
    from_column,
    stratified_fractions,
)


def roles(split):
    return [split.train.tolist(), split.val.tolist(), split.test.tolist()]


def test_a_saved_split_comes_back_for_every_graph(tmp_path):
    labels = torch.arange(157) % 6
    splits = [
        stratified_fractions(labels, seed=2),
        from_column(["", "test", "val"]),
        from_column(["train"]),
    ]
    save_split(tmp_path / "split.npz", splits)
    loaded = load_split(tmp_path / "split.npz")
    assert [roles(split) for split in loaded] == [roles(split) for split in splits]
    assert [split.num_nodes for split in loaded] == [len(labels), 3, 1]
    assert [path.name for path in tmp_path.iterdir()] == ["split.npz"]


def test_a_failed_write_leaves_the_earlier_split(tmp_path, monkeypatch):
    target = tmp_path / "split.npz"
    save_split(target, [from_column(["train", "test"])])

    def full_disk(file, **arrays):
        file.write(b"half")
        raise OSError("No space left on device")

    monkeypatch.setattr(np, "savez_compressed", full_disk)
    with pytest.raises(OSError, match="No space left"):
        save_split(target, [from_column(["val", "train"])])
    assert roles(load_split(target)[0]) == [[0], [], [1]]
    assert [path.name for path in tmp_path.iterdir()] == ["split.npz"]


def test_a_pickle_in_a_split_file_is_not_opened(tmp_path):
    buffer = io.BytesIO()
    np.save(buffer, np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with zipfile.ZipFile(tmp_path / "bad.npz", "w") as archive:
        for key in ("num_nodes", "train", "val", "test"):
            archive.writestr(f"{key}.npy", buffer.getvalue())
    with pytest.raises(ValueError, match=r"bad\.npz must be a split"):
        load_split(tmp_path / "bad.npz")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"test": [5]}, "A node in .* must be 0 to 4, got 5"),
        ({"test": [-1]}, "A node in .* must be 0 to 4, got -1"),
        ({"test": [0]}, "Node 0 in .* is named more than once"),
        ({"test": [0.5]}, "`test` in .* must be a list of whole numbers"),
        ({"num_nodes": [[5]]}, "`num_nodes` in .* got int64 of shape"),
    ],
)
def test_a_wrong_split_file_is_refused(tmp_path, change, message):
    arrays = {"num_nodes": [5], "train": [0, 3], "val": [1], "test": [2], **change}
    np.savez(tmp_path / "split.npz", **arrays)
    with pytest.raises(ValueError, match=message):
        load_split(tmp_path / "split.npz")


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 torn", b"no archive"])
def test_a_torn_split_file_is_refused(tmp_path, content):
    (tmp_path / "split.npz").write_bytes(content)
    with pytest.raises(ValueError, match="must be a split as `save_split` writes it"):
        load_split(tmp_path / "split.npz")
