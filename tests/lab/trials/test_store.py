import dataclasses
import fcntl
import json
import multiprocessing
from pathlib import Path

import pytest
from support.records import TASK, hold, record

from sgat_lab.trials.store import Store

DOCS = Path(__file__).parents[3] / "docs"


def test_a_record_saved_is_found_by_another_store(tmp_path):
    saved = record(noise=("random", 0.5), extra={"auc": 0.5})
    Store(tmp_path / "new").save(saved)
    assert Store(tmp_path / "new").find(TASK) == saved


def test_nothing_is_found_before(tmp_path):
    assert Store(tmp_path).find(TASK) is None


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"key": 1}', "no json"])
def test_a_damaged_record_is_named(tmp_path, text):
    store = Store(tmp_path)
    store.path(TASK.key).write_text(text)
    with pytest.raises(ValueError, match=f"{TASK.key}.json is no record"):
        store.find(TASK)


def test_bytes_that_are_no_text_are_named(tmp_path):
    store = Store(tmp_path)
    store.path(TASK.key).write_bytes(b"\xff\xfe")
    with pytest.raises(ValueError, match=f"{TASK.key}.json is no record"):
        store.find(TASK)


def test_the_record_of_another_training_is_not_taken(tmp_path):
    store = Store(tmp_path)
    other = dataclasses.replace(TASK, row="gat")
    store.save(record(other))
    store.path(other.key).rename(store.path(TASK.key))
    with pytest.raises(
        ValueError, match=f"the record of another training, {other.key}"
    ):
        Store(tmp_path).find(TASK)


def test_keys_are_those_of_files_and_of_the_pack(tmp_path):
    other = dataclasses.replace(TASK, row="gat")
    Store(tmp_path).save(record())
    Store(tmp_path).pack()
    Store(tmp_path).save(record(other))
    assert Store(tmp_path).keys() == {TASK.key, other.key}


def test_a_lock_that_others_cannot_see_is_no_claim(tmp_path, monkeypatch):
    lock = fcntl.flock

    def late(file, how):
        # Its owner ends between opening and locking here.
        (lock_file,) = tmp_path.glob(".*.lock")
        lock_file.unlink()
        lock(file, how)

    monkeypatch.setattr(fcntl, "flock", late)
    with Store(tmp_path).claim(TASK) as is_mine:
        assert not is_mine
    monkeypatch.undo()
    with Store(tmp_path).claim(TASK) as is_mine:
        assert is_mine


def test_records_are_plain_json(tmp_path):
    Store(tmp_path).save(record())
    content = json.loads((tmp_path / f"{TASK.key}.json").read_text())
    assert content["test"] == 0.5


def test_a_finished_task_cannot_be_claimed(tmp_path):
    store = Store(tmp_path)
    store.save(record())
    with store.claim(TASK) as is_mine:
        assert not is_mine


def test_a_claim_excludes_other_processes_and_ends_with_them(tmp_path):
    context = multiprocessing.get_context("spawn")
    held = context.Queue()
    other = context.Process(target=hold, args=(tmp_path, 60, held))
    other.start()
    assert held.get(timeout=120)
    with Store(tmp_path).claim(TASK) as is_mine:
        assert not is_mine
    other.kill()
    other.join()
    with Store(tmp_path).claim(TASK) as is_mine:
        assert is_mine


def test_no_lock_files_stay_behind(tmp_path):
    with Store(tmp_path).claim(TASK) as is_mine:
        assert is_mine
    assert list(tmp_path.iterdir()) == []


def test_packed_records_are_found_and_the_files_are_gone(tmp_path):
    store = Store(tmp_path)
    other = dataclasses.replace(TASK, row="gat")
    store.save(record())
    store.save(record(other, row="gat"))
    assert store.pack() == 2
    assert [file.name for file in tmp_path.iterdir()] == ["records.jsonl.gz"]
    again = Store(tmp_path)
    assert again.find(TASK) == record() and again.find(other).row == "gat"
    before = (tmp_path / "records.jsonl.gz").read_bytes()
    assert again.pack() == 2
    assert (tmp_path / "records.jsonl.gz").read_bytes() == before


def test_records_added_to_a_packed_store_are_packed_with_it(tmp_path):
    Store(tmp_path).save(record())
    Store(tmp_path).pack()
    Store(tmp_path).save(record(dataclasses.replace(TASK, row="gat"), row="gat"))
    assert Store(tmp_path).pack() == 2


def test_a_damaged_pack_is_named(tmp_path):
    (tmp_path / "records.jsonl.gz").write_bytes(b"no gzip")
    with pytest.raises(ValueError, match=r"records.jsonl.gz is no file of packed"):
        Store(tmp_path)
