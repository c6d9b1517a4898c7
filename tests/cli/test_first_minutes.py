"""The first ten minutes of the README, on tables as people have them."""

import json
import re

import pandas as pd
import pytest
from support.newcomers import TABLES

from sgat.cli import main


def first_minutes(files):
    """The commands of the README on these files, and the options of each."""
    edges, nodes, *options = files
    of_training = ("--metric", "average_precision")
    columns = [word for word in options if word not in of_training]
    data = ["--edges", edges, "--nodes", nodes]
    page = ["--out", "judged.csv.gz", "--report", "judged.html"]
    yield ["data", "info", *data, *columns]
    yield ["judge", *data, *columns, *page]
    yield ["judge", "--edges", edges, *names_of(columns), "--out", "alone.csv"]
    yield ["fit", *data, *options, "--fast", "--epochs", "8", "--out", "run"]
    yield ["prune", "run", "--out", "small.csv"]
    yield ["prune", "run", "--out", "half.csv", "--keep", "0.5"]
    judged = ["--edges", "judged.csv.gz", *names_of(columns)]
    yield ["prune", *judged, "--out", "likely.csv"]
    yield ["data", "inject", *data, *columns, "--rate", "0.1", "--out", "noisy"]
    yield ["report", "run"]
    yield ["predict", "run", *data, "--out", "predicted.csv"]
    yield ["explain", "run", "--out", "removed.csv"]


def names_of(options):
    """Those of the options that concern the edges."""
    kept = []
    for place, word in enumerate(options):
        if word in ("--src", "--dst", "--encoding"):
            kept += options[place : place + 2]
    return kept


# Eleven commands on each of seven graphs: about ten seconds each.
@pytest.mark.promise
@pytest.mark.slow
@pytest.mark.parametrize("write", TABLES, ids=lambda write: write.__name__)
def test_the_first_ten_minutes_end_well(write, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    files = write(tmp_path)
    for command in first_minutes(files):
        code = main(command)
        told = capsys.readouterr()
        assert code == 0, (command, told.err)
    judged, small = pd.read_csv("judged.csv.gz"), pd.read_csv("small.csv")
    assert judged["probability"].between(0, 1).all()
    assert 0 < len(small) <= len(judged)
    summary = json.loads((tmp_path / "run/summary.json").read_text())
    assert summary["rows"] - summary["rows_removed"] == len(small)
    predicted = pd.read_csv("predicted.csv")
    right = predicted["prediction"] == predicted["label"]
    assert right[predicted["label"].notna()].mean() > 0.6


@pytest.mark.parametrize("write", TABLES, ids=lambda write: write.__name__)
def test_every_column_is_listed(write, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    ((_, *rest),) = [next(iter(first_minutes(write(tmp_path))))]
    assert main(["data", *rest, "--json"]) == 0
    roles = {
        role["column"]: role["becomes"]
        for role in json.loads(capsys.readouterr().out)["columns"]
    }
    kinds = " | ".join(roles.values())
    wanted = {
        "people": r"date: days.*label of 2",
        "shop": r"weight.*number.*date: days, place in year and week",
        "joined": r"number.*label of 2",
        "rare": r"date: days, place in day.*number",
        "typed": r"2 categories.*date: days, place in year and week and day.*split",
        "codes": r"not used.*categories: 10000",
        "windows": r"not used.*number.*2 categories: Köln, Zürich.*label of 2",
    }
    assert re.search(wanted[write.__name__], kinds), roles
