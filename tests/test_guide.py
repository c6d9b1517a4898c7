"""Every command and every program of the user guide, as written and in their order."""

import re
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot
from support.spark import need_spark

from sgat.cli import main
from sgat_lab.cli import main as lab_main
from sgat_lab.synthetic.block_models import contextual_block_model

ROOT = Path(__file__).parents[1]
GUIDE = (ROOT / "docs" / "guide.md").read_text(encoding="utf-8")
# A backslash at the end of a line continues a command, as in a shell.
JOINED = re.sub(r" \\\n +", " ", GUIDE)
COMMANDS = re.findall(r"^ {4,6}(sgat(?:-lab)? .+)$", JOINED, flags=re.MULTILINE)
PROGRAMS = re.findall(r"```python\n(.*?)```", GUIDE, flags=re.DOTALL)
SPARK = "--engine spark"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The files that the guide speaks of."""
    path = tmp_path_factory.mktemp("guide")
    write_graph(path, "", 200, seed=1)
    write_graph(path, "new_", 50, seed=2)
    few = pd.read_csv(path / "edges.csv").head(5)
    few.to_csv(path / "keep_these.csv", index=False)
    large = pd.read_csv(path / "new_edges.csv")
    pd.concat([large] * 20).to_parquet(path / "big.parquet", index=False)
    return path


def write_graph(path, prefix, size, seed):
    data = contextual_block_model(
        num_nodes=size, num_classes=3, num_features=4, seed=seed
    ).data
    ids = np.array([f"paper {number:03d}" for number in range(size)])
    src, dst = data.graph.src.numpy(), data.graph.dst.numpy()
    once = src < dst
    edges = pd.DataFrame({"src": ids[src[once]], "dst": ids[dst[once]]})
    edges["amount"] = np.arange(len(edges)) % 17 / 4
    edges["kind"] = np.array(["gift", "sale"])[np.arange(len(edges)) % 3 // 2]
    edges.to_csv(path / f"{prefix}edges.csv", index=False)
    nodes = pd.DataFrame(data.x.numpy(), columns=list("abcd"))
    nodes.insert(0, "id", ids)
    nodes["y"] = np.array(["maths", "biology", "history"])[data.y.numpy()]
    nodes.to_csv(path / f"{prefix}nodes.csv", index=False)


def run(command, folder, monkeypatch):
    monkeypatch.chdir(folder)
    more = ["--epochs", "15"] if command.startswith("sgat fit") else []
    program, *words = shlex.split(command)
    return {"sgat": main, "sgat-lab": lab_main}[program]([*words, *more])


# All commands of the guide: 22 seconds.
@pytest.mark.promise
@pytest.mark.slow
def test_the_commands_run_in_their_order(folder, monkeypatch):
    commands = [command for command in COMMANDS if SPARK not in command]
    assert len(commands) >= 10
    for command in commands:
        assert run(command, folder, monkeypatch) == 0, command
    rows = {file: len(pd.read_csv(folder / file)) for file in ("edges.csv", "half.csv")}
    assert rows["half.csv"] >= rows["edges.csv"] // 2
    kept = pd.read_csv(folder / "safe.csv")[["src", "dst"]]
    protected = pd.read_csv(folder / "keep_these.csv")
    assert len(protected.merge(kept)) == len(protected)
    assert len(pd.read_csv(folder / "predictions.csv")) == 50
    small = pd.read_csv(folder / "small.csv")
    scored = pd.read_parquet(folder / "runs/mine/edges.parquet")
    assert len(small) == scored["kept"].sum()
    third = pd.read_parquet(folder / "runs/third/edges.parquet")
    assert third["kept"].mean() == pytest.approx(0.3, abs=0.02)
    for name in ("runs/mine/report.html", "mine.html", "007.png", "removed.csv"):
        assert (folder / name).stat().st_size > 0, name
    assert (folder / "runs/compared/compare.png").exists()


@pytest.mark.promise
@pytest.mark.slow
def test_the_command_for_spark_runs(folder, monkeypatch):
    need_spark()
    (command,) = [command for command in COMMANDS if SPARK in command]
    if not (folder / "runs/paper").exists():
        (train,) = [line for line in COMMANDS if line.endswith("--out runs/paper")]
        assert run(train, folder, monkeypatch) == 0
    assert run(command, folder, monkeypatch) == 0
    assert len(pd.read_parquet(folder / "small")) > 0


@pytest.mark.parametrize("number", range(len(PROGRAMS)))
def test_the_programs_run(number, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_graph(tmp_path, "", 200, seed=1)
    exec(compile(PROGRAMS[number], f"guide program {number}", "exec"), {})
    pyplot.close("all")


def test_every_file_the_guide_links_to_exists():
    for link in re.findall(r"\]\(([^)#]+)\)", GUIDE):
        assert (ROOT / "docs" / link).exists(), link
