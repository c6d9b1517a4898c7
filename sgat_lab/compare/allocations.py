"""Allocations: the memory that torch's tensors take, where no device counts it."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


class Allocations(TorchDispatchMode):
    """Counts the bytes of the tensors that torch makes while it is active.

    Memory that an operation takes and gives back within itself is not seen.

    Attributes:
        peak: Most bytes that were alive at a time; may be set back to 0.
    """

    def __init__(self) -> None:
        super().__init__()
        self.peak = 0
        self._alive: dict[int, tuple[StorageWeakRef, int]] = {}

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Run an operation and count what it made."""
        kwargs = kwargs or {}
        given = {_place(leaf) for leaf in tree_leaves((args, kwargs))}
        out = func(*args, **kwargs)
        self._alive = {
            place: entry
            for place, entry in self._alive.items()
            if not entry[0].expired()
        }
        for leaf in tree_leaves(out):
            place = _place(leaf)
            # What an operation was given and gives back, or a view of it, is not new.
            if place and place not in given and place not in self._alive:
                storage = leaf.untyped_storage()
                self._alive[place] = StorageWeakRef(storage), storage.nbytes()
        self.peak = max(self.peak, sum(size for _, size in self._alive.values()))
        return out


def _place(leaf: Any) -> int:
    """Address of a tensor's numbers; 0 for what has none of its own."""
    if not isinstance(leaf, Tensor) or leaf.layout is not torch.strided:
        return 0
    return int(leaf.untyped_storage().data_ptr())
