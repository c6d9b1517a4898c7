"""`import sgat` is quick, loads nothing it does not need, and offers what it says."""

import subprocess
import sys
import tomllib
from pathlib import Path

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


def seconds_to_import(module: str) -> float:
    code = (
        "import time; start = time.process_time();"
        f" import {module}; print(time.process_time() - start)"
    )
    return float(run_python(code))


def loaded_by(code: str) -> set[str]:
    names = run_python(f"{code}; import sys; print(*sys.modules)")
    return {name.partition(".")[0] for name in names.split()}


def test_import_loads_nothing_heavy():
    # Whatever torch itself loads on this machine is not ours to avoid.
    extra = loaded_by("import sgat") - loaded_by("import torch")
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
    loaded = loaded_by("from sgat.cli import main; main(['fit', '--help'])")
    assert {"sgat", "typer"} <= loaded
    assert loaded.isdisjoint({"torch", *HEAVY} - {"typer", "rich"})


def test_import_takes_at_most_half_a_second_more_than_torch():
    torch_times, sgat_times = [], []
    # Other work on the machine may slow one of them down.
    for _ in range(3):
        torch_times.append(seconds_to_import("torch"))
        sgat_times.append(seconds_to_import("sgat"))
        if min(sgat_times) < min(torch_times) + 0.5:
            return
    pytest.fail(f"torch takes {min(torch_times)} s, sgat {min(sgat_times)} s")


def test_all_is_what_can_be_imported():
    imported = {}
    exec("from sgat import *", imported)
    assert sorted(imported.keys() - {"__builtins__"}) == sorted(sgat.__all__)
    assert len(sgat.__all__) == len(set(sgat.__all__)) > 10
    assert set(sgat.__all__) <= set(dir(sgat))


@pytest.mark.parametrize("name", sgat.__all__)
def test_public_names_say_what_they_are(name: str):
    assert getattr(sgat, name).__doc__


def test_an_unknown_name_is_refused():
    with pytest.raises(AttributeError, match="module 'sgat' has no attribute 'SGATT'"):
        sgat.SGATT  # noqa: B018 - the access is what fails


def test_the_version_is_the_projects():
    path = Path(__file__).parents[1] / "pyproject.toml"
    project = tomllib.loads(path.read_text(encoding="utf-8"))["project"]
    assert sgat.__version__ == project["version"]
