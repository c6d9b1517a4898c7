import os
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from sgat.data.files.atomic import (
    LOCK,
    check_new_file,
    check_place,
    clear_scratch,
    is_same_file,
    locked,
    replacing,
    write_text,
)


def test_a_new_file_appears_whole(tmp_path):
    path = tmp_path / "a.txt"
    with replacing(path) as temporary:
        temporary.write_text("new")
        assert not path.exists()
        assert temporary.parent.parent == path.parent
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


def test_an_error_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    with pytest.raises(RuntimeError), replacing(path) as temporary:
        temporary.write_text("half")
        raise RuntimeError
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_and_a_file_in_no_folder_are_no_new_files(tmp_path):
    check_new_file(tmp_path / "a.txt", "out")
    with pytest.raises(ValueError, match="`out` must be a file, got the folder "):
        check_new_file(tmp_path, "out")
    with pytest.raises(ValueError, match="`out` must be in a folder that exists, got"):
        check_new_file(tmp_path / "no" / "a.txt", "out")


def test_a_link_is_followed(tmp_path):
    target, link = tmp_path / "target.txt", tmp_path / "link.txt"
    target.write_text("old")
    os.symlink(target, link)
    with replacing(link) as temporary:
        temporary.write_text("new")
    assert link.is_symlink() and target.read_text() == "new"


def test_a_missing_folder_or_a_folder_in_its_place_is_named(tmp_path):
    lost = tmp_path / "no" / "a.txt"
    with pytest.raises(OSError, match="does not exist") as error, replacing(lost):
        pass
    assert error.value.filename == str(lost)
    with pytest.raises(IsADirectoryError), replacing(tmp_path):
        pass


def test_a_folder_that_cannot_be_written_to_is_told_before(tmp_path, monkeypatch):
    allowed, locked = os.access, tmp_path / "locked"
    locked.mkdir()

    def access(path, mode):
        return os.fspath(path) != str(locked) and allowed(path, mode)

    # The tests may run as a user who can write anywhere.
    monkeypatch.setattr(os, "access", access)
    check_place(tmp_path / "new" / "run", "out")
    (locked / "there.csv").touch()
    for path in (locked, locked / "new" / "run", locked / "there.csv"):
        with pytest.raises(ValueError, match="`out` must be where files") as error:
            check_place(path, "out")
        assert f"got {path}, but {locked} cannot be written to." in str(error.value)
    monkeypatch.chdir(locked)
    with pytest.raises(ValueError, match="got run, but"):
        check_place(Path("run"), "out")


def test_a_file_where_a_folder_should_be_is_told_before(tmp_path):
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(ValueError, match=r"`out` must be .* is a file"):
        check_place(file / "x" / "y", "out")


def test_a_folder_takes_the_place_of_another_as_a_whole(tmp_path):
    path = tmp_path / "a"
    for name in ("old", "new"):
        with replacing(path, is_folder=True) as temporary:
            temporary.mkdir()
            (temporary / name).write_text(name)
    assert [file.name for file in path.iterdir()] == ["new"]
    with pytest.raises(RuntimeError), replacing(path, is_folder=True) as temporary:
        temporary.mkdir()
        raise RuntimeError
    assert [file.name for file in path.iterdir()] == ["new"]
    assert list(tmp_path.iterdir()) == [path]


def test_what_a_killed_process_left_is_cleared_by_the_next(tmp_path):
    path = tmp_path / "a.txt"
    left = tmp_path / ".a.txt.sgat"
    (left / "spill").mkdir(parents=True)
    for name in (LOCK, "new", "spill/1"):
        (left / name).write_text("half")
    write_text(path, "new")
    assert list(tmp_path.iterdir()) == [path]
    # Killed between two renames, where a folder cannot be swapped.
    (tmp_path / ".b.sgat" / "old").mkdir(parents=True)
    with pytest.raises(RuntimeError), replacing(tmp_path / "b", is_folder=True):
        raise RuntimeError
    assert sorted(tmp_path.iterdir()) == [path, tmp_path / "b"]


def test_a_link_in_place_of_what_is_on_its_way_is_refused(tmp_path):
    (tmp_path / "else").mkdir()
    (tmp_path / "else" / "mine").write_text("mine")
    (tmp_path / ".a.txt.sgat").symlink_to("else")
    with pytest.raises(ValueError, match=r"\.a\.txt\.sgat is a link"):
        write_text(tmp_path / "a.txt", "new")
    clear_scratch(tmp_path)
    assert (tmp_path / "else" / "mine").read_text() == "mine"


def test_a_folder_is_held_by_one_process(tmp_path):
    folder = tmp_path / "a" / "b"
    with locked(folder):
        message = f"{folder} is in use by another process; wait until that is done"
        with pytest.raises(ValueError, match=re.escape(message)), locked(folder):
            pass
    assert list(tmp_path.iterdir()) == []
    # A lock ends with its process, and the file says nothing.
    folder.mkdir(parents=True)
    (folder / LOCK).touch()
    with locked(folder):
        pass
    assert list(folder.iterdir()) == []


def test_no_lock_is_taken_through_a_link(tmp_path, monkeypatch):
    """Version 3.20.0 of filelock opens it as here."""
    import filelock

    def emptying(path):
        os.close(os.open(path, os.O_RDWR | os.O_TRUNC))
        return filelock.SoftFileLock(tmp_path / "soft")

    monkeypatch.setattr("filelock.FileLock", emptying)
    (tmp_path / "mine").write_text("mine")
    for folder in (tmp_path / "run", tmp_path / "run" / ".a.txt.sgat"):
        folder.mkdir()
        (folder / LOCK).symlink_to(tmp_path / "mine")
    with pytest.raises(ValueError, match=r"lock is a link"), locked(tmp_path / "run"):
        pass
    with pytest.raises(ValueError, match=r"lock is a link"):
        write_text(tmp_path / "run" / "a.txt", "new")
    assert (tmp_path / "mine").read_text() == "mine"


def test_a_name_may_be_as_long_as_the_system_allows(tmp_path):
    for name in ("n" * 255, "名" * 85):
        write_text(tmp_path / name, "new")
        assert (tmp_path / name).read_text() == "new"


def test_text_is_written_in_full_or_not_at_all(tmp_path):
    path = tmp_path / "a.txt"
    write_text(path, "α and\nβ\n")
    assert path.read_bytes().decode("utf-8") == "α and\nβ\n"
    with pytest.raises(UnicodeEncodeError):
        write_text(path, "half a pair: \ud800")
    assert path.read_bytes().decode("utf-8") == "α and\nβ\n"
    assert list(tmp_path.iterdir()) == [path]


def test_one_file_may_have_several_names(tmp_path):
    one, other = tmp_path / "a", tmp_path / "b"
    assert is_same_file(one, tmp_path / "c" / ".." / "a")
    assert not is_same_file(one, other)
    one.write_text("")
    other.symlink_to(one)
    os.link(one, tmp_path / "hard")
    assert is_same_file(one, other) and is_same_file(tmp_path / "hard", other)


@pytest.mark.parametrize("through", ["itself", "a link"])
def test_a_pipe_or_a_device_is_not_replaced_by_a_file(through, tmp_path):
    pipe, path = tmp_path / "pipe", tmp_path / "o.csv"
    if through == "itself":
        pipe = path
    else:
        path.symlink_to(pipe)
    os.mkfifo(pipe)
    with pytest.raises(ValueError, match="must be a file, got the pipe or device"):
        check_new_file(path, "out")
    with pytest.raises(FileExistsError, match="a pipe or a device is no place"):
        write_text(path, "new")
    assert pipe.is_fifo()
    assert {p.name for p in tmp_path.iterdir()} == {"o.csv", pipe.name}


def test_many_write_one_file_at_once(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda number: None)
    path = tmp_path / "f.txt"

    def write(number):
        for _ in range(25):
            write_text(path, str(number) * 1000)

    with ThreadPoolExecutor(4) as pool:
        for future in [pool.submit(write, number) for number in range(4)]:
            future.result()
    assert path.read_text() in [str(number) * 1000 for number in range(4)]
    assert list(tmp_path.iterdir()) == [path]
