import os
import signal
import subprocess
import sys
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
def test_a_copy_works_with_a_thread_of_its_caller():
    def work(number):
        return os.getpid(), torch.get_num_threads(), torch.full((3,), number)

    with beside(work, 7) as found:
        assert torch.get_num_threads() == 1
        number, threads, tensor = found()
    assert number != os.getpid() and threads == 1
    assert torch.equal(tensor, torch.full((3,), 7))
    assert torch.get_num_threads() == 2


PRODUCTS = """
import torch
from sgat.parallel.beside import beside

# MKL takes no more than there are cores, unless it is told.
torch.set_num_threads(4)
x = torch.randn(1009, 211)

def work():
    return torch.get_num_threads(), (x @ x.T).exp().clamp(max=9)

# OpenMP has its threads before the copy is made.
assert work()[0] == 4
with beside(work) as found:
    mine, own = work()
    threads, copied = found()
assert (mine, threads) == (3, 1), (mine, threads)
assert torch.equal(own, copied)
assert torch.get_num_threads() == 4
"""


@copied
def test_a_copy_of_a_process_with_four_threads_finishes_and_is_used():
    """With two threads of GNU OpenMP it waited for threads that it does not have."""
    environment = {**os.environ, "OMP_NUM_THREADS": "4"}
    subprocess.run([sys.executable, "-c", PRODUCTS], env=environment, check=True)


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
