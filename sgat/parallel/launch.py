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
    size = int(os.environ["WORLD_SIZE"])
    return int(os.environ["RANK"]) if size > 1 else None


def is_restarted() -> bool:
    """Whether `torchrun` starts the job once more, after a process died."""
    return os.environ.get("TORCHELASTIC_RESTART_COUNT", "0") != "0"
