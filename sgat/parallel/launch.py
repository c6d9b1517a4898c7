"""How `torchrun` starts a process: by variables of its environment.

Tested by tests/parallel/test_ranks.py.
"""

import os

VARIABLES = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
"""Variables of the environment by which `torchrun` names a process."""


def number_in_job() -> int | None:
    """Number of this process in a job of `torchrun`; None if it is alone."""
    if not all(name in os.environ for name in VARIABLES):
        return None
    given = {name: os.environ[name] for name in VARIABLES}
    number, size, port = (
        int(text) if (text := given[name]).isdecimal() else -1
        for name in ("RANK", "WORLD_SIZE", "MASTER_PORT")
    )
    if not (0 <= number < size and 0 < port < 2**16 and given["MASTER_ADDR"]):
        shown = ", ".join(f"{name}={text!r}" for name, text in given.items())
        raise ValueError(
            "The variables of `torchrun` must be a RANK from 0, below WORLD_SIZE, an"
            f" address and a port, got {shown}; start with `torchrun`, or unset them."
        )
    return number if size > 1 else None


def is_restarted() -> bool:
    """Whether `torchrun` starts the job once more, after a process died."""
    return os.environ.get("TORCHELASTIC_RESTART_COUNT", "0") != "0"
