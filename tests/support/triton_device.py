"""Where tests of the Triton kernels run: a CUDA device, or Triton's interpreter."""

from __future__ import annotations

import importlib.util

import pytest
import torch

HAS_CUDA = torch.cuda.is_available()
DEVICE = "cuda" if HAS_CUDA else "cpu"

needs_triton = [
    pytest.mark.skipif(
        importlib.util.find_spec("triton") is None, reason="Triton is not installed"
    ),
    pytest.mark.usefixtures("interpreter"),
]


def gpu_test(function):
    """Mark a test that only a CUDA device can run."""
    function = pytest.mark.gpu(function)
    return pytest.mark.skipif(not HAS_CUDA, reason="no CUDA device")(function)
