"""Large tensors come from the heap, which is kept, once it is wide."""

import ctypes
import subprocess
import sys

import pytest

MAPPED = """
import ctypes, torch
find = ctypes.CDLL(None).mallinfo2
find.restype = type("Info", (ctypes.Structure,), {
    "_fields_": [(name, ctypes.c_size_t) for name in "abcdefghij"]
})
large, mapped = [], [find().d]  # blocks that do not come from the heap
large.append(torch.empty(31 << 20, dtype=torch.uint8))
mapped.append(find().d)
import sgat.ops.cpu
mapped.append(find().d)
large.append(torch.empty(31 << 20, dtype=torch.uint8))
mapped.append(find().d)
print(mapped[1] - mapped[0], mapped[3] - mapped[2])
"""


@pytest.mark.skipif(
    sys.platform != "linux" or not hasattr(ctypes.CDLL(None), "mallinfo2"),
    reason="glibc alone counts its blocks",
)
def test_large_tensors_come_from_a_wide_heap():
    call = [sys.executable, "-c", MAPPED]
    done = subprocess.run(call, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["1", "0"], "before the backend is used, and after"


FREED = """
import torch, numpy as np, sgat.ops.cpu
from pathlib import Path
from sgat.ops.blocks import trim_heap
def held():
    return int(Path("/proc/self/statm").read_text().split()[1]) << 12
blocks = [np.ones(1 << 20) for _ in range(40)]  # of 8 MiB
last, blocks = blocks[-1], blocks.clear()
before = held()
trim_heap()
print(before - held())
"""


@pytest.mark.skipif(
    sys.platform != "linux" or not hasattr(ctypes.CDLL(None), "mallinfo2"),
    reason="glibc alone keeps such blocks",
)
def test_free_blocks_below_others_are_given_back():
    call = [sys.executable, "-c", FREED]
    done = subprocess.run(call, capture_output=True, text=True, check=True)
    assert int(done.stdout) > 200 << 20
