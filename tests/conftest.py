import gc
import importlib
import os
import signal
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

# OpenMP reads both when torch is first imported. A thread without work sleeps: one that
# keeps asking for work takes the core of the process beside it. Under pytest-xdist each
# process has one core, so it gets one thread.
os.environ["OMP_WAIT_POLICY"] = "PASSIVE"
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ["OMP_NUM_THREADS"] = "1"
# As commands set it, also for those that run in this process.
os.environ.setdefault("MKL_CBWR", "AUTO,STRICT")

import pytest
import torch
from hypothesis import settings
from support.awkward import GRAPHS
from support.kept_verdicts import KeptVerdicts
from support.small_files import write_small_files

from sgat.graph import Graph

# The same examples every time where a red run would stop others; new ones elsewhere.
# No deadline for one of them: other work on the machine may slow it down.
settings.register_profile("ci", derandomize=True, deadline=None)
settings.register_profile("here", deadline=None)
settings.load_profile("ci" if os.environ.get("CI") else "here")

# A shell starts what runs in the background with Ctrl-C ignored, and all children
# inherit that; the tests of Ctrl-C need it to mean something.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Without a GPU, Triton's kernels run in its interpreter. Triton reads this when it is
# first imported, and PyG imports it.
if not torch.cuda.is_available():
    os.environ["TRITON_INTERPRET"] = "1"

REPOSITORY = Path(__file__).parents[1]
VERDICTS = KeptVerdicts()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what needs a CUDA device where there is none."""
    if torch.cuda.is_available():
        return
    for item in items:
        if item.get_closest_marker("gpu"):
            item.add_marker(pytest.mark.skip(reason="no CUDA device"))


def pytest_collection_finish() -> None:
    """Thousands of tests and all modules stay: the collector need not look at them."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Before all fixtures, for they train as well."""
    tests_judging = REPOSITORY / "tests" / "judging" in item.path.parents
    VERDICTS.in_use = not (tests_judging or item.get_closest_marker("judged_anew"))


@pytest.fixture(scope="session", autouse=True)
def kept_verdicts() -> Iterator[None]:
    """The same edges are judged once, see `support.kept_verdicts`."""
    with pytest.MonkeyPatch.context() as patch:
        VERDICTS.replace_the_judge_s(patch)
        yield


@pytest.fixture(scope="session")
def benchmarks() -> Path:
    """The folder with the real data sets; tests that need it skip without it."""
    given = os.environ.get("SGAT_DATA")
    root = Path(given) if given else REPOSITORY.parent / "shared" / "datasets"
    if not (root / "Planetoid").is_dir():
        pytest.skip(f"no benchmark files in {root}; set SGAT_DATA to their folder")
    return root


@pytest.fixture
def seed() -> int:
    """Seed of a stochastic test, which must hold for any; SGAT_TEST_SEED sets it."""
    value = int(os.environ.get("SGAT_TEST_SEED", "0"))
    torch.manual_seed(value)
    return value


@pytest.fixture(params=list(GRAPHS))
def awkward_graph(request: pytest.FixtureRequest) -> Graph:
    """Each of the awkward graphs in turn."""
    return GRAPHS[request.param]()


@pytest.fixture(scope="session")
def pyg() -> ModuleType:
    """PyTorch Geometric, which takes seconds to import."""
    with warnings.catch_warnings():
        # Its modules still use `torch.jit.script`, which warns in this torch.
        warnings.filterwarnings("ignore", category=DeprecationWarning)
        return importlib.import_module("torch_geometric")


@pytest.fixture
def csv_files(tmp_path: Path) -> list[str]:
    """A small graph in two files, and the options that name them."""
    return write_small_files(tmp_path)
