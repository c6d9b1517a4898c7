import re
import shlex
from pathlib import Path

import pandas as pd
import pytest

from sgat.cli import main

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)


def test_the_readme_has_its_examples():
    assert len(BLOCKS) == 2


# As written, a search takes up to 20 seconds; fast tests let it train for fewer epochs.
AS_WRITTEN = pytest.mark.parametrize(
    "epochs",
    [15, pytest.param(None, marks=[pytest.mark.promise, pytest.mark.slow])],
    ids=["few epochs", "as written"],
)


@AS_WRITTEN
@pytest.mark.parametrize("number", range(2))
def test_python_examples_run(number, epochs, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names, block, called = {}, BLOCKS[number], "SGATClassifier(keep=0.5)"
    assert (called in block) == (number == 0)
    if epochs:
        block = block.replace(called, f"{called[:-1]}, epochs={epochs})")
    exec(compile(block, f"README block {number}", "exec"), names)
    if "clf" in names:
        assert names["clf"].edges_["kept"].mean() == pytest.approx(0.5, abs=0.02)
        assert names["small"].number_of_edges() < names["club"].number_of_edges()


def write_two_files():
    ids = [f"paper {i}" for i in range(40)]
    pd.DataFrame({"src": ids, "dst": ids[3:] + ids[:3]}).to_csv(
        "edges.csv", index=False
    )
    labels = ["a" if i % 2 else "b" for i in range(40)]
    nodes = pd.DataFrame({"id": ids, "length": range(40), "y": labels})
    nodes.to_csv("nodes.csv", index=False)
    return ids


def test_the_programs_on_files_run_one_after_the_other(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_two_files()
    page = (ROOT / "docs" / "files.md").read_text(encoding="utf-8")
    programs = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    assert len(programs) == 2
    exec(compile("\n".join(programs), "docs/files.md", "exec"), {})
    kept = pd.read_parquet("edges.parquet")["kept"]
    assert len(pd.read_csv("small.csv")) == kept.sum()


@AS_WRITTEN
def test_the_two_csv_example_runs(epochs, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ids = write_two_files()
    first = README.index("    sgat fit --edges edges.csv")
    for line in README[first:].split("\n\n")[0].splitlines():
        command = shlex.split(line, comments=True)[1:]
        if epochs and command[0] == "fit":
            command += ["--epochs", str(epochs)]
        assert main([word for word in command if word != "--open"]) == 0, line
    edges = pd.read_parquet("runs/mine/edges.parquet")
    assert edges["src"].tolist() == ids
    kept = edges.loc[edges["kept"], ["src", "dst"]].reset_index(drop=True)
    pd.testing.assert_frame_equal(pd.read_csv("small.csv")[["src", "dst"]], kept)
    assert Path("runs/mine/report.html").stat().st_size > 10_000


def test_every_file_the_readme_names_exists():
    for link in re.findall(r"\]\(([^)#]+)\)", README):
        if not link.startswith("http"):
            assert (ROOT / link).exists(), link
    for path in re.findall(r"^    ((?:sgat|docs|tests|benchmarks)/\S*) ", README, re.M):
        assert (ROOT / path).exists(), path
