"""Files that are either written in full or not at all."""

import errno
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


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
    if path.is_dir():
        raise ValueError(f"`{argument}` must be a file, got the folder {path}.")
    if not path.absolute().parent.is_dir():
        raise ValueError(f"`{argument}` must be in a folder that exists, got {path}.")


def is_same_file(one: Path, other: Path) -> bool:
    """Whether two paths are one file, be it through links, or would be."""
    if os.path.realpath(one) == os.path.realpath(other):
        return True
    return one.exists() and other.exists() and one.samefile(other)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary name beside `path` that takes its place when the block succeeds.

    After an error, which names `path`, the temporary file is gone and an earlier file
    is as it was. A link is followed: what it points to is replaced.
    """
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not target.parent.is_dir():
        raise FileNotFoundError(
            errno.ENOENT, "the folder to write to does not exist", str(path)
        )
    temporary = target.with_name(f".{target.name[:100]}.{secrets.token_hex(6)}.tmp")
    try:
        # Also finds out, before any work, that the folder cannot be written to.
        temporary.touch(exist_ok=False)
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except OSError as error:
        number = error.errno or errno.EIO
        message = error.strerror or str(error)
        raise OSError(number, message, str(path)) from error
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a text file in full or not at all."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
