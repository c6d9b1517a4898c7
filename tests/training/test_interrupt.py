import contextlib
import os
import signal
import subprocess
import sys
import threading

import pytest

from sgat.training.interrupt import stop_requests


@contextlib.contextmanager
def handled(number: int, handler):
    """A handler for a signal, as the command line has one for SIGTERM."""
    before = signal.signal(number, handler)
    try:
        yield
    finally:
        signal.signal(number, before)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_is_a_request_and_handlers_come_back(number):
    before = signal.default_int_handler
    with handled(number, before), stop_requests() as stop:
        assert not stop.is_set()
        os.kill(os.getpid(), number)
        assert stop.is_set()
        # From now on the signal means what it did before.
        assert signal.getsignal(number) is before


LIBRARY = """
import os, signal, threading
from sgat.training.interrupt import stop_requests
with stop_requests() as stop:
    os.kill(os.getpid(), signal.SIGTERM)
print("still here")
"""


def test_a_library_does_not_keep_a_process_from_ending():
    found = subprocess.run([sys.executable, "-c", LIBRARY], capture_output=True)
    assert (found.returncode, found.stdout) == (-signal.SIGTERM, b"")


COMMAND = """
import os, signal, sys
from sgat import cli
def killed(*given):
    try:
        os.kill(os.getpid(), signal.SIGTERM)
    finally:
        print("cleaned up")
cli.import_module = killed
sys.exit(cli.main(["data", "info", "karate"]))
"""


def test_a_command_cleans_up_before_it_ends():
    command = [sys.executable, "-c", COMMAND]
    found = subprocess.run(command, capture_output=True)
    assert (found.returncode, found.stdout) == (130, b"cleaned up\n")


def test_a_second_ctrl_c_stops_at_once():
    with pytest.raises(KeyboardInterrupt), stop_requests():
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)


def test_other_threads_leave_signals_alone():
    before = signal.getsignal(signal.SIGINT)
    seen = []

    def work():
        with stop_requests() as stop:
            seen.append((signal.getsignal(signal.SIGINT), stop.is_set()))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [(before, False)]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_ignored_signal_stays_ignored(number):
    before = signal.signal(number, signal.SIG_IGN)
    try:
        with stop_requests() as stop:
            os.kill(os.getpid(), number)
            assert not stop.is_set()
            assert signal.getsignal(number) is signal.SIG_IGN
        assert signal.getsignal(number) is signal.SIG_IGN
    finally:
        signal.signal(number, before)
