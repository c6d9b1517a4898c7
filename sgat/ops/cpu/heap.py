"""Heap that is kept for the large tensors of a training step.

A page of memory that is new to the process costs as much as reading it many times over,
and glibc gives large blocks back to the system as soon as they are free.
"""

import torch

LARGEST_HEAP_BLOCK = 1 << 25
"""A little more than the largest block that glibc ever takes from its heap."""


def widen_heap() -> None:
    """Have glibc keep 64 MiB of free heap from now on.

    It keeps twice the size of the largest block it has seen freed. The block is not
    written to, so no page of it is ever there. Other allocators ignore this.
    """
    torch.empty(LARGEST_HEAP_BLOCK - (1 << 16), dtype=torch.uint8)
