import contextlib
import copy
import dataclasses
import os
import shutil
import subprocess
import sys
from datetime import date

import numpy as np
import pytest
from sklearn.base import clone
from support.faults import faults, tree
from support.small_data import block_graph
from support.small_run import content, finished

import sgat
from sgat.config import Config
from sgat.runs.folder import RunFolder
from sgat.training import files
from sgat.training.saved_model import (
    NAMES,
    SAVED,
    check_fits,
    finish_save,
    model_header,
)


def small_graph():
    return block_graph(num_nodes=61)


def quick(**options):
    return sgat.SGATClassifier(
        **({"hidden": 5, "epochs": 8, "keep": 0.5, "fast": True} | options)
    )


@pytest.fixture(scope="module")
def trained():
    return sgat.SGATClassifier(hidden=3, epochs=2, device="cpu", fast=True).fit(
        [small_graph()]
    )


@pytest.fixture
def classifier(trained):
    """Attributes may be set: those of `trained` stay."""
    return copy.copy(trained)


def test_save_and_load_give_the_same_classifier(tmp_path):
    data = small_graph()
    classifier = quick(model={"readout": "attention", "activation": "relu"}).fit(data)
    classifier.save(tmp_path / "run")
    loaded = sgat.load(tmp_path / "run")
    assert np.array_equal(loaded.predict_proba(data), classifier.predict_proba())
    assert loaded.edges_.equals(classifier.edges_)
    assert loaded.history_.equals(classifier.history_)
    assert loaded.get_params()["keep"] == 0.5
    assert loaded.best_epoch_ == classifier.best_epoch_
    with pytest.raises(ValueError, match="does not hold its training data"):
        loaded.predict()
    with pytest.raises(ValueError, match="does not hold its training data"):
        loaded.sparsify()


def test_a_loaded_classifier_trains_again_as_it_was_trained(tmp_path):
    data = small_graph()
    settings = {"model": {"readout": "attention"}, "train": {"ties": "first"}}
    classifier = quick(**settings).fit(data)
    classifier.save(tmp_path / "run")
    again = clone(sgat.load(tmp_path / "run")).fit(data)
    assert np.array_equal(again.predict_proba(), classifier.predict_proba())


def test_a_run_from_another_device_loads_here(tmp_path):
    data = small_graph()
    quick(scorer="additive").fit(data).save(tmp_path / "run")
    config = tmp_path / "run" / "config.toml"
    text = config.read_text().replace('device = "auto"', 'device = "cuda:7"')
    config.write_text(text)
    assert sgat.load(tmp_path / "run").predict(data).shape == (61,)


def test_a_damaged_model_is_refused_with_a_sentence(tmp_path):
    folder, *_ = finished(tmp_path / "r", [small_graph()])
    folder.model.write_bytes(folder.model.read_bytes()[:100])
    with pytest.raises(ValueError, match="is damaged or was not written by sgat"):
        sgat.load(folder.path)


def test_an_unfinished_run_is_not_loaded(tmp_path):
    folder = RunFolder(tmp_path / "r")
    folder.start(Config())
    with pytest.raises(ValueError, match="is not a finished run"):
        sgat.load(folder.path)


@pytest.mark.parametrize("name", ["edges.parquet", "metrics.jsonl"])
def test_a_table_that_was_cut_off_is_named(tmp_path, name):
    folder, *_ = finished(tmp_path / "r", [small_graph()])
    file = folder.path / name
    file.write_bytes(file.read_bytes()[:-20])
    with pytest.raises(ValueError) as error:
        sgat.load(folder.path)
    assert str(error.value).startswith(f"{file} is damaged or was not written by sgat:")
    assert len(str(error.value).splitlines()) == 1


def test_saving_twice_replaces_what_was_saved(classifier, tmp_path):
    classifier.save(tmp_path / "s")
    first = content(tmp_path / "s")
    assert sorted(first) == [
        *("config.toml", "edges.parquet", "metrics.jsonl", "model.safetensors")
    ]
    classifier.save(tmp_path / "s")
    assert content(tmp_path / "s") == first


def test_a_save_that_is_killed_leaves_one_classifier(classifier, tmp_path, monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda number: None)
    other = copy.copy(classifier)
    other.edges_ = classifier.edges_.assign(log_alpha=7.0)
    other.history_ = classifier.history_.assign(loss=7.0)
    other.config_ = classifier.config_.replace(train={"lr": 0.007})

    def found(place):
        read = sgat.load(place)
        return {
            read.config_.train.lr,
            *read.history_["loss"],
            *read.edges_["log_alpha"],
        }

    start, place = tmp_path / "start", tmp_path / "place"
    classifier.save(start / "s")
    (start / "s" / "notes.txt").write_text("mine")
    shutil.copytree(start, place)
    with faults(place) as begun:
        other.save(place / "s")
    before, after, outcomes = found(start / "s"), tree(place), []
    for number in range(1, len(begun) + 1, 2):
        shutil.rmtree(place)
        shutil.copytree(start, place)
        with faults(place, number), contextlib.suppress(OSError):
            other.save(place / "s")
        outcomes.append(found(place / "s") == {0.007, 7.0})
        if not outcomes[-1]:
            assert found(place / "s") == before, begun[number - 1]
        other.save(place / "s")
        assert tree(place) == after, begun[number - 1]
    assert sorted(outcomes) == outcomes and {*outcomes} == {True, False}


@pytest.mark.parametrize("killed", range(1, 60, 3))
def test_a_first_save_that_is_killed_can_be_made_again(classifier, tmp_path, killed):
    with faults(tmp_path, killed), contextlib.suppress(OSError):
        classifier.save(tmp_path / "s")
    classifier.save(tmp_path / "s")
    assert sorted(content(tmp_path / "s")) == sorted(NAMES)


def test_a_run_is_not_mixed_with_what_is_saved(classifier, tmp_path):
    folder, *_ = finished(tmp_path / "r", [small_graph()])
    before = content(folder.path)
    with pytest.raises(ValueError, match="r holds a run of `sgat fit`; choose another"):
        classifier.save(folder.path)
    assert content(folder.path) == before
    folder = RunFolder(tmp_path / "u")
    folder.start(Config())
    with pytest.raises(ValueError, match="u holds an unfinished run; choose another"):
        classifier.save(folder.path)


def test_files_of_others_are_not_saved_over(classifier, tmp_path):
    file = tmp_path / "edges.csv"
    file.write_text("mine")
    with pytest.raises(ValueError, match="`path` must be a folder, got the file"):
        classifier.save(file)
    (tmp_path / "edges.parquet").write_text("mine")
    with pytest.raises(ValueError, match=r"edges\.parquet was not written by `save`"):
        classifier.save(tmp_path)
    assert len(content(tmp_path)) == 2 and file.read_text() == "mine"


def test_classes_that_no_file_holds_are_refused_and_nothing_is_written(
    classifier, tmp_path
):
    classifier.header_ = {
        **classifier.header_,
        "classes": [date(2020, 1, 1), date(2021, 1, 1)],
    }
    with pytest.raises(ValueError) as error:
        classifier.save(tmp_path / "a" / "s")
    assert str(error.value) == (
        "Classes must be strings, numbers or booleans to be saved, got"
        " datetime.date(2020, 1, 1); name them otherwise before `fit`."
    )
    assert list(tmp_path.iterdir()) == []


def test_ids_of_mixed_types_are_saved_as_strings(classifier, tmp_path):
    edges = classifier.edges_.astype({"src": object, "dst": object})
    edges.loc[0, "src"] = "a"
    classifier.edges_ = edges
    classifier.save(tmp_path / "s")
    read = sgat.load(tmp_path / "s").edges_
    assert read["src"].tolist() == [str(value) for value in edges["src"]]
    assert read["dst"].tolist() == edges["dst"].tolist()


def test_a_save_that_fails_leaves_nothing(classifier, tmp_path, monkeypatch):
    def fail(path, *tables):
        raise OSError(28, "No space left on device", str(path))

    monkeypatch.setattr("sgat.training.saved_model.write_parquet", fail)
    with pytest.raises(OSError, match="No space left"):
        classifier.save(tmp_path / "a" / "s")
    assert list(tmp_path.iterdir()) == []


def test_a_run_of_another_format_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "MODEL_FORMAT", 1)
    classifier = quick(scorer="additive", epochs=1)
    classifier.fit(small_graph()).save(tmp_path / "run")
    monkeypatch.undo()
    with pytest.raises(ValueError, match=r"\(format 1, not \d+\); train it again\."):
        sgat.load(tmp_path / "run")


def test_a_run_of_the_command_line_loads(tmp_path):
    from sgat.cli import main
    from sgat.data.named import load_karate

    out = str(tmp_path / "run")
    assert main(["fit", "karate", "--epochs", "5", "--quiet", "--out", out]) == 0
    loaded = sgat.load(out)
    assert loaded.predict(load_karate()).shape == (34,)
    assert set(loaded.predict(load_karate())) <= {"Mr. Hi", "Officer"}


def test_a_folder_without_a_run_is_refused(tmp_path):
    with pytest.raises(
        ValueError, match=r"is not a finished run: config\.toml is missing"
    ):
        sgat.load(tmp_path)


def test_a_model_reads_only_what_fits_it():
    data, other = small_graph(), block_graph(seed=5)
    free = Config().replace(model={"gate_mode": "transductive"})
    header = model_header(data, 1)
    check_fits(data, free, header)
    check_fits(other, Config(), header)
    with pytest.raises(ValueError, match="Transductive gates know the edges"):
        check_fits(other, free, header)
    narrow = dataclasses.replace(data, x=data.x[:, 1:])
    with pytest.raises(ValueError, match=r"must have the 13 features .* got 12"):
        check_fits(narrow, free, header)
    broken = dataclasses.replace(data, x=data.x / 0)
    with pytest.raises(ValueError, match="must be finite and at most"):
        check_fits(broken, free, header)


def test_no_link_or_pipe_of_a_save_that_was_cut_off_gets_into_the_folder(tmp_path):
    (tmp_path / "mine").write_text("mine")
    saved = tmp_path / "r" / SAVED
    saved.mkdir(parents=True)
    (saved / "config.toml").symlink_to(tmp_path / "mine")
    os.mkfifo(saved / "edges.parquet")
    before = tree(tmp_path / "r").keys()
    for name, what in (("config.toml", "a link"), ("edges.parquet", "no file")):
        with pytest.raises(ValueError, match=f"{name} is {what}, which has no place"):
            finish_save(tmp_path / "r")
        assert tree(tmp_path / "r").keys() == before
        (saved / name).unlink()
        before -= {f"{SAVED}/{name}"}


def test_a_model_is_read_without_the_compiler_of_torch(trained, tmp_path):
    trained.save(tmp_path / "run")
    code = (
        "import sys; from pathlib import Path;"
        " from sgat.training.saved_model import read_model;"
        " read_model(Path(sys.argv[1])); assert 'torch._dynamo' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "run")], check=True)
