"""Blocks of rows that are computed one after the other, and where long arrays lie.

Long arrays lie in memory, in files (`on_disk`) or on a GPU (`on_gpu`). What is computed
of their rows is written once for all of these.
"""

import ctypes
import math
import mmap
import os
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np
import torch

from sgat.ops import threads
from sgat.ops.device_array import DeviceArray, as_tensor, on_device, torch_type

Array = np.ndarray[Any, Any]
T = TypeVar("T")

ROWS = 1 << 16
"""Rows of a block: what is computed in between stays in a cache."""
ROWS_OF_GPU = 1 << 22
"""The same on a GPU: so many that starting to compute takes no time."""
MANY = 1 << 20
"""Rows of a block in a pass of NumPy, that is over several of them."""
DRAWN = 1 << 17
"""Random numbers that are drawn at a time."""
SHORT = 1 << 16
"""Bytes up to which an array is in memory in any case."""
_folder: ContextVar[Path | None] = ContextVar("folder", default=None)
_gpu: ContextVar[torch.device | None] = ContextVar("gpu", default=None)


@contextmanager
def on_disk(folder: Path | None) -> Iterator[None]:
    """Arrays that `empty` makes meanwhile lie in files of this folder, if it is one.

    The files have no names: each is gone with its array, or with the process, however
    that ends. The system keeps in memory what there is room for.
    """
    token = _folder.set(folder)
    try:
        yield
    finally:
        _folder.reset(token)


@contextmanager
def on_gpu(device: torch.device | None) -> Iterator[None]:
    """Arrays that `empty` and `by_rows` make meanwhile lie on this GPU, if it is one.

    They are `DeviceArray`s, which NumPy takes for its own.
    """
    token = _gpu.set(device)
    try:
        yield
    finally:
        _gpu.reset(token)


def placed(array: Any) -> Array:
    """An array of NumPy where long ones lie: as it is, or `on_gpu`."""
    device = _gpu.get()
    return cast(
        Array, array if device is None else DeviceArray(on_device(array, device))
    )


def array_device() -> torch.device:
    """The device that long arrays are on."""
    return _gpu.get() or torch.device("cpu")


def of_tensor(tensor: torch.Tensor) -> Array:
    """The numbers of a tensor, where long arrays lie."""
    tensor = tensor.detach().to(array_device())
    return cast(Array, tensor.numpy() if _gpu.get() is None else DeviceArray(tensor))


def numbers_from(first: int, number: int) -> Array:
    """So many numbers in order, int32, where long arrays lie."""
    if _gpu.get() is None:
        return np.arange(first, first + number, dtype=np.int32)
    return of_tensor(
        torch.arange(first, first + number, dtype=torch.int32, device=_gpu.get())
    )


def block_rows(usual: int, of_gpu: int) -> int:
    """Rows of a block: the usual number, or that `on_gpu`."""
    return usual if _gpu.get() is None else of_gpu


def random_bits(number: int, parts: int, rng: np.random.Generator) -> Array:
    """Numbers below `parts`, each as likely, [number] uint8."""
    found = empty(number, np.uint8)
    if (generator := _generator(rng)) is not None:
        as_tensor(found).random_(0, parts, generator=generator)
        return found
    for part in _drawn(number):
        found[part] = rng.integers(0, parts, part.stop - part.start)
    return found


def add_noise(value: Array, size: float, rng: np.random.Generator) -> None:
    """Add normal noise of this standard deviation, in place: there are no ties then."""
    if (generator := _generator(rng)) is not None:
        tensor = as_tensor(value)
        tensor.add_(torch.empty_like(tensor).normal_(0, size, generator=generator))
        return
    for part in _drawn(len(value)):
        value[part] += size * rng.standard_normal(part.stop - part.start)


def random_rows(number: int, wanted: int, rng: np.random.Generator) -> Array:
    """About so many of the rows, at random and in order."""
    if _gpu.get() is not None:
        return np.unique(rng.integers(0, number, wanted))
    drawn = (
        (part.start, rng.random(part.stop - part.start)) for part in _drawn(number)
    )
    return np.concatenate([np.flatnonzero(r < wanted / number) + k for k, r in drawn])


def _generator(rng: np.random.Generator) -> torch.Generator | None:
    """One for the GPU where long arrays lie there: to draw on the CPU takes seconds."""
    device = _gpu.get()
    if device is None:
        return None
    return torch.Generator(device).manual_seed(int(rng.integers(1 << 62)))


def _drawn(number: int) -> Iterator[slice]:
    """Rows, as many as are drawn at a time."""
    for first in range(0, number, DRAWN):
        yield slice(first, min(first + DRAWN, number))


def empty(shape: int | tuple[int, ...], dtype: Any) -> Array:
    """An array whose entries are yet to be set, where long arrays lie."""
    if (device := _gpu.get()) is not None:
        return of_tensor(torch.empty(shape, dtype=torch_type(dtype), device=device))
    folder, kind = _folder.get(), np.dtype(dtype)
    size = math.prod(np.atleast_1d(shape).tolist()) * kind.itemsize
    if folder is None or size <= SHORT:
        return np.empty(shape, kind)
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            # Room that is missing later would end the process without a word.
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file.fileno(), 0, size)
            file.truncate(size)
            room = mmap.mmap(file.fileno(), size)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(folder)) from error
    return np.frombuffer(room, kind).reshape(shape)


def in_blocks(work: Callable[[slice], None], length: int) -> None:
    """Call `work` with the slice of each block of rows, on the threads torch uses.

    On a GPU, one after the other.
    """
    if _gpu.get() is not None:
        for first in range(0, length, ROWS_OF_GPU):
            work(slice(first, min(first + ROWS_OF_GPU, length)))
        return
    bounds = [(first, min(first + ROWS, length)) for first in range(0, length, ROWS)]
    threads.run(lambda first, last: work(slice(first, last)), bounds)


def in_threads(work: Callable[[slice], T], length: int, at_once: int = MANY) -> list[T]:
    """What `work` finds in each block of rows, in their order."""
    starts = range(0, length, at_once)
    blocks = [slice(first, min(first + at_once, length)) for first in starts]
    with ThreadPoolExecutor(torch.get_num_threads()) as pool:
        return list(pool.map(work, blocks))


def trim_heap() -> None:
    """Have glibc give what blocks of rows took of its heap back to the system.

    Gigabytes of it are free after many blocks that are a little smaller than those it
    never keeps. Other allocators are left alone.
    """
    is_posix = os.name == "posix"
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if is_posix else None
    if trim is not None:
        trim(0)


def by_rows(
    function: Callable[..., Any], *columns: Any, dtype: Any = np.float32
) -> Array:
    """A function of the rows of arrays, computed block by block, [P].

    Without a `dtype` the type is that of the function.
    """
    columns = tuple(map(placed, columns))
    if dtype is None:
        dtype = function(*(column[:0] for column in columns)).dtype
    found = empty(len(columns[0]), dtype)

    def work(rows: slice) -> None:
        found[rows] = function(*(column[rows] for column in columns))

    in_blocks(work, len(found))
    return found


def where(mask: Array, column: Array) -> Array:
    """The rows of an array where a mask is true."""
    if _gpu.get() is not None:
        return placed(column)[placed(mask)]
    found, last = empty(int(np.count_nonzero(mask)), column.dtype), 0
    for start in range(0, len(mask), ROWS):
        rows = column[start : start + ROWS][mask[start : start + ROWS]]
        first, last = last, last + len(rows)
        found[first:last] = rows
    return found


def sum_of_rows(function: Callable[..., Any], *columns: Any) -> float:
    """The sum of a function of the rows of arrays, of which nothing is stored."""
    columns, at_once = tuple(map(placed, columns)), block_rows(ROWS, ROWS_OF_GPU)
    parts = np.zeros(-(-len(columns[0]) // at_once))

    def work(rows: slice) -> None:
        found = function(*(column[rows] for column in columns))
        parts[rows.start // at_once] = found.sum(dtype=float)

    in_blocks(work, len(columns[0]))
    return float(parts.sum())
