"""Heap that is kept for the large tensors of a training step, or given back.

A page of memory that is new to the process costs as much as reading it many times over,
and glibc gives large blocks back to the system as soon as they are free.
"""

import ctypes
import os

import torch

LARGEST_HEAP_BLOCK = 1 << 25
"""A little more than the largest block that glibc ever takes from its heap."""


def widen_heap() -> None:
    """Have glibc keep 64 MiB of free heap from now on.

    It keeps twice the size of the largest block it has seen freed. The block is not
    written to, so no page of it is ever there. Other allocators ignore this.
    """
    torch.empty(LARGEST_HEAP_BLOCK - (1 << 16), dtype=torch.uint8)


def trim_heap() -> None:
    """Have glibc give what is free of its heap back, between other blocks too.

    Gigabytes of it are free after many blocks that are a little smaller than those it
    never keeps. Other allocators are left alone.
    """
    trim = (
        getattr(ctypes.CDLL(None), "malloc_trim", None) if os.name == "posix" else None
    )
    if trim is not None:
        trim(0)
