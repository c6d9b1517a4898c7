import pytest

from sgat.data.files.outputs import check_outputs
from sgat.runs.folder import RunFolder


@pytest.fixture
def folder(tmp_path):
    run = tmp_path / "run"
    run.mkdir()
    (tmp_path / "edges.csv").write_text("src,dst\n")
    return RunFolder(run)


def refusal(outputs, folder, **options) -> str:
    inputs = {"the edges": folder.path.parent / "edges.csv", "`nodes`": None}
    with pytest.raises(ValueError) as caught:
        check_outputs(outputs, inputs, is_of_run=folder.holds, **options)
    return str(caught.value)


def test_new_files_and_none_are_fine(folder, tmp_path):
    outputs = {"out": tmp_path / "p.csv", "scores": None, "picture": tmp_path / "p.png"}
    inputs = {"the edges": tmp_path / "edges.csv"}
    check_outputs(outputs, inputs, is_of_run=folder.holds)
    assert not (tmp_path / "p.csv").exists()


def test_nothing_that_is_read_is_replaced_by_whatever_name(folder, tmp_path):
    (tmp_path / "hard.csv").hardlink_to(tmp_path / "edges.csv")
    (tmp_path / "soft.csv").symlink_to(tmp_path / "edges.csv")
    for name in ("edges.csv", "hard.csv", "soft.csv", "run/../edges.csv"):
        said = refusal({"out": tmp_path / name}, folder)
        assert said.startswith("`out` must not be the file of the edges, got ")


def test_two_outputs_are_two_files(folder, tmp_path):
    outputs = {"out": tmp_path / "p.csv", "scores": tmp_path / "run/../p.csv"}
    assert refusal(outputs, folder).startswith(
        "`scores` must not be the file of `out`, got "
    )


def test_files_of_the_run_folders_and_missing_folders_are_refused(folder, tmp_path):
    assert "must not be a file of the run" in refusal({"out": folder.nodes}, folder)
    assert "must be a file, got the folder" in refusal({"out": tmp_path}, folder)
    said = refusal({"out": tmp_path / "no" / "p.csv"}, folder)
    assert "must be in a folder that exists" in said


def test_what_is_there_stays_unless_it_may_be_replaced(folder, tmp_path):
    there = tmp_path / "p.csv"
    there.write_text("mine\n")
    said = refusal({"scores": there}, folder, overwrite=False)
    assert said == (
        f"{there} exists already; choose another `scores`, or replace it with"
        " `overwrite`."
    )
    check_outputs({"scores": there}, {}, is_of_run=folder.holds)
    new = {"scores": tmp_path / "new.csv"}
    check_outputs(new, {}, is_of_run=folder.holds, overwrite=False)
