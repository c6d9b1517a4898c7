"""Raw files of the named data sets: found, downloaded with pooch, and checked."""

import contextlib
import dataclasses
import hashlib
import io
import logging
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from importlib import resources
from pathlib import Path
from typing import IO

Progress = Callable[[int], None]
"""Called during a download with the number of bytes received so far."""

TIMEOUT = 20.0
"""Seconds without an answer or without data after which a download is given up."""
CHUNK = 1 << 16


@dataclasses.dataclass(frozen=True)
class RawFiles:
    """The files of a data set as they were published."""

    folder: str  # below the data root; the files are in its subfolder `raw`
    # Of each file its own address, that of a zip archive which holds it, or None.
    addresses: Mapping[str, str | None]

    def key(self, name: str) -> str:
        """The path of a file below the data root, as `checksums` has it."""
        return f"{self.folder}/raw/{name}"


def checksums() -> dict[str, str]:
    """SHA-256 of published files by their path below the data root (checksums.txt)."""
    text = resources.files("sgat.data").joinpath("checksums.txt").read_text("utf-8")
    return {path: found for found, path in map(str.split, text.splitlines())}


def user_cache() -> Path:
    """The user's folder for downloaded data, by the habit of the platform."""
    import platformdirs

    places = platformdirs.PlatformDirs("sgat", appauthor=False, opinion=False)
    return places.user_cache_path / "datasets"


def data_root(root: str | os.PathLike[str] | None = None) -> Path:
    """The folder of the data sets: `root`, else $SGAT_DATA, else the user's cache."""
    chosen = root if root is not None else os.environ.get("SGAT_DATA") or None
    return user_cache() if chosen is None else Path(chosen).expanduser()


def missing_files(raw: RawFiles, root: Path) -> list[str]:
    """The files found neither below `root` nor in the user's cache."""
    return [name for name in raw.addresses if _find(raw, name, root) is None]


@contextlib.contextmanager
def open_files(
    raw: RawFiles, root: Path, *, download: bool, progress: Progress | None
) -> Iterator[dict[str, IO[bytes]]]:
    """Open the files of a data set, those with a published sum from a checked copy.

    The copy is in memory, so that what is read is what was checked, whatever happens to
    the file meanwhile. Only finished, checked downloads are written to `root`, or to
    the user's cache where `root` cannot be written.
    """
    missing = missing_files(raw, root)
    if missing:
        _download(raw, root, missing, progress, download)
    sums = checksums()
    with contextlib.ExitStack() as stack:
        files = {}
        for name in raw.addresses:
            path = _find(raw, name, root)
            assert path is not None
            opened = _open_checked(path, sums.get(raw.key(name)))
            files[name] = stack.enter_context(opened)
        yield files


def _find(raw: RawFiles, name: str, root: Path) -> Path | None:
    places = (base / raw.key(name) for base in (root, user_cache()))
    return next((path for path in places if path.is_file()), None)


def _open_checked(path: Path, expected: str | None) -> IO[bytes]:
    if expected is None:
        return path.open("rb")
    content = path.read_bytes()
    found = hashlib.sha256(content).hexdigest()
    if found != expected:
        raise ValueError(
            f"The file {path} must be the published one with the SHA-256 {expected},"
            f" but has {found}; it was not opened, replace it by a fresh download."
        )
    return io.BytesIO(content)


def _download(
    raw: RawFiles,
    root: Path,
    missing: list[str],
    progress: Progress | None,
    allowed: bool,
) -> None:
    problem = f"The file {root / raw.key(missing[0])} was expected but is not there"
    advice = "put it there, or name the folder that has it as `root` or in SGAT_DATA."
    if any(raw.addresses[name] is None for name in missing):
        raise ValueError(
            f"{problem}, and there is no address to download it from; {advice}"
        )
    if not allowed:
        raise ValueError(f"{problem}; {advice}")
    with tempfile.TemporaryDirectory(prefix="sgat-") as folder:
        try:
            found = _received(raw, missing, Path(folder), progress)
            absent = [name for name in missing if name not in found]
            if absent:
                raise FileNotFoundError(f"the download has no file {absent[0]}")
        except Exception as error:  # whatever a network and an archive can raise
            if getattr(error, "response", None) is not None:
                error.response.close()  # type: ignore[attr-defined] # the connection
            # pooch adds advice to its first sentence, which has both sums.
            reason = " ".join(str(error).split()).partition(". ")[0].rstrip(".")
            raise ValueError(
                f"{problem}, and it could not be downloaded"
                f" ({reason or type(error).__name__}); {advice}"
            ) from error
        try:
            _install(raw, missing, found, root)
        except OSError:
            _install(raw, missing, found, user_cache())


def _received(
    raw: RawFiles, missing: list[str], folder: Path, progress: Progress | None
) -> dict[str, Path]:
    """Download the missing files, check those with a sum and unpack archives."""
    import pooch

    sums, logger = checksums(), pooch.get_logger()
    bar = False if progress is None else _Bar(progress)
    get = pooch.HTTPDownloader(timeout=TIMEOUT, chunk_size=CHUNK, progressbar=bar)
    found, level = {}, logger.level
    # pooch reports each download on standard error.
    logger.setLevel(logging.ERROR)
    try:
        for address in dict.fromkeys(raw.addresses[name] for name in missing):
            assert address is not None
            name = address.rpartition("/")[2]
            is_archive = name.endswith(".zip")
            paths = pooch.retrieve(
                address,
                sums.get(raw.key(name)),
                fname=name,
                path=folder,
                processor=pooch.Unzip() if is_archive else None,
                downloader=get,
            )
            received = map(Path, paths if is_archive else [paths])
            found.update({path.name: path for path in received})
    finally:
        logger.setLevel(level)
    return found


def _install(
    raw: RawFiles, missing: list[str], found: dict[str, Path], root: Path
) -> None:
    from sgat.data.files.atomic import replacing

    for name in missing:
        target = root / raw.key(name)
        target.parent.mkdir(parents=True, exist_ok=True)
        with replacing(target) as temporary:
            shutil.copyfile(found[name], temporary)


class _Bar:
    """The interface of pooch's progress bar, counting through several files."""

    def __init__(self, progress: Progress) -> None:
        self.progress, self.total = progress, 0
        self.earlier = self.now = self.seen = 0

    def update(self, count: int) -> None:
        self.now += count
        self.progress(self.earlier + max(self.now, self.seen))

    def reset(self) -> None:
        # At the end pooch counts again, by the size the server gave, which may be 0.
        self.seen, self.now = 0 if self.total else self.now, 0

    def close(self) -> None:
        self.earlier += max(self.now, self.seen)
        self.now = self.seen = 0
