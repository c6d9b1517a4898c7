import pickle

import pytest
import torch

from sgat.training import files


def test_tensors_and_state_come_back(tmp_path):
    path = tmp_path / "c.safetensors"
    tensors = {"a.b": torch.randn(3, 5), "n": torch.tensor(7)}
    files.save_tensors(path, tensors, {"epoch": 3, "inf": None})
    loaded, state = files.load_tensors(path)
    assert state == {"epoch": 3, "inf": None} == files.load_state(path)
    assert loaded.keys() == tensors.keys()
    assert all(torch.equal(loaded[name], tensors[name]) for name in tensors)


def test_groups_of_tensors_share_a_file():
    packed = files.pack("model", {"w": torch.ones(1)})
    packed |= files.pack("best", {"w": torch.zeros(1)})
    assert files.unpack("best", packed)["w"].item() == 0
    assert files.unpack("model", packed)["w"].item() == 1


def test_an_optimiser_goes_on_where_it_stopped():
    def steps(weight, optimiser, numbers):
        for number in numbers:
            optimiser.zero_grad()
            ((weight - number) ** 2).sum().backward()
            optimiser.step()

    whole = torch.nn.Parameter(torch.zeros(3))
    adam = torch.optim.Adam([whole], 0.1)
    steps(whole, adam, range(6))

    first = torch.nn.Parameter(torch.zeros(3))
    adam = torch.optim.Adam([first], 0.1)
    steps(first, adam, range(4))
    second = torch.nn.Parameter(first.detach().clone())
    restored = torch.optim.Adam([second], 0.1)
    files.restore_optimiser(restored, files.optimiser_tensors(adam))
    steps(second, restored, range(4, 6))
    assert torch.equal(second, whole)


@pytest.mark.parametrize("content", [b"", b"garbage" * 9, pickle.dumps({"a": 1})])
def test_a_file_that_is_not_ours_is_refused(tmp_path, content):
    path = tmp_path / "c.safetensors"
    path.write_bytes(content)
    for load in (files.load_tensors, files.load_state):
        with pytest.raises(ValueError, match="is damaged or was not written by sgat"):
            load(path)


def test_a_state_that_is_no_table_is_refused(tmp_path):
    file = tmp_path / "state.safetensors"
    files.save_tensors(file, {}, [1, 2])
    for read in (files.load_tensors, files.load_state):
        with pytest.raises(ValueError, match=r"damaged .* no table of entries"):
            read(file)


def test_weights_that_do_not_fit_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"x does not fit the model: .*size mismatch"):
        files.load_weights(
            torch.nn.Linear(3, 2),
            {"weight": torch.ones(5, 2), "bias": torch.ones(2)},
            "x",
        )


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "c.safetensors"
    files.save_tensors(path, {"a": torch.ones(2)}, {})
    before = path.read_bytes()

    def full_disk(*arguments, **options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.write_bytes", full_disk)
    with pytest.raises(OSError, match="No space left"):
        files.save_tensors(path, {"a": torch.zeros(2)}, {})
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("found", [None, 1, files.MODEL_FORMAT + 1])
def test_weights_of_another_format_are_refused(found):
    files.check_format(files.MODEL_FORMAT, "x", "do so")
    with pytest.raises(ValueError) as error:
        files.check_format(found, "x", "do so")
    assert str(error.value) == (
        f"x was written by another version of sgat (format {found}, not"
        f" {files.MODEL_FORMAT}); do so."
    )
