"""Memory of large tensors on the CPU, used again once nobody holds it.

A page of memory that is new to the process costs as much as reading it many times over,
and allocators give large blocks back to the system as soon as they are free.
"""

from __future__ import annotations

import math
import sys
import threading
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

# Smaller blocks stay with the process anyway.
SMALLEST = 1 << 18
# Free blocks beyond this many bytes go back to the system.
LARGEST_SUM = 1 << 28
# The largest block glibc learns from when it is freed is a little smaller than this.
LARGEST_LESSON = 1 << 25
# Where torch begins its own blocks, in bytes.
ALIGNMENT = 64

_blocks: list[NDArray[Any]] = []
_lock = threading.Lock()


def _count_unused() -> int:
    """References to a block that nobody holds, counted as `_take` counts them.

    The list and the loop hold one each; whether the count itself does depends on the
    version of Python, and one too many would hand out memory that is in use.
    """
    blocks = [np.empty(1, np.uint8)]
    for k in range(len(blocks) - 1, -1, -1):
        block = blocks[k]
    return sys.getrefcount(block)


UNUSED = _count_unused()


def _take(num_bytes: int) -> NDArray[Any]:
    """A block of this size that is free, or a new one."""
    with _lock:
        unused = 0
        for k in range(len(_blocks) - 1, -1, -1):
            block = _blocks[k]
            if sys.getrefcount(block) > UNUSED:
                continue
            if block.nbytes == num_bytes:
                # The last to be used is the last to be given up.
                _blocks.append(_blocks.pop(k))
                return block
            unused += block.nbytes
            if unused > LARGEST_SUM:
                del _blocks[k]
        if not _blocks:
            _teach_allocator()
        block = np.empty(num_bytes, np.uint8)
        _blocks.append(block)
        return block


def _teach_allocator() -> None:
    """Have glibc keep 64 MiB of free heap for torch's own tensors.

    It keeps twice the size of the largest block it has seen freed. The block is not
    written to, so no page of it is ever there. Other allocators ignore this.
    """
    torch.empty(LARGEST_LESSON - (1 << 16), dtype=torch.uint8)


def new_empty(
    like: Tensor, shape: int | tuple[int, ...], dtype: torch.dtype | None = None
) -> Tensor:
    """`like.new_empty`, on the CPU in memory used before if it is large.

    The memory is free again when the tensor and all that share its storage are gone.
    """
    shape = shape if isinstance(shape, tuple) else (shape,)
    dtype = dtype or like.dtype
    # A compiler's stand-ins have types of their own, and sizes that are not numbers.
    is_plain = type(like) is Tensor and like.device.type == "cpu"
    num_bytes = math.prod(shape) * dtype.itemsize if is_plain else 0
    if num_bytes < SMALLEST:
        return like.new_empty(shape, dtype=dtype)
    block = _take(num_bytes + ALIGNMENT)
    start = -block.ctypes.data % ALIGNMENT
    # The tensor holds this view, and the view the block.
    view = block[start : start + num_bytes]
    return torch.from_numpy(view).view(dtype).view(shape)
