import errno
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.long_run import long_run, task

from sgat_lab.trials.runner import _deaf_to_ctrl_c, run_planned, run_tasks
from sgat_lab.trials.store import Store
from sgat_lab.trials.task import Task
from sgat_lab.trials.trial import Trials


def test_every_task_gets_its_record(tmp_path):
    store = Store(tmp_path)
    records = run_tasks([task(0), task(1)], store, device="cpu")
    assert [record.seed for record in records] == [0, 1]
    assert all(0 <= record.test <= 1 for record in records)
    assert len(list(tmp_path.glob("*.json"))) == 2


def test_finished_tasks_are_not_repeated(tmp_path, monkeypatch):
    first = run_tasks([task()], Store(tmp_path), device="cpu")

    def fail(*args, **options):
        raise AssertionError("it was finished")

    monkeypatch.setattr(Trials, "run", fail)
    assert run_tasks([task()], Store(tmp_path), device="cpu") == first


def test_the_same_task_twice_is_run_once(tmp_path):
    assert len(run_tasks([task(), task()], Store(tmp_path), device="cpu")) == 1


def test_progress_counts_what_was_done_before(tmp_path):
    store, seen = Store(tmp_path), []
    run_tasks([task()], store, device="cpu")
    run_tasks(
        [task(0), task(1)],
        store,
        device="cpu",
        progress=lambda done, total: seen.append((done, total)),
    )
    assert seen[0] == (1, 2) and seen[-1] == (2, 2)


def test_a_task_that_fails_is_told_and_the_others_are_done(tmp_path):
    bad = task(lr=1e38)
    with pytest.raises(ValueError, match="1 of 2 trainings failed, the first gcn on"):
        run_tasks([bad, task(1)], Store(tmp_path), device="cpu")
    assert Store(tmp_path).find(task(1)) is not None


@pytest.mark.promise
@pytest.mark.slow
def test_several_processes_share_the_work(tmp_path):
    tasks = [task(seed) for seed in range(4)]
    here = run_tasks(tasks, Store(tmp_path / "one"), device="cpu")
    apart = run_tasks(tasks, Store(tmp_path / "two"), device="cpu", processes=2)
    assert [r.test for r in apart] == [r.test for r in here]
    assert len({r.key for r in apart}) == 4


@pytest.mark.slow
def test_a_failure_in_another_process_is_told(tmp_path):
    with pytest.raises(ValueError, match="1 of 3 trainings failed"):
        run_tasks(
            [task(lr=1e38), task(1), task(2)],
            Store(tmp_path),
            device="cpu",
            processes=2,
        )


def test_what_is_planned_from_records_is_run_too(tmp_path):
    store = Store(tmp_path)

    def plan() -> list[Task]:
        first = task(0)
        return [first] if store.find(first) is None else [first, task(1)]

    assert len(run_planned(plan, store, device="cpu")) == 2


def test_an_error_of_torch_fails_one_task(tmp_path, monkeypatch):
    run = Trials.run

    def short_of_memory(trials, given):
        if given.config.train.seed == 0:
            raise RuntimeError("DefaultCPUAllocator: can't allocate memory")
        return run(trials, given)

    monkeypatch.setattr(Trials, "run", short_of_memory)
    with pytest.raises(ValueError, match=r"1 of 2 trainings failed.*allocate memory"):
        run_tasks([task(0), task(1)], Store(tmp_path), device="cpu")
    assert Store(tmp_path).find(task(1)) is not None


def test_a_record_that_cannot_be_written_stops_the_rest(tmp_path, monkeypatch):
    def full(self, record):
        raise OSError(errno.ENOSPC, "No space left on device", "x.json")

    monkeypatch.setattr(Store, "save", full)
    with pytest.raises(OSError, match="No space left"):
        run_tasks([task(0), task(1)], Store(tmp_path), device="cpu")


@pytest.mark.slow
def test_a_folder_that_cannot_be_written_is_told_by_other_processes(tmp_path):
    folder = tmp_path / "records"
    for seed in range(2):
        lock = folder / f".{task(seed).key}.lock"
        lock.mkdir(parents=True)
    with pytest.raises(IsADirectoryError):
        run_tasks([task(0), task(1)], Store(folder), device="cpu", processes=2)


@pytest.mark.promise
@pytest.mark.slow
def test_no_process_outlives_one_that_was_killed(tmp_path):
    command = multiprocessing.get_context("spawn").Process(
        target=long_run, args=(tmp_path,)
    )
    command.start()
    while len(list(tmp_path.glob(".*.lock"))) < 2:
        assert command.is_alive()
        time.sleep(0.1)
    command.kill()
    command.join()
    end = time.monotonic() + 90
    # A claim is free again once the process that held it is gone.
    for seed in range(2):
        while not _is_free(tmp_path, task(seed, epochs=100_000)):
            assert time.monotonic() < end, "a process is still training"
            time.sleep(0.1)


def _is_free(folder, given) -> bool:
    with Store(folder).claim(given) as is_mine:
        return is_mine


def test_ctrl_c_is_heard_again_after_processes_were_started():
    before = signal.getsignal(signal.SIGINT)
    code = "import signal; print(signal.getsignal(signal.SIGINT) == signal.SIG_IGN)"
    with _deaf_to_ctrl_c():
        started = subprocess.run([sys.executable, "-c", code], capture_output=True)
    assert started.stdout.strip() == b"True"
    assert signal.getsignal(signal.SIGINT) == before


@pytest.mark.promise
@pytest.mark.slow
def test_ctrl_c_ends_all_processes_without_a_traceback(tmp_path):
    code = f"from support.long_run import long_run; long_run({str(tmp_path)!r})"
    # A group of its own, to which the signal goes as from a terminal.
    command = subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=Path(__file__).parents[2],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    while len(list(tmp_path.glob(".*.lock"))) < 2:
        assert command.poll() is None
        time.sleep(0.1)
    os.killpg(command.pid, signal.SIGINT)
    told = command.communicate(timeout=60)[1]
    assert told.count("Traceback") == told.count("KeyboardInterrupt") == 1
    assert "race condition" not in told
    assert not list(tmp_path.glob(".*.lock"))
