"""Arrays of NumPy as those of the device on which Triton's kernels are tested."""

from typing import Any

import numpy as np
import torch
from support.triton_device import DEVICE

from sgat.ops.device_array import DeviceArray, on_device


def there(array: Any) -> DeviceArray:
    return DeviceArray(on_device(np.asarray(array), torch.device(DEVICE)))
