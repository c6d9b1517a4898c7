"""Memory that is used again once nobody holds it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import Tensor

from sgat.ops import memory_pool
from sgat.ops.memory_pool import new_empty

LARGE = memory_pool.SMALLEST_BLOCK // 4


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(memory_pool, "POOL", memory_pool.MemoryPool())
    yield


def test_memory_is_used_again_when_the_tensor_is_gone() -> None:
    like = torch.empty(0)
    first = new_empty(like, (LARGE, 3))
    assert first.shape == (LARGE, 3)
    assert first.dtype == torch.float32
    place = first.data_ptr()
    assert place % 64 == 0
    del first
    assert new_empty(like, (3, LARGE)).data_ptr() == place


@pytest.mark.parametrize(
    "hold",
    [lambda t: t, lambda t: t[5:7], lambda t: t.numpy(), lambda t: t.detach()],
    ids=["tensor", "view", "array", "detached"],
)
def test_memory_that_is_held_is_left_alone(hold: Callable[[Tensor], Any]) -> None:
    like = torch.empty(0)
    tensor = new_empty(like, LARGE).fill_(1)
    place = tensor.data_ptr()
    held = hold(tensor)
    del tensor
    assert new_empty(like, LARGE).data_ptr() != place
    del held
    both = [new_empty(like, LARGE) for _ in range(2)]
    assert place in [tensor.data_ptr() for tensor in both]


def test_a_block_counts_as_unused_only_while_nobody_holds_it() -> None:
    held = memory_pool.POOL.take(LARGE)
    assert memory_pool.POOL.take(LARGE) is not held
    place = held.ctypes.data
    del held
    both = [memory_pool.POOL.take(LARGE) for _ in range(2)]
    assert place in [block.ctypes.data for block in both]


def test_memory_saved_for_a_gradient_is_left_alone() -> None:
    like = torch.empty(0)
    weight = torch.ones(LARGE, requires_grad=True)
    loss = (weight * new_empty(like, LARGE).fill_(2)).sum()
    new_empty(like, LARGE).fill_(5)
    loss.backward()
    assert (weight.grad == 2).all()


def test_small_tensors_come_from_torch() -> None:
    assert new_empty(torch.empty(0), 5, torch.int32).dtype == torch.int32
    assert new_empty(torch.empty(0), ()).shape == ()
    assert memory_pool.POOL.blocks == []


def test_free_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_pool, "MOST_FREE", 6 * memory_pool.SMALLEST_BLOCK)
    like = torch.empty(0)
    for extra in range(20):
        new_empty(like, LARGE + extra)
    assert len(memory_pool.POOL.blocks) <= 7


def test_tensors_of_a_compiler_are_its_own() -> None:
    with torch._subclasses.FakeTensorMode():
        like = torch.empty(0)
        fake = new_empty(like, LARGE)
    assert isinstance(fake, torch._subclasses.FakeTensor)
    assert memory_pool.POOL.blocks == []
