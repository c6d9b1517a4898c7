"""Faults: an operation on a file fails, or is the last one that its process begins."""

import contextlib
import errno
import functools
import io
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest import mock

from sgat.data.files import atomic

CHANGES = ("replace", "rename", "unlink", "remove", "mkdir", "rmdir", "fsync")


@contextlib.contextmanager
def faults(
    root: Path,
    first: int | None = None,
    *,
    only: bool = False,
    act: Callable[[], None] | None = None,
    code: int = errno.ENOSPC,
) -> Iterator[list[str]]:
    """Fail at the operation number `first`, from 1, on files below a folder.

    All later ones fail as well: to the disk, the process was killed there, and a real
    kill, as `act`, does no other. With `only`, later ones succeed, such as those that
    clean up. Yields the operations that were begun.
    """
    begun: list[str] = []

    def wrapped(name, real, is_counted=lambda *args, **options: True):
        @functools.wraps(real)
        def operation(*args, **options):
            place = str(args[0]) if args else ""
            is_here = "dir_fd" in options or name == "fsync"
            is_here = is_here or os.path.abspath(place).startswith(str(root))
            if is_here and is_counted(*args, **options):
                begun.append(f"{name} {place.removeprefix(str(root))}")
                number = len(begun)
                if first and (number == first if only else number >= first):
                    if act is not None:
                        act()
                    raise OSError(code, os.strerror(code), place)
            return real(*args, **options)

        return operation

    def writes(path, mode="r", *args, **options):
        return set(mode) & set("wax+")

    def creates(path, flags, *args, **options):
        return flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)

    patches = [mock.patch.object(os, n, wrapped(n, getattr(os, n))) for n in CHANGES]
    patches += [
        mock.patch.object(os, "open", wrapped("open", os.open, creates)),
        mock.patch.object(io, "open", wrapped("open", io.open, writes)),
        mock.patch.object(atomic, "_exchange", wrapped("swap", atomic._exchange)),
    ]
    with contextlib.ExitStack() as stack:
        for patch in patches:
            stack.enter_context(patch)
        yield begun


def tree(folder: Path) -> dict[str, bytes | None]:
    """The files below a folder with what is in them, and the folders with None."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
    }
