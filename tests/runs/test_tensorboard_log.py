import importlib.util
import json
import warnings

import pytest
from support.settings import paper_model

from sgat.cli import main
from sgat.config import Config, DataConfig, TrainConfig
from sgat.runs.folder import RunFolder
from sgat.runs.run import run

pytest.importorskip("tensorboard", reason="tensorboard is not installed")

SETTINGS = Config(
    DataConfig(name="karate"),
    paper_model(hidden=3),
    TrainConfig(epochs=7, keep=0.5, device="cpu", checkpoint_every=2),
)


def logged(folder: RunFolder) -> dict[str, list[tuple[int, float]]]:
    """Steps and values of every curve, as TensorBoard itself reads them."""
    with warnings.catch_warnings():
        # Not ours: what TensorBoard imports is behind its time.
        warnings.simplefilter("ignore")
        from tensorboard.backend.event_processing.event_accumulator import (
            EventAccumulator,
        )

        assert len(folder.events) == 1
        found = EventAccumulator(str(folder.tensorboard)).Reload()
        return {
            name: [(event.step, event.value) for event in found.Scalars(name)]
            for name in found.Tags()["scalars"]
        }


def records(folder: RunFolder) -> list[dict]:
    lines = folder.metrics.read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def test_the_log_holds_what_the_records_hold(tmp_path):
    folder = RunFolder(tmp_path / "r")
    outcome = run(folder, SETTINGS, tensorboard=True)
    assert "tensorboard" in outcome.files
    curves, epochs = logged(folder), records(folder)
    for name, key in {
        "loss/total": "loss",
        "loss/data": "data_loss",
        "score/train": "train",
        "edges/open": "open_share",
        "edges/expected_open": "expected_open",
        "edges/kept": "kept_share",
        "training/price": "price",
    }.items():
        wanted = [(e["epoch"], pytest.approx(e[key], rel=1e-6)) for e in epochs]
        assert curves[name] == wanted
    penalty = [pytest.approx(e["loss"] - e["data_loss"], abs=1e-6) for e in epochs]
    assert [value for _, value in curves["loss/penalty"]] == penalty
    assert [value for _, value in curves["training/lr"]] == pytest.approx([0.01] * 7)
    # The karate club has no validation nodes.
    assert "score/validation" not in curves
    assert not folder.draft.path.exists()


def test_no_step_is_there_twice_after_a_run_went_on(tmp_path):
    folder = RunFolder(tmp_path / "r")

    def stop(record):
        if record.epoch == 5:
            raise OSError("the power is gone")

    with pytest.raises(OSError, match="power"):
        run(folder, SETTINGS, tensorboard=True, on_epoch=stop)
    assert logged(folder.draft)["loss/total"][-1][0] == 5
    run(folder, SETTINGS, resume=True)
    assert [step for step, _ in logged(folder)["loss/total"]] == list(range(1, 8))
    plain = RunFolder(tmp_path / "s")
    run(plain, SETTINGS)
    assert not plain.tensorboard.exists()
    without_time = [
        [{**record, "seconds": None} for record in records(each)]
        for each in (folder, plain)
    ]
    assert without_time[0] == without_time[1]


def test_a_new_run_replaces_the_log_and_nothing_else(tmp_path):
    folder = RunFolder(tmp_path / "r")
    run(folder, SETTINGS, tensorboard=True)
    first = folder.events
    run(folder, SETTINGS, tensorboard=True)
    assert len(folder.events) == 1 and folder.events != first
    note = folder.tensorboard / "note.txt"
    note.write_text("mine", encoding="utf-8")
    run(folder, SETTINGS)
    assert list(folder.tensorboard.iterdir()) == [note]
    note.unlink()
    run(folder, SETTINGS)
    assert not folder.tensorboard.exists()


def test_an_error_before_training_leaves_nothing(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    arguments = ["fit", "karate", "--tensorboard", "--out", str(tmp_path / "r")]
    assert main(arguments) == 1
    error = capsys.readouterr().err
    assert error.startswith("error: `--tensorboard` needs the package tensorboard;")
    assert error.count("\n") == 1
    assert not (tmp_path / "r").exists()


def test_the_log_of_another_program_is_not_replaced(tmp_path, capsys):
    folder = tmp_path / "r" / "tensorboard"
    folder.mkdir(parents=True)
    events = folder / "events.out.tfevents.1"
    events.write_text("not ours", encoding="utf-8")
    assert main(["fit", "karate", "--out", str(tmp_path / "r")]) == 1
    assert "events.out.tfevents.1 is no part of a run" in capsys.readouterr().err
    assert events.read_text(encoding="utf-8") == "not ours"
    assert RunFolder(tmp_path / "r").holds(folder / "anything")


def test_a_file_in_its_place_is_refused(tmp_path):
    folder = RunFolder(tmp_path / "r")
    folder.path.mkdir()
    folder.tensorboard.touch()
    with pytest.raises(ValueError, match="which is a file; move it"):
        run(folder, SETTINGS, tensorboard=True)
    assert not folder.draft.path.exists()
