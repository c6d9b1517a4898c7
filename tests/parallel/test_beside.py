import os
import signal
import time

import pytest
import torch

from sgat.parallel import beside as module
from sgat.parallel.beside import beside

copied = pytest.mark.skipif(
    not hasattr(os, "fork") or torch.cuda.is_available(),
    reason="no copy of this process is safe",
)


@pytest.fixture(autouse=True)
def two_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@copied
def test_a_copy_works_and_both_have_half_of_the_threads():
    def work(number):
        return os.getpid(), torch.get_num_threads(), torch.full((3,), number)

    with beside(work, 7) as found:
        assert torch.get_num_threads() == 1
        number, threads, tensor = found()
    assert number != os.getpid() and threads == 1
    assert torch.equal(tensor, torch.full((3,), 7))
    assert torch.get_num_threads() == 2


@copied
@pytest.mark.parametrize(
    "work",
    [
        lambda: os.kill(os.getpid(), signal.SIGKILL),
        lambda: 1 / 0,
        lambda: lambda: None,  # no pickle
    ],
    ids=["killed", "error", "no pickle"],
)
def test_a_copy_that_fails_found_nothing(work):
    with beside(work) as found:
        assert found() is None


@copied
def test_a_copy_is_not_waited_for_without_end(monkeypatch):
    monkeypatch.setattr(module, "LEAST", 0.05)
    begun = time.monotonic()
    with beside(time.sleep, 60) as found:
        assert found() is None
    assert time.monotonic() - begun < 30


@copied
def test_a_copy_ends_with_the_context(tmp_path):
    def work():
        (tmp_path / "number").write_text(str(os.getpid()))
        time.sleep(60)

    with pytest.raises(KeyboardInterrupt), beside(work):
        while not (tmp_path / "number").exists() or not (
            number := (tmp_path / "number").read_text()
        ):
            time.sleep(0.01)
        raise KeyboardInterrupt
    with pytest.raises(ProcessLookupError):
        os.kill(int(number), 0)
    assert torch.get_num_threads() == 2


@copied
def test_where_no_copy_can_be_made_nothing_is_found(monkeypatch):
    def fork():
        raise OSError("Cannot allocate memory")

    monkeypatch.setattr(os, "fork", fork)
    with beside(os.getpid) as found:
        assert found() is None and torch.get_num_threads() == 2


def test_without_threads_to_share_or_work_nothing_is_found():
    with beside(None) as found:
        assert found() is None
    torch.set_num_threads(1)
    with beside(os.getpid) as found:
        assert found() is None and torch.get_num_threads() == 1
