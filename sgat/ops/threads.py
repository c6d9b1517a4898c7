"""Ranges of rows, and the threads that take them."""

import ctypes
import functools
import itertools
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import torch

Array = np.ndarray[Any, Any]
Range = tuple[int, int]

# Below this many multiply-adds a second thread costs more than it saves.
SERIAL_WORK = 1 << 20
# A thread that is done early takes one of the ranges left.
RANGES_PER_THREAD = 4
# A block is work for a tenth of a millisecond or more.
ENTRIES_PER_BLOCK, MAX_BLOCKS = 1 << 15, 256

Body = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


def _find_openmp() -> Any:
    """OpenMP's `GOMP_parallel` in the library torch has loaded, or None."""
    if os.name != "posix":
        return None  # there, None is no name for the libraries that are loaded
    parallel = getattr(ctypes.CDLL(None), "GOMP_parallel", None)
    if parallel is not None:
        parallel.argtypes = [Body, ctypes.c_void_p, ctypes.c_uint, ctypes.c_uint]
        parallel.restype = None
    return parallel


_openmp = _find_openmp()
_openmp_process = os.getpid()


@functools.cache
def _pool(threads: int, process: int) -> ThreadPoolExecutor:
    # A forked process inherits the pool but not its threads.
    return ThreadPoolExecutor(threads, thread_name_prefix="sgat")


def cut(row_ptr: Array, num_ranges: int) -> list[Range]:
    """Cut rows into ranges with about as many entries (and rows) each."""
    num_rows = len(row_ptr) - 1
    if num_ranges <= 1 or num_rows <= 1:
        return [(0, num_rows)]
    work = row_ptr + np.arange(num_rows + 1)
    targets = np.arange(1, num_ranges) * (int(work[-1]) / num_ranges)
    bounds = [0, *np.searchsorted(work, targets).tolist(), num_rows]
    return [(first, last) for first, last in itertools.pairwise(bounds) if first < last]


def blocks(row_ptr: Array) -> list[Range]:
    """Ranges for a kernel whose sums depend on where its range begins.

    Their number depends on that of the entries alone, never on the threads.
    """
    return cut(row_ptr, min(int(row_ptr[-1]) // ENTRIES_PER_BLOCK, MAX_BLOCKS))


def ranges(row_ptr: Array, width: int) -> list[Range]:
    """Ranges for `run`: one if the rows hold little work of `width` for each entry."""
    threads = torch.get_num_threads()
    work = (int(row_ptr[-1]) + len(row_ptr)) * width
    is_little = threads == 1 or work < SERIAL_WORK
    return cut(row_ptr, 1 if is_little else RANGES_PER_THREAD * threads)


def even_ranges(number: int, width: int) -> list[Range]:
    """Ranges for `run` of rows with work of `width` each."""
    threads = torch.get_num_threads()
    is_little = threads == 1 or number * width < SERIAL_WORK
    bounds = np.linspace(0, number, 2 if is_little else RANGES_PER_THREAD * threads + 1)
    return list(itertools.pairwise(bounds.astype(int).tolist()))


def run(kernel: Callable[..., Any], ranges: list[Range], *arguments: Any) -> None:
    """Call a kernel once for each range, on as many threads as torch uses.

    These are the threads of torch's own OpenMP loops where its library can be found:
    between two loops they wait at full speed, and threads of ours would have to share
    their cores with them.
    """
    threads = min(torch.get_num_threads(), len(ranges))
    if threads <= 1:
        for bounds in ranges:
            kernel(*bounds, *arguments)
        return
    left = iter(ranges)
    failures: list[BaseException] = []

    def take(_: object = None) -> None:
        try:
            for bounds in left:
                kernel(*bounds, *arguments)
        except BaseException as failure:
            failures.append(failure)

    # OpenMP does not survive a fork.
    if _openmp is not None and os.getpid() == _openmp_process:
        _openmp(Body(take), None, threads, 0)
    else:
        pool = _pool(threads, os.getpid())
        futures = [pool.submit(take) for _ in range(threads - 1)]
        take()
        for future in futures:
            future.result()
    if failures:
        raise failures[0]
