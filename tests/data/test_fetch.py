import dataclasses
import hashlib
import importlib
import shutil
import socket
import threading
import time
import zipfile
from pathlib import Path

import pytest

from sgat.data import fetch, load
from sgat.data.catalogue import ARCHIVES, CATALOGUE, GEOM_GCN, PLANETOID
from sgat.data.fetch import checksums, data_root

pooch = pytest.importorskip("pooch", reason="pooch is not installed")
platformdirs = pytest.importorskip("platformdirs", reason="it is not installed")


def files_below(folder):
    return sorted(
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file()
    )


def move_addresses(monkeypatch, name, old, new):
    """Let the files of a data set come from another server."""
    benchmark = CATALOGUE[name]
    moved = {
        file: address.replace(old, new)
        for file, address in benchmark.raw.addresses.items()
    }
    raw = dataclasses.replace(benchmark.raw, addresses=moved)
    monkeypatch.setitem(CATALOGUE, name, dataclasses.replace(benchmark, raw=raw))


@pytest.fixture
def texas_server(benchmarks, web, monkeypatch):
    """The folder of a server with the files of Texas, at which `load` asks."""
    address, folder = web
    raw = benchmarks / "WebKB" / "texas" / "raw"
    shutil.copytree(raw, folder / "splits")
    shutil.copytree(raw, folder / "new_data" / "texas")
    move_addresses(monkeypatch, "texas", GEOM_GCN, address)
    return folder


def test_the_root_is_the_argument_then_the_variable_then_the_cache(
    user_cache, monkeypatch
):
    monkeypatch.setenv("SGAT_DATA", "from-variable")
    assert data_root("given") == Path("given")
    assert data_root() == Path("from-variable")
    monkeypatch.setenv("SGAT_DATA", "")
    assert data_root() == user_cache


@pytest.mark.parametrize(
    ("module", "platform", "expected"),
    [
        ("unix", "Unix", ".cache/sgat/datasets"),
        ("macos", "MacOS", "Library/Caches/sgat/datasets"),
        ("windows", "Windows", "local/sgat/datasets"),
    ],
)
def test_the_cache_follows_the_platform(
    module, platform, expected, tmp_path, monkeypatch
):
    system = getattr(importlib.import_module(f"platformdirs.{module}"), platform)
    monkeypatch.setattr(platformdirs, "PlatformDirs", system)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    local = str(tmp_path / "local")
    monkeypatch.setattr("platformdirs.windows.get_win_folder", lambda _: local)
    assert fetch.user_cache() == tmp_path / expected


def test_the_table_is_the_one_beside_the_files(benchmarks):
    beside = benchmarks / "SHA256SUMS"
    if not beside.is_file():
        pytest.skip(f"no file {beside} to compare with")
    listed = dict(reversed(line.split()) for line in beside.read_text().splitlines())
    assert len(checksums()) == 93
    assert checksums().items() <= listed.items()


def test_a_missing_file_is_named_with_its_place(tmp_path, user_cache):
    with pytest.raises(ValueError) as error:
        load("cora", root=tmp_path, download=False)
    expected = tmp_path / "Planetoid" / "Cora" / "raw" / "ind.cora.x"
    assert str(error.value) == (
        f"The file {expected} was expected but is not there; put it there, or name the"
        f" folder that has it as `root` or in SGAT_DATA."
    )
    assert files_below(tmp_path) == []


@pytest.mark.parametrize("name", ["twitch", "cornell-2020"])
def test_files_without_an_address_are_not_asked_for(name, tmp_path, user_cache):
    with pytest.raises(ValueError, match="there is no address to download it from"):
        load(name, root=tmp_path)


def test_a_missing_set_is_downloaded_checked_and_kept(
    tmp_path, user_cache, texas_server
):
    root = tmp_path / "new" / "root"
    seen = []
    (data,) = load("texas", root=root, progress=seen.append)
    assert data.graph.num_edges == 558
    assert len(files_below(root)) == 12
    assert all(name.startswith("WebKB/texas/raw/") for name in files_below(root))
    assert seen[-1] == sum(path.stat().st_size for path in root.rglob("*.*"))
    shutil.rmtree(texas_server)
    assert load("texas", root=root)[0].graph.num_edges == 558


def test_citation_graphs_are_downloaded_too(
    tmp_path, user_cache, benchmarks, web, monkeypatch
):
    address, folder = web
    shutil.copytree(benchmarks / "Planetoid/Cora/raw", folder / "data")
    move_addresses(monkeypatch, "cora", PLANETOID, f"{address}/data")
    (data,) = load("cora", root=tmp_path / "root")
    assert data.graph.num_edges == 10556
    assert len(files_below(tmp_path / "root")) == 8


def test_an_archive_is_downloaded_and_unpacked(
    tmp_path, user_cache, web, monkeypatch, write_reddit
):
    address, folder = web
    raw = write_reddit(tmp_path / "made")
    with zipfile.ZipFile(folder / "reddit.zip", "w") as archive:
        for path in raw.iterdir():
            archive.write(path, path.name)
    move_addresses(monkeypatch, "reddit", ARCHIVES, address)
    assert load("reddit", root=tmp_path / "root")[0].num_nodes == 17
    assert files_below(tmp_path / "root") == [
        "Reddit/raw/reddit_data.npz",
        "Reddit/raw/reddit_graph.npz",
    ]


def test_an_altered_download_is_refused_and_nothing_is_kept(
    tmp_path, user_cache, texas_server
):
    torn = texas_server / "splits" / "texas_split_0.6_0.2_9.npz"
    torn.write_bytes(torn.read_bytes()[:-7])
    found = hashlib.sha256(torn.read_bytes()).hexdigest()
    with pytest.raises(ValueError) as error:
        load("texas", root=tmp_path / "root")
    key = "WebKB/texas/raw/texas_split_0.6_0.2_9.npz"
    assert (
        "could not be downloaded (SHA256 hash of downloaded file"
        " (texas_split_0.6_0.2_9.npz) does not match the known hash: expected"
        f" {checksums()[key]} but got {found}); put it there"
    ) in str(error.value)
    assert files_below(tmp_path / "root") == []
    assert not user_cache.exists()


def test_a_failed_download_leaves_nothing(
    tmp_path, user_cache, texas_server, monkeypatch
):
    (texas_server / "splits" / "texas_split_0.6_0.2_9.npz").unlink()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "scratch"))
    (tmp_path / "scratch").mkdir()
    with pytest.raises(ValueError) as error:
        load("texas", root=tmp_path / "root")
    expected = tmp_path / "root/WebKB/texas/raw/out1_node_feature_label.txt"
    assert str(error.value).startswith(
        f"The file {expected} was expected but is not there, and it could not be"
        f" downloaded (404 Client Error: File not found for url: http://127.0.0.1:"
    )
    assert not (tmp_path / "root").exists()
    assert files_below(tmp_path / "scratch") == []


def test_a_download_does_not_touch_the_files_that_are_there(
    tmp_path, user_cache, benchmarks, texas_server
):
    root = tmp_path / "root"
    raw = root / "WebKB" / "texas" / "raw"
    shutil.copytree(benchmarks / "WebKB/texas/raw", raw)
    (raw / "texas_split_0.6_0.2_4.npz").unlink()
    before = {path: path.stat().st_ino for path in raw.iterdir()}
    load("texas", root=root)
    after = {path: path.stat().st_ino for path in raw.iterdir()}
    assert len(after) == 12
    assert {path: after[path] for path in before} == before


def test_a_root_that_cannot_be_written_sends_the_download_to_the_cache(
    tmp_path, user_cache, texas_server
):
    root = tmp_path / "root"
    root.write_text("a file, in which no folder can be made even by the superuser")
    assert load("texas", root=root)[0].num_nodes == 183
    assert len(files_below(user_cache)) == 12
    assert load("texas", root=root, download=False)[0].num_nodes == 183


def test_a_download_is_silent_and_leaves_the_log_of_pooch_as_it_was(
    tmp_path, user_cache, texas_server, capfd
):
    level = pooch.get_logger().level
    load("texas", root=tmp_path / "root")
    assert capfd.readouterr() == ("", "")
    assert pooch.get_logger().level == level


def test_a_server_that_never_answers_is_given_up(tmp_path, user_cache, monkeypatch):
    monkeypatch.setattr(fetch, "TIMEOUT", 0.5)
    done = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(0.1)

        def accept():
            held = []
            while not done.is_set():
                try:
                    held.append(silent.accept()[0])
                except TimeoutError:
                    continue
            for connection in held:
                connection.close()

        thread = threading.Thread(target=accept)
        thread.start()
        port = silent.getsockname()[1]
        move_addresses(monkeypatch, "texas", GEOM_GCN, f"http://127.0.0.1:{port}")
        start = time.monotonic()
        try:
            with pytest.raises(
                ValueError, match=r"could not be downloaded \(.+\); put"
            ):
                load("texas", root=tmp_path / "root")
        finally:
            done.set()
            thread.join()
    assert time.monotonic() - start < 10
    assert not (tmp_path / "root").exists()
