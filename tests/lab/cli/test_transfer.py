import dataclasses
import json

import pytest
from support.small_data import block_graph

from sgat_lab.cli import main
from sgat_lab.transfer import countries


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    graphs = [
        dataclasses.replace(
            block_graph(num_classes=2, seed=seed), name=f"twitch-{seed}"
        )
        for seed in range(7)
    ]
    monkeypatch.setattr(countries, "load", lambda name, root: graphs)
    monkeypatch.chdir(tmp_path)
    return tmp_path


CALL = ["transfer", "DE", "ES", "--device", "cpu", "--epochs", "1", "--quiet"]
FEW = ["--methods", "mlp-plain,gcn-plain", "--runs", "1"]


def test_shards_fill_one_file_that_is_shown_again(place, capsys):
    for part in ("1/2", "2/2"):
        assert main([*CALL, *FEW, "--shard", part]) == 0
    lines = (place / "records/transfer.csv").read_text().splitlines()
    assert len(lines) == 1 + 2 * 2
    capsys.readouterr()
    assert main([*CALL, *FEW, "--missing", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert sorted((row["source"], row["target"], row["method"]) for row in rows) == [
        ("DE", "ES", "gcn-plain"),
        ("DE", "ES", "mlp-plain"),
        ("ES", "DE", "gcn-plain"),
        ("ES", "DE", "mlp-plain"),
    ]
    assert (place / "records/transfer.csv").read_text().splitlines() == lines
    assert main(["transfer", "--stored", "--markdown"]) == 0
    assert "| MLP, plain" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["XX"], "must be of DE, ENGB, ES, FR, PTBR, RU, ZHTW, got 'XX'"),
        (["--methods", "sage-plain"], "`--methods` must be of mlp-plain, gcn-plain"),
        (["--shard", "0/3"], "`--shard` must be as 3/12"),
        (["--stored"], "`--csv` must be a file with rows"),
    ],
)
def test_bad_arguments_are_one_sentence(capsys, arguments, message):
    assert main(["transfer", *arguments, "--quiet"]) == 1
    assert message in capsys.readouterr().err.replace("\n", " ")
