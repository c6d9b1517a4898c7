"""Run folders of strangers: each file with one thing in it that is not right."""

import random
import shutil
from pathlib import Path

import pandas as pd
import pytest
from support.mutants import mutants
from support.small_files import write_small_files

import sgat
from sgat.cli import main
from sgat.training.files import load_tensors, save_tensors

QUICK = ["--epochs", "4", "--quiet", "--device", "cpu", "--hidden", "4"]
MORE = {
    "linear": ["--scorer", "additive", "--readout", "linear", "--snapshots", "2"],
    "search": ["--scorer", "evidence"],
}
OUT = ["--out", "o.csv", "--overwrite", "--quiet"]
NEW = ["--edges", "edges.csv", "--nodes", "nodes.csv"]
VERBS = (
    *(["predict", "w", *OUT], ["predict", "w", *NEW, *OUT], ["prune", "w", *OUT]),
    *(["prune", "w", "--edges", "edges.csv", *OUT], ["report", "w", "--quiet"]),
    *(["explain", "w", "n03", "--quiet"], ["verify", "w", "--quiet"], ["load"]),
    ["fit", "--resume", "--out", "w", "--quiet"],
)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Finished runs, and runs that were cut off at the end of the training."""
    folder = tmp_path_factory.mktemp("trained")
    files = write_small_files(folder)

    def full(run, *arguments):
        raise OSError(28, "No space left on device", str(run.path))

    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for name, more in MORE.items():
            assert main(["fit", *files, *QUICK, *more, "--out", name]) == 0
        patch.setattr("sgat.runs.run.write_results", full)
        for name, more in MORE.items():
            assert main(["fit", *files, *QUICK, *more, "--out", f"{name} way"]) == 1
    return folder


def survived(trained, seed, number, capsys):
    """Try so many changes, each with a verb."""
    rng = random.Random(seed)
    for _ in range(number):
        kind = rng.choice([*MORE, *(f"{name} way" for name in MORE)])
        shutil.rmtree("w", ignore_errors=True)
        shutil.copytree(trained / kind, "w")
        for name in ("edges.csv", "nodes.csv"):
            shutil.copyfile(trained / name, name)
        name, make = next(mutants(Path("w"), rng))
        make()
        verb = VERBS[-1] if kind.endswith("way") else rng.choice(VERBS)
        capsys.readouterr()
        if verb == ["load"]:
            try:
                sgat.load("w")
            except (ValueError, OSError) as error:
                assert "\n" not in str(error), name
            continue
        code, where = main(verb), f"{kind}: {name}: {verb}"
        lines = capsys.readouterr().err.splitlines()
        lines = [line for line in lines if not line.startswith("note: ")]
        assert code in (0, 1), where
        if verb[0] != "verify":
            assert [line[:7] for line in lines] == ["error: "] * code, where


def test_a_damaged_run_folder_is_refused_in_one_sentence(
    trained, seed, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    survived(trained, seed, 12, capsys)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(8))
def test_many_damaged_run_folders_are_refused(
    number, trained, seed, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    survived(trained, 1000 + 8 * seed + number, 500, capsys)


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
