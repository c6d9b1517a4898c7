"""Memory of large tensors stays with the process once the heap is wide."""

import os
import subprocess
import sys

import pytest

ROUNDS = """
import resource, sys, torch
if sys.argv[1] == "wide":
    import sgat.ops.cpu
def step():
    return [torch.empty(1_800_000).fill_(1) for _ in range(6)]  # 7 MB each
for _ in range(3):
    step()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(10):
    step()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def faults(kind: str) -> int:
    call = [sys.executable, "-c", ROUNDS, kind]
    done = subprocess.run(call, capture_output=True, text=True, check=True)
    return int(done.stdout)


@pytest.mark.skipif(
    "CS_GNU_LIBC_VERSION" not in getattr(os, "confstr_names", {}), reason="no glibc"
)
def test_a_wide_heap_has_few_new_pages():
    assert faults("wide") < 1000 < faults("plain")
