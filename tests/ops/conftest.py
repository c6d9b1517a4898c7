from __future__ import annotations

import pytest
from support.agreement import poison
from support.triton_device import HAS_CUDA

from sgat.ops.operators.pieces import SPLIT


@pytest.fixture
def interpreter(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run Triton kernels in its interpreter without a GPU; poison fresh memory."""
    if not HAS_CUDA:
        monkeypatch.setenv("TRITON_INTERPRET", "1")
    poison(monkeypatch)


@pytest.fixture
def short_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Split rows already at 16 edges."""
    monkeypatch.setitem(SPLIT, "gpu", 16)
