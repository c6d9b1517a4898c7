"""The border between the lowest elements and the others, without sorting."""

import numpy as np
from torch import Tensor


def border(value: Tensor, place: Tensor) -> tuple[Tensor, Tensor]:
    """The elements before and at a place, from 0, in ascending order; [E], float.

    Before the first comes -∞. A GPU neither sorts nor waits: to select one of 100
    million elements takes PyTorch half a second there.
    """
    if value.is_cuda:
        from sgat.ops.gpu.border import border_by_digits

        return border_by_digits(value, place)
    number = int(place)
    parted = np.partition(value.numpy(force=True), number)
    before = parted[:number].max(initial=-np.inf)
    return value.new_tensor(before), value.new_tensor(parted[number])
