import os

import pytest

from sgat.atomic import replacing


def test_a_new_file_appears_whole(tmp_path):
    path = tmp_path / "a.txt"
    with replacing(path) as temporary:
        temporary.write_text("new")
        assert not path.exists()
        assert temporary.parent == path.parent
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
