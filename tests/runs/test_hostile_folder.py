"""Run folders and tables of strangers, with things in them that are not right."""

import shutil
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from support.made_runs import OUT, VERBS, run, train

import sgat
from sgat.cli import main
from sgat.training.files import load_tensors, save_tensors


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Finished runs, and runs that were cut off at the end of the training."""
    folder = tmp_path_factory.mktemp("trained")
    train(folder)
    return folder


MANY = [0, *(pytest.param(part, marks=pytest.mark.slow) for part in range(1, 9))]


@pytest.mark.parametrize("part", MANY)
def test_a_damaged_run_folder_is_used_or_refused_in_one_sentence(
    part, trained, seed, tmp_path
):
    for number in range(500 if part else 12):
        run("folder", 10_000 * seed + 1000 * part + number, tmp_path, trained)


@pytest.mark.parametrize("part", MANY)
def test_a_damaged_judged_table_is_pruned_or_refused(part, seed, tmp_path):
    first = 10_000 * seed + 1000 * part
    numbers = range(first, first + (1000 if part else 40))
    found = {run("table", number, tmp_path) for number in numbers}
    assert found == {"table: ok", "table: refused"}


def test_weights_that_are_no_numbers_are_refused(
    trained, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    for name in ("edges.csv", "nodes.csv"):
        shutil.copyfile(trained / name, name)
    shutil.copytree(trained / "linear", "w")
    path = tmp_path / "w" / "model.safetensors"
    tensors, state = load_tensors(path)
    for value in (float("nan"), float("inf")):
        tensors["convs.0.weight"][0, 0] = value
        save_tensors(path, tensors, state)
        for verb in VERBS:
            if verb[0] in ("predict", "report", "verify", "explain"):
                assert main(verb) == 1
                error = capsys.readouterr().err
                assert "the numbers of `convs.0.weight` must be finite" in error
        with pytest.raises(ValueError, match="must be finite"):
            sgat.load("w")


def test_weights_that_are_too_large_are_refused(trained, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name in ("edges.csv", "nodes.csv"):
        shutil.copyfile(trained / name, name)
    message = "The class scores of the model are not finite"
    for kind, verb in (("linear", VERBS[1]), ("linear way", VERBS[-1])):
        shutil.rmtree("w", ignore_errors=True)
        shutil.copytree(trained / kind, "w")
        [path] = Path("w").rglob("*.safetensors")
        tensors, state = load_tensors(path)
        for name, tensor in tensors.items():
            if "weight" in name and not name.startswith("adam"):
                tensor.fill_(3e38)
        save_tensors(path, tensors, state)
        assert main(verb) == 1
        assert message in capsys.readouterr().err


def test_a_model_with_labels_of_another_kind_is_used_or_refused(
    trained, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(trained / "linear", "w")
    path = tmp_path / "w" / "model.safetensors"
    tensors, state = load_tensors(path)
    save_tensors(path, tensors, {**state, "multilabel": True})
    # The name of the score was looked up in the model, the score in the summary.
    assert main(VERBS[0]) in (0, 1)


@pytest.mark.parametrize("fault", ["a name twice", "no numbers"])
def test_verify_refuses_a_column_that_is_not_as_it_was(
    fault, trained, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    for name in ("edges.csv", "nodes.csv"):
        shutil.copyfile(trained / name, name)
    shutil.copytree(trained / "linear", "w")
    table = pq.read_table("w/edges.parquet")
    if fault == "a name twice":
        table = table.append_column("since", table.column("since"))
    else:
        place = table.column_names.index("gate")
        table = table.set_column(place, "gate", pa.array([b"x"] * len(table)))
    pq.write_table(table, "w/edges.parquet")
    assert main(["verify", "w", "--quiet"]) == 1
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("error: w/edges.parquet")


def test_complex_numbers_in_a_checkpoint_are_refused(
    trained, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    for name in ("edges.csv", "nodes.csv"):
        shutil.copyfile(trained / name, name)
    shutil.copytree(trained / "linear way", "w")
    [path] = Path("w").rglob("*.safetensors")
    tensors, state = load_tensors(path)
    tensors = {n: t.to(torch.complex64) for n, t in tensors.items()}
    save_tensors(path, tensors, state)
    assert main(VERBS[-1]) == 1
    assert "must be finite, and real" in capsys.readouterr().err


def test_scores_that_are_no_numbers_are_refused(trained, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(trained / "linear", "w")
    edges = pd.read_parquet("w/edges.parquet")
    edges.loc[3, "log_alpha"] = float("inf")
    edges.to_parquet("w/edges.parquet")
    for verb in (["prune", "w", *OUT], ["predict", "w", *OUT], ["report", "w"]):
        assert main(verb) == 1
        assert "edges.parquet: `log_alpha` must be finite" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("hidden = 100000000", "`hidden` must be from 1 to 1048576"),
        ("layers = 100000", "`layers` must be from 0 to 1000"),
        ("hidden = 1000000", "must have the shape"),
        ({"num_features": 30_000_000}, "must have the shape"),
        ({"num_features": 2**39}, "must have the shape"),
        ({"num_features": 2**70}, "damaged or was not written"),
    ],
    ids=str,
)
def test_a_large_network_is_refused_before_it_is_built(
    what, message, trained, tmp_path
):
    shutil.copytree(trained / "linear", tmp_path / "w")
    config = tmp_path / "w" / "config.toml"
    if isinstance(what, str):
        name = what.partition(" ")[0]
        lines = config.read_text().splitlines()
        lines = [what if line.startswith(f"{name} =") else line for line in lines]
        assert what in lines
        config.write_text("\n".join(lines))
    else:
        path = tmp_path / "w" / "model.safetensors"
        tensors, state = load_tensors(path)
        save_tensors(path, tensors, {**state, **what})
    with pytest.raises(ValueError, match=message):
        sgat.load(tmp_path / "w")
