"""Where a number comes from: the packages and the device it was computed with."""

import hashlib
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import torch

from sgat.training.loop import chosen_device

PACKAGES = ("sgat", "torch", "torch_geometric", "numpy")


def versions() -> dict[str, str]:
    """Versions of the packages a result depends on."""
    found = {}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "unknown"
    return found


def hash_of(content: Path | str) -> str:
    """SHA-256 of a file, or of text."""
    if isinstance(content, str):
        return hashlib.sha256(content.encode()).hexdigest()
    with content.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def device_name(name: str) -> str:
    """What the device is called: the name of the GPU, or the CPU's architecture."""
    device = chosen_device(name)
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return f"{device.type} ({platform.machine()}, {torch.get_num_threads()} threads)"
