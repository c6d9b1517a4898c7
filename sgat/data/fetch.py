"""Find the raw files of a benchmark, or download them through PyG, and check them."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import os
import shutil
import socket
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

from sgat.data.checksums import SHA256, copy_verified

Progress = Callable[[int], None]
"""Called during a download with the number of bytes received so far."""

TIMEOUT = 20.0
"""Seconds without an answer or without data after which a download is given up."""


@dataclasses.dataclass(frozen=True)
class Source:
    """Where the raw files of a data set lie, and the PyG class that knows them.

    Attributes:
        folder: Folder below the data root; the files are in its subfolder `raw`.
        files: Names of the raw files.
        reader: Class of `torch_geometric.datasets` that reads (and downloads) them;
            None where there is none.
        arguments: Arguments of that class besides the root.
        downloads: Whether PyG's class downloads exactly these files.
    """

    folder: str
    files: tuple[str, ...]
    reader: str | None = None
    arguments: Mapping[str, str] = dataclasses.field(default_factory=dict)
    downloads: bool = True

    def raw_folder(self, pyg_root: Path) -> Path:
        """The folder in which the PyG class looks when its root is `pyg_root`."""
        return pyg_root / self.folder.partition("/")[2] / "raw"


def user_cache() -> Path:
    """The user's folder for downloaded data, by the habit of the platform."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or "~/AppData/Local"
    elif sys.platform == "darwin":
        base = "~/Library/Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "sgat" / "datasets"


def data_root(root: str | os.PathLike[str] | None = None) -> Path:
    """The folder of the data sets: `root`, else $SGAT_DATA, else the user's cache."""
    chosen = root if root is not None else os.environ.get("SGAT_DATA") or None
    return user_cache() if chosen is None else Path(chosen).expanduser()


def pyg_class(name: str) -> Any:
    """A class of `torch_geometric.datasets`, whose import warns of its own old ways."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from torch_geometric import datasets
    return getattr(datasets, name)


def missing_files(source: Source, root: Path) -> list[str]:
    """The raw files found neither below `root` nor in the user's cache."""
    return [file for file in source.files if _find(source, file, root) is None]


def stage(
    source: Source,
    root: Path,
    scratch: Path,
    *,
    download: bool = True,
    progress: Progress | None = None,
) -> Path:
    """Gather the checked raw files below `scratch`, as the PyG class expects them.

    Files with a published sum are copied and checked; others are linked. Nothing else
    is taken from `root`, and only a finished, checked download is ever written to it
    (to the user's cache where `root` cannot be written).

    Args:
        source: Which files.
        root: Folder laid out by `Source.folder`; may be read-only.
        scratch: An empty folder of ours, the root for PyG.
        download: Whether missing files may be fetched.
        progress: Told about the bytes received.

    Returns:
        The folder with the raw files.

    Raises:
        ValueError: If a file is missing and cannot be had, or is not the published one.
    """
    missing = missing_files(source, root)
    if missing:
        _download(source, root, missing, progress, download)
    raw = source.raw_folder(scratch)
    raw.mkdir(parents=True, exist_ok=True)
    for file in source.files:
        found = _find(source, file, root)
        assert found is not None
        _take(source, file, found, raw / file)
    return raw


def _find(source: Source, file: str, root: Path) -> Path | None:
    for base in (root, user_cache()):
        path = base / source.folder / "raw" / file
        if path.is_file():
            return path
    return None


def _take(source: Source, file: str, found: Path, target: Path) -> None:
    key = f"{source.folder}/raw/{file}"
    if key in SHA256:
        copy_verified(found, target, key)
        return
    try:
        target.symlink_to(found.resolve())
    except OSError:
        shutil.copyfile(found, target)


def _download(
    source: Source,
    root: Path,
    missing: list[str],
    progress: Progress | None,
    allowed: bool,
) -> None:
    where = root / source.folder / "raw" / missing[0]
    advice = (
        "put it there, or name the folder that has it"
        " with --data-root or the variable SGAT_DATA."
    )
    if source.reader is None or not source.downloads:
        raise ValueError(
            f"The file {where} was expected but is not there,"
            f" and there is no address to download it from; {advice}"
        )
    if not allowed:
        raise ValueError(f"The file {where} was expected but is not there; {advice}")
    with tempfile.TemporaryDirectory(prefix="sgat-download-") as folder:
        scratch = Path(folder)
        try:
            _download_with_pyg(source, scratch, progress)
            raw = source.raw_folder(scratch)
            absent = [file for file in missing if not (raw / file).is_file()]
            if absent:
                raise FileNotFoundError(f"the download has no file {absent[0]}")
        except Exception as error:  # whatever a network and an archive can raise
            if isinstance(error, HTTPError):
                error.close()  # it holds the connection
            reason = " ".join(str(error).split()).rstrip(".") or type(error).__name__
            raise ValueError(
                f"The file {where} was expected but is not there,"
                f" and it could not be downloaded ({reason}); {advice}"
            ) from error
        _install(source, missing, raw, root)


def _download_with_pyg(
    source: Source, scratch: Path, progress: Progress | None
) -> None:
    """Run only the `download` of the PyG class: nothing is opened before its check."""
    reader = pyg_class(source.reader or "")
    dataset = reader.__new__(reader)
    dataset.__dict__.update(source.arguments, root=str(scratch))
    source.raw_folder(scratch).mkdir(parents=True, exist_ok=True)
    with _patience(TIMEOUT), _watch(scratch, progress), quiet():
        dataset.download()


def _install(source: Source, missing: list[str], raw: Path, root: Path) -> None:
    """Move checked files to the root, or to the user's cache if that cannot be."""
    checked = raw.parent / "checked"
    checked.mkdir()
    for file in missing:
        _take(source, file, raw / file, checked / file)
    try:
        _place(checked, missing, root / source.folder / "raw")
    except OSError:
        _place(checked, missing, user_cache() / source.folder / "raw")


def _place(checked: Path, files: list[str], target: Path) -> None:
    target.mkdir(parents=True, exist_ok=True)
    for file in files:
        partial = target / f".{file}.{os.getpid()}.part"
        try:
            shutil.copyfile(checked / file, partial)
            partial.replace(target / file)
        finally:
            partial.unlink(missing_ok=True)


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Keep what PyG says on standard error to itself."""
    with contextlib.redirect_stderr(io.StringIO()):
        yield


@contextlib.contextmanager
def _patience(seconds: float) -> Iterator[None]:
    """Bound how long PyG's two ways of downloading wait; both wait forever or long."""
    from aiohttp import ClientTimeout
    from fsspec.config import conf  # type: ignore[import-untyped]

    limit = ClientTimeout(total=None, sock_connect=seconds, sock_read=seconds)
    options = {"client_kwargs": {"timeout": limit, "trust_env": True}}
    timeout, before = socket.getdefaulttimeout(), dict(conf)
    socket.setdefaulttimeout(seconds)
    conf.update({"http": options, "https": options})
    try:
        yield
    finally:
        socket.setdefaulttimeout(timeout)
        conf.clear()
        conf.update(before)


@contextlib.contextmanager
def _watch(folder: Path, progress: Progress | None) -> Iterator[None]:
    if progress is None:
        yield
        return
    done = threading.Event()

    def tell() -> None:
        paths = list(folder.rglob("*"))
        progress(sum(path.stat().st_size for path in paths if path.is_file()))

    def watch() -> None:
        while not done.wait(0.2):
            with contextlib.suppress(OSError):  # a file may vanish while we look
                tell()

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
    tell()
