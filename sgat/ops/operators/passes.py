"""What the passes over open edges share: backends, pieces of rows, seeds and sums."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Literal

import torch
from torch import Tensor

from sgat.ops.noise import Seed

FusedBackend = Literal["cpu", "gpu"]

SPLIT = {"cpu": 1 << 13, "gpu": 1024}
"""Longest piece of a row that one GPU program, or one thread at a time, handles."""


def kernels_of(backend: str) -> ModuleType:
    """Where the passes of a backend are, imported when it is first used."""
    return importlib.import_module(f"sgat.ops.{backend}")


def seed_tensor(seed: Seed, device: torch.device) -> Tensor:
    """The seed as one int64 on the device, without waiting for it."""
    if isinstance(seed, int):
        bits = seed & (2**64 - 1)
        signed = bits - 2**64 if bits >= 2**63 else bits
        return torch.full((1,), signed, dtype=torch.int64, device=device)
    return seed.reshape(1).to(device, non_blocking=True)


def wide_type(dtype: torch.dtype) -> torch.dtype:
    """The type sums run in: float32 at least."""
    return torch.promote_types(dtype, torch.float32)
