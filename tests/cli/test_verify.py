import json

from sgat.cli import main


def test_a_run_is_verified_and_a_change_ends_with_an_error(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    quick = ["--epochs", "2", "--fast", "--quiet", "--device", "cpu"]
    assert main(["fit", "karate", *quick, "--out", "r"]) == 0
    capsys.readouterr()
    assert main(["verify", "r"]) == 0
    assert "the run is what its model and data give" in capsys.readouterr().out
    path = tmp_path / "r" / "metrics.jsonl"
    path.write_text(path.read_text() + "\n")
    assert main(["verify", "r", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert not found["same"]
    assert [check["name"] for check in found["checks"] if not check["same"]] == [
        "files"
    ]
