"""`import sgat` is quick, loads nothing it does not need, and offers what it says."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import pytest

import sgat

HEAVY = [
    "torch_geometric",
    "pooch",
    "platformdirs",
    "requests",
    "matplotlib",
    "numba",
    "triton",
    "sklearn",
    "pandas",
    "pyarrow",
    "networkx",
    "typer",
    "rich",
]


def run_python(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


class Imported(NamedTuple):
    """An import in a process of its own."""

    seconds: float
    modules: set[str]

    @classmethod
    def of(cls, module: str) -> Imported:
        first, *names = run_python(
            "import sys, time; start = time.process_time();"
            f" import {module}; print(time.process_time() - start, *sys.modules)"
        ).split()
        return cls(float(first), top_level(names))


def top_level(names: list[str]) -> set[str]:
    return {name.partition(".")[0] for name in names}


@pytest.fixture(scope="module")
def imported() -> dict[str, Imported]:
    return {name: Imported.of(name) for name in ("torch", "sgat")}


def test_import_loads_nothing_heavy(imported: dict[str, Imported]):
    # Whatever torch itself loads on this machine is not ours to avoid.
    extra = imported["sgat"].modules - imported["torch"].modules
    assert "sgat" in extra
    assert extra.isdisjoint(HEAVY)


WITHOUT_PYG = """
import sys
sys.modules["torch_geometric"] = None  # an import of it fails
"""


# Processes that train and read every kind of data.
@pytest.mark.promise
@pytest.mark.slow
def test_training_and_reading_need_no_pyg(tmp_path, csv_files):
    edges, nodes = (str(tmp_path / csv_files[place]) for place in (1, 3))
    code = f"""{WITHOUT_PYG}
import sgat
from sgat.cli import main
from sgat.data import load
from sgat.data.files import FileOptions, read_graph

clf = sgat.SGATClassifier(epochs=2).fit(load("karate"))
assert len(clf.edges_) == 156
assert main(["fit", "karate", "--epochs", "2", "--out", {str(tmp_path / "run")!r}]) == 0
files = read_graph({edges!r}, {nodes!r}, options=FileOptions(label="y"))
print(files.data.num_nodes)
"""
    assert run_python(code).splitlines()[-1] == "30"
    assert (tmp_path / "run" / "summary.json").is_file()


def test_the_named_data_sets_need_no_pyg(benchmarks):
    code = f"""{WITHOUT_PYG}
from sgat.data import load

for name in ("cora", "texas", "photo"):
    print(load(name, root={str(benchmarks)!r})[0].num_nodes)
"""
    assert run_python(code).split() == ["2708", "183", "7650"]


def test_methods_that_need_pyg_say_what_to_install():
    code = f"""{WITHOUT_PYG}
try:
    import sgat_lab.baselines
except ModuleNotFoundError as error:
    print(error)
"""
    assert "install it with `pip install 'sgat[lab]'`" in run_python(code)


def test_the_command_line_helps_without_loading_torch():
    code = "from sgat.cli import main; main(['fit', '--help'])"
    *_, names = run_python(f"{code}; import sys; print(*sys.modules)").splitlines()
    loaded = top_level(names.split())
    assert {"sgat", "typer"} <= loaded
    assert loaded.isdisjoint({"torch", *HEAVY} - {"typer", "rich"})


def test_reading_data_and_judging_load_neither_training_nor_pyg():
    code = """
import sgat.cli.outputs, sgat.data.configured, sgat.data.named
import sgat.judging.judged_edges
import sgat.runs.request, sys
print(*sys.modules)"""
    names = run_python(code).split()
    assert "sgat.judging.verdict" in names
    assert not [name for name in names if name.startswith("sgat.training")]
    assert "sgat.data.named" in names
    others = {"sklearn", "pandas", "matplotlib", "torch_geometric"}
    assert top_level(names).isdisjoint(others)


def test_import_takes_at_most_half_a_second_more_than_torch(
    imported: dict[str, Imported],
):
    times = {name: [found.seconds] for name, found in imported.items()}
    # Other work on the machine may slow one of them down.
    while min(times["sgat"]) >= min(times["torch"]) + 0.5:
        assert len(times["sgat"]) < 3, times
        for name, seconds in times.items():
            seconds.append(Imported.of(name).seconds)


def test_all_is_what_can_be_imported():
    imported = {}
    exec("from sgat import *", imported)
    assert sorted(imported.keys() - {"__builtins__"}) == sorted(sgat.__all__)
    assert len(sgat.__all__) == len(set(sgat.__all__)) > 10
    assert set(sgat.__all__) <= set(dir(sgat))


def test_nothing_else_is_offered():
    """Parts of the library, such as `sgat.data`, may have been imported by tests."""
    offered = {
        name
        for name in dir(sgat)
        if not name.startswith("__") and not isinstance(getattr(sgat, name), ModuleType)
    }
    assert offered == {*sgat.__all__, "JudgeEdges"}


@pytest.mark.parametrize("name", sgat.__all__)
def test_public_names_say_what_they_are(name: str):
    assert getattr(sgat, name).__doc__


def test_an_unknown_name_is_refused():
    with pytest.raises(AttributeError, match="module 'sgat' has no attribute 'SGATT'"):
        sgat.SGATT  # noqa: B018 - the access is what fails


PROJECT = Path(__file__).parents[1] / "pyproject.toml"


def test_the_version_is_the_projects():
    project = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]
    assert sgat.__version__ == project["version"]


def test_type_checkers_find_an_editable_install():
    """With it setuptools writes a path; without, a hook that only Python follows."""
    tools = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["tool"]
    assert tools["setuptools"]["package-dir"] == {"": "."}


THP = Path("/sys/kernel/mm/transparent_hugepage/enabled")


@pytest.mark.skipif(
    not (THP.exists() and "[madvise]" in THP.read_text()),
    reason="Linux gives pages of 2 MiB to all, to none or not here",
)
@pytest.mark.parametrize("wanted", ["", "0"])
def test_the_command_line_asks_for_huge_pages_unless_told_otherwise(
    wanted, monkeypatch
):
    monkeypatch.delenv("THP_MEM_ALLOC_ENABLE", raising=False)
    if wanted:
        monkeypatch.setenv("THP_MEM_ALLOC_ENABLE", wanted)
    found = run_python(
        "from sgat.cli import main; main(['data', 'list', '--json']);"
        " import torch; large = torch.ones(1 << 24);"
        " lines = open('/proc/self/smaps_rollup').read().splitlines();"
        " print([line for line in lines if 'AnonHugePages' in line][0].split()[1])"
    )
    # Of 65,536 kB; numpy asks for them too.
    assert (int(found.split()[-1]) > 32_000) == (wanted == "")
