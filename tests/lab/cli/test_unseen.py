import json

import pytest
from support.attacked import write_graphs

from sgat_lab.cli import main


@pytest.fixture
def place(tmp_path, monkeypatch):
    write_graphs(tmp_path)
    monkeypatch.setenv("SGAT_DATA", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


CALL = ["unseen", "plain", "--device", "cpu", "--epochs", "1", "--quiet"]
FEW = ["--methods", "mlp-plain,gcn-plain,gcn-plain-judged", "--runs", "2"]


def test_shards_fill_one_file_that_is_shown_again(place, capsys):
    for part in ("1/2", "2/2"):
        judged = ["--judged", "judged", "--noise", "cross-class"]
        assert main([*CALL, *FEW, *judged, "--shard", part]) == 0
    assert capsys.readouterr().err == ""
    lines = (place / "records/unseen.csv").read_text().splitlines()
    assert len(lines) == 1 + 3 * 2
    assert len(list((place / "judged").glob("*.npy"))) == 3
    assert main(["unseen", "--stored", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert {(row["method"], row["seed"]) for row in rows} == {
        (method, seed)
        for method in ("mlp-plain", "gcn-plain", "gcn-plain-judged")
        for seed in (0, 1)
    }
    assert main(["unseen", "--stored", "--markdown"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("## Twice the edges") and "**" in shown


def test_what_is_there_is_not_done_again(place, capsys):
    call = [*CALL, "--methods", "mlp-plain", "--noise", "clean"]
    assert main([*call, "--runs", "1"]) == 0
    assert main([*call, "--runs", "2", "--missing", "--json"]) == 0
    out = capsys.readouterr().out
    assert [row["seed"] for row in json.loads(out[out.index("[") :])] == [0, 1]
    assert len((place / "records/unseen.csv").read_text().splitlines()) == 3


def test_shards_that_leave_out_what_is_there_do_all_together(place):
    call = [*CALL, "--methods", "mlp-plain,mlp-strong", "--noise", "clean"]
    for shard in ("1/2", "2/2"):
        assert main([*call, "--runs", "1", "--missing", "--shard", shard]) == 0
    # A header and two rows: the second shard knows what the first has written.
    assert len((place / "records/unseen.csv").read_text().splitlines()) == 3


def test_verdicts_can_be_made_beforehand(place, capsys):
    call = [*CALL, "--methods", "gcn", "--runs", "1", "--only-judge"]
    assert main([*call, "--noise", "clean", "--judged", "judged"]) == 0
    found = sorted(path.name for path in (place / "judged").glob("*.npy"))
    assert found == ["plain-clean-0.npy", "plain-clean-100.npy"]
    assert not (place / "records").exists() and capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["moon"], "There is no graph 'moon'"),
        (["--noise", "hub"], "`--noise` must be of clean, cross-class, got 'hub'"),
        (["--methods", "gin"], "`--methods` must be of mlp, gcn"),
        (["--shard", "3"], "`--shard` must be as 3/12, the third of twelve"),
        (["--only-judge"], "`--only-judge` needs a folder, `--judged`"),
        (["--stored"], "`--csv` must be a file with rows"),
    ],
)
def test_bad_arguments_are_one_sentence(place, capsys, arguments, message):
    assert main(["unseen", *arguments, "--quiet"]) == 1
    assert message in capsys.readouterr().err.replace("\n", " ")
