"""What is worked out once for a tensor, and kept as long as its memory lives."""

from __future__ import annotations

from typing import Any

from torch import Tensor
from torch.utils.weak import WeakIdKeyDictionary


class Kept:
    """Results by tensor; another tensor over the same memory finds them too.

    `torch.compile` hands such tensors to a backward pass, new ones at every step.
    """

    def __init__(self) -> None:
        """Begin without results."""
        self._by_storage = WeakIdKeyDictionary()

    def get(self, tensor: Tensor) -> Any:
        """The result for this tensor, or None."""
        results = self._by_storage.get(tensor.untyped_storage(), {})
        return results.get(_place(tensor))

    def set(self, tensor: Tensor, result: Any) -> None:
        """Keep a result, which must not hold the tensor, as long as its memory."""
        results = self._by_storage.setdefault(tensor.untyped_storage(), {})
        results[_place(tensor)] = result

    def __len__(self) -> int:
        """Number of blocks of memory with results."""
        return len(self._by_storage)


def _place(tensor: Tensor) -> tuple[Any, ...]:
    """What tells apart tensors over the same memory."""
    offset = tensor.storage_offset()
    return (tensor.dtype, offset, *tensor.shape, *tensor.stride())
