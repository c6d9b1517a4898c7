"""How tensors become arrays for the kernels.

Tested by tests/ops/test_cpu.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

Array = NDArray[Any]


def array(tensor: Tensor | None, dtype: Any = np.float32) -> Array:
    """The tensor's memory; an empty array for None."""
    return np.empty(0, dtype) if tensor is None else tensor.detach().numpy()


def wide(tensor: Tensor) -> Tensor:
    """The tensor in a type the kernels know: float32 or float64."""
    is_known = tensor.dtype in (torch.float32, torch.float64)
    return tensor if is_known else tensor.float()
