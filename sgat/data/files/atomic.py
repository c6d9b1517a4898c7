"""Files and folders that are written in full or not at all, one process at a time."""

import contextlib
import ctypes
import errno
import hashlib
import os
import shutil
import stat
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

LOCK = ".sgat.lock"
"""File by which a process holds a folder."""
SCRATCH = ".sgat"
"""End of the name of a folder for what is on its way to a place beside it."""
LONGEST = 200
"""Bytes of a name beyond which its scratch folder is named by a hash."""
PATIENCE = 5.0
"""Seconds to wait for another process that writes the same file."""
ATTEMPTS = 100
"""Times to make a folder that other processes remove."""


def check_place(path: Path, argument: str) -> None:
    """Refuse, before any work, a place where no file or folder can be written."""
    whole = path.absolute()
    folder = next(part for part in (whole, *whole.parents) if part.is_dir())
    file = next((part for part in whole.parents if part.is_file()), None)
    if file is not None or not os.access(folder, os.W_OK | os.X_OK):
        why = f"{file} is a file" if file else f"{folder} cannot be written to"
        raise ValueError(
            f"`{argument}` must be where files can be written, got {path}, but {why}."
        )


def check_new_file(path: Path, argument: str) -> None:
    """Refuse, before any work, a folder, and a file in a folder that is not there."""
    if path.exists() and not path.is_file():
        what = "folder" if path.is_dir() else "pipe or device"
        raise ValueError(f"`{argument}` must be a file, got the {what} {path}.")
    if not path.absolute().parent.is_dir():
        raise ValueError(f"`{argument}` must be in a folder that exists, got {path}.")


def check_new_folder(path: Path, argument: str) -> None:
    """Refuse to replace a folder with other files than those of a table."""
    if not path.absolute().parent.is_dir():
        raise ValueError(f"`{argument}` must be in a folder that exists, got {path}.")
    for file in path.rglob("*") if path.is_dir() else ():
        if file.is_file() and file.suffix not in (".parquet", ".pq"):
            raise ValueError(
                f"`overwrite` replaces a folder of Parquet files, and {path} holds"
                f" {file.name}; choose another `{argument}`."
            )


def overlaps(one: Path, other: Path) -> bool:
    """Whether two paths are the same file, or one is in the folder of the other."""
    first, second = (Path(os.path.realpath(path)) for path in (one, other))
    is_within = first.is_relative_to(second) or second.is_relative_to(first)
    return is_within or is_same_file(one, other)


def check_plain(paths: Iterable[Path]) -> None:
    """Refuse links and pipes among the files of a folder that a stranger may have made.

    A link there could have us read or replace a file that nobody named.
    """
    for path in paths:
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            mode = path.lstat().st_mode
            if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
                what = "a link" if stat.S_ISLNK(mode) else "no file"
                raise ValueError(
                    f"{path} is {what}, which has no place in a run folder; put a copy"
                    " of the file there."
                )


def is_same_file(one: Path, other: Path) -> bool:
    """Whether two paths are one file, be it through links, or would be."""
    if os.path.realpath(one) == os.path.realpath(other):
        return True
    return one.exists() and other.exists() and one.samefile(other)


@contextlib.contextmanager
def locked(folder: Path, what: Path | None = None, wait: float = 0) -> Iterator[None]:
    """Make a folder and hold it; an error, which names `what`, if another process does.

    The lock of a dead process is taken over. Made folders that stay empty go again.
    """
    from filelock import FileLock, Timeout

    made = [part for part in (folder, *folder.parents) if not part.exists()]
    file = folder / LOCK
    # Some versions of filelock empty the file that a link leads to.
    check_plain([file])
    lock = FileLock(file)
    try:
        for left in reversed(range(ATTEMPTS)):
            try:
                folder.mkdir(parents=True, exist_ok=True)
                lock.acquire(timeout=wait)
                break
            except (FileNotFoundError, FileExistsError):
                # Another process has just removed the folder as it was done.
                if not left:
                    raise
            except Timeout:
                raise ValueError(
                    f"{what or folder} is in use by another process; wait until that is"
                    " done, or choose another place."
                ) from None
        try:
            yield
        finally:
            # Before others can have it; Windows removes no open file.
            for end in (file.unlink, lock.release):
                with contextlib.suppress(OSError):
                    end()
            if os.name == "nt":
                with contextlib.suppress(OSError):
                    file.unlink()
    finally:
        for part in made:
            with contextlib.suppress(OSError):
                part.rmdir()


@contextlib.contextmanager
def scratch_folder(path: Path, what: str = "") -> Iterator[Path]:
    """A folder beside a path, on the same disk, for what is on its way there.

    It is gone in the end. The next process clears what a killed one has left.
    """
    target = Path(os.path.realpath(path))
    name = target.name + what
    if len(os.fsencode(name)) > LONGEST:
        name = hashlib.sha256(os.fsencode(name)).hexdigest()
    folder = target.with_name(f".{name}{SCRATCH}")
    check_plain([folder])
    try:
        with locked(folder, target, PATIENCE):
            if (folder / "old").exists() and not target.exists():
                os.rename(folder / "old", target)
            _empty(folder)
            try:
                yield folder
            finally:
                _empty(folder)
    finally:
        with contextlib.suppress(OSError):
            folder.rmdir()


def clear_scratch(folder: Path) -> None:
    """Remove what killed processes have left of files on their way to a folder."""
    for place in folder.glob(f".*{SCRATCH}"):
        # That of a living one is locked.
        with contextlib.suppress(OSError, ValueError):
            check_plain([place])
            with locked(place):
                _empty(place)
            place.rmdir()


def _empty(folder: Path) -> None:
    """Remove all that is in a folder but its lock, as far as that can be done."""
    for path in folder.iterdir() if folder.is_dir() else ():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        elif path.name != LOCK:
            with contextlib.suppress(OSError):
                path.unlink()


@contextlib.contextmanager
def replacing(path: Path, *, is_folder: bool = False) -> Iterator[Path]:
    """A temporary path that takes the place of `path` when the block succeeds.

    After an error, which names `path`, an earlier file or folder is as it was, and
    nothing else is there. A link is followed: what it points to is replaced.
    """
    target = Path(os.path.realpath(path))
    try:
        if target.is_dir() and not is_folder:
            raise OSError(errno.EISDIR, os.strerror(errno.EISDIR))
        if target.exists() and not (target.is_dir() or target.is_file()):
            raise OSError(errno.EEXIST, "a pipe or a device is no place for a file")
        if not target.parent.is_dir():
            raise OSError(errno.ENOENT, "the folder to write to does not exist")
        with scratch_folder(target) as scratch:
            temporary = scratch / "new"
            if not is_folder:
                temporary.touch()
            yield temporary
            for file in temporary.rglob("*") if is_folder else [temporary]:
                sync(file)
            if is_folder and target.exists():
                _exchange(temporary, target)
            else:
                os.replace(temporary, target)
            sync(target.parent)
    except OSError as error:
        number = error.errno or errno.EIO
        message = error.strerror or str(error)
        raise OSError(number, message, str(path)) from error


def sync(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    if path.is_dir():
        # Not every system can.
        with contextlib.suppress(OSError):
            number = os.open(path, os.O_RDONLY)
            try:
                os.fsync(number)
            finally:
                os.close(number)
    else:
        with path.open("rb+") as file:
            os.fsync(file.fileno())


def _exchange(new: Path, target: Path) -> None:
    """Put a folder in the place of another: in one step on Linux, elsewhere in two.

    Whoever is killed between the two leaves the old one for `scratch_folder`.
    """
    if sys.platform == "linux":
        swap = getattr(ctypes.CDLL(None), "renameat2", None)
        here, both_ways = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
        names = here, os.fsencode(new), here, os.fsencode(target)
        if swap is not None and swap(*names, both_ways) == 0:
            return
    old = new.with_name("old")
    os.rename(target, old)
    try:
        os.rename(new, target)
    except OSError:
        os.rename(old, target)
        raise


def write_text(path: Path, text: str) -> None:
    """Write a text file in full or not at all."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
