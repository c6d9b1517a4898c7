import os
import subprocess
import sys

import pytest

from sgat.cli import main, plain
from sgat.cli.outputs import check_suffix, inputs_of
from sgat.config import DataConfig


def test_inputs_are_named_by_what_they_are():
    config = DataConfig(edges="e.csv", nodes="n.csv")
    assert inputs_of(config) == {
        "the edges of the run": "e.csv",
        "the nodes of the run": "n.csv",
    }


def test_suffixes_in_any_case_and_none(tmp_path):
    check_suffix("out", None, (".csv",))
    check_suffix("out", tmp_path / "P.CSV", (".csv",))
    with pytest.raises(ValueError, match=r"`--out` must end in \.csv, \.md, got "):
        check_suffix("out", tmp_path / "p.txt", (".md", ".csv"))


def test_no_name_or_id_commands_the_terminal(tmp_path, capsys):
    evil = "\x1b]0;title\x07\x1b[31m\u202e"
    (tmp_path / f"{evil}.csv").write_text("src,dst\na,b\n")
    (tmp_path / "e.csv").write_text(f'src,dst,weight\na,"{evil}",1\nb,a,{evil}\n')
    commands = [
        ["data", "info", "--edges", f"{tmp_path / evil}.csv"],
        ["data", "info", "--edges", f"{tmp_path / evil}.none"],
        ["data", "info", "--edges", f"{tmp_path / 'e.csv'}"],
    ]
    for command in commands:
        main(command)
        shown = "".join(capsys.readouterr())
        assert "\\x1b" in shown and not set("\x1b\x07\u202e") & set(shown)
    assert plain(f"a\tb\n{evil}é") == "a\tb\n\\x1b]0;title\\x07\\x1b[31m\\u202eé"


def test_an_error_does_not_repeat_megabytes(tmp_path, capsys):
    (tmp_path / "e.csv").write_text("src,dst,weight\na,b," + "w" * 10**5 + "\n")
    assert main(["data", "info", "--edges", str(tmp_path / "e.csv")]) == 1
    assert len(capsys.readouterr().err) < 1100


def test_a_name_that_is_not_utf_8_is_refused_before_any_work(
    tmp_path, monkeypatch, capsys
):
    """Libraries cannot name it: `fit` trained, and then failed to write."""
    monkeypatch.chdir(tmp_path)
    odd, told = os.fsdecode(b"a\xff"), set()
    (tmp_path / "e.csv").write_text("src,dst\na,b\n")
    (tmp_path / f"{odd}.csv").write_text("src,dst\na,b\n")
    before = sorted(tmp_path.iterdir())
    for command in (
        ["fit", "karate", "--out", odd],
        ["judge", "--edges", f"{odd}.csv", "--out", "o.csv"],
        ["prune", "--edges", "e.csv", "--out", f"{odd}.parquet"],
    ):
        assert main(command) == 1
        told.add(capsys.readouterr().err.replace(".csv", "").replace(".parquet", ""))
    said = "error: A name must be UTF-8, got 'a\\udcff'; rename the file or folder."
    assert told == {f"{said}\n"} and sorted(tmp_path.iterdir()) == before


def test_nobody_has_to_listen(tmp_path):
    """A command that is started without standard streams, as by a daemon, works."""
    (tmp_path / "e.csv").write_text("src,dst\na,b\nb,c\n")
    command = f"{sys.executable} -m sgat judge --edges e.csv --out o.csv <&- >&- 2>&-"
    path = os.pathsep.join(filter(None, sys.path))
    env = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run(command, shell=True, cwd=tmp_path, env=env)
    assert done.returncode == 0
    assert (tmp_path / "o.csv").read_text().startswith('"src","dst","probability"')
