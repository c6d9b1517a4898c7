"""Run folders and judged tables made by a grammar, and commands that use them.

A run folder is that of a small training, finished or cut off, with some things in it
that are not right; see `mutants.py`. A judged table is nearly one of `sgat judge`; see
`made_files.py`. Each case is a function of its seed.
"""

import contextlib
import io
import itertools
import random
import shutil
from pathlib import Path
from typing import Any
from unittest.mock import patch

from support.made_files import ENDS, NUMBERS, WORDS, Broken, Made, within_limits
from support.mutants import mutants
from support.small_files import write_small_files

import sgat
from sgat.cli import main
from sgat.pruning.stored_table import open_table

QUICK = ["--epochs", "4", "--quiet", "--device", "cpu", "--hidden", "4"]
MORE = {
    "linear": ["--scorer", "additive", "--readout", "linear", "--snapshots", "2"],
    "search": ["--scorer", "evidence"],
}
CUT = " way"
"""What the name of a run that was cut off ends in."""
OUT = ["--out", "o.csv", "--overwrite", "--quiet"]
NEW = ["--edges", "edges.csv", "--nodes", "nodes.csv"]
VERBS = (
    *(["predict", "w", *OUT], ["predict", "w", *NEW, *OUT], ["prune", "w", *OUT]),
    *(["prune", "w", "--edges", "edges.csv", *OUT], ["report", "w", "--quiet"]),
    *(["explain", "w", "n03", "--quiet"], ["verify", "w", "--quiet"], ["load"]),
    ["fit", "--resume", "--out", "w", "--quiet"],
)
RULES = (
    *([], [], ["--threshold", "0.8"], ["--keep", "0.5"], ["--keep-connected"]),
    *(["--min-degree", "1"], ["--symmetric", "max"], ["--threshold", "1e400"]),
)


def train(folder: Path) -> None:
    """Finished runs, and runs that were cut off at the end of the training."""
    files = write_small_files(folder)

    def full(run: Any, *arguments: Any) -> None:
        raise OSError(28, "No space left on device", str(run.path))

    with contextlib.chdir(folder):
        for name, more in MORE.items():
            assert main(["fit", *files, *QUICK, *more, "--out", name]) == 0
        with patch("sgat.runs.run.write_results", full):
            for name, more in MORE.items():
                assert main(["fit", *files, *QUICK, *more, "--out", name + CUT]) == 1


def call(arguments: list[str]) -> str:
    """`ok` or `refused`; an error if the command ends in anything but these."""
    told = io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(told):
        if arguments == ["load"]:
            try:
                sgat.load("w")
            except (ValueError, OSError) as error:
                if "\n" in str(error):
                    raise Broken(f"no sentence: {error}") from error
                return "refused"
            return "ok"
        code = main(arguments)
    lines = told.getvalue().splitlines()
    lines = [line[:7] for line in lines if not line.startswith("note: ")]
    if code not in (0, 1) or (lines != ["error: "] * code and arguments[0] != "verify"):
        raise Broken(f"{code}: {told.getvalue()!r}")
    return "refused" if code else "ok"


def damage(seed: int, trained: Path, most: int = 3) -> tuple[list[str], list[str]]:
    """Put the run folder of a case at `w`; what is not right in it, and a command."""
    rng = random.Random(seed)
    kind = rng.choice([*MORE, *(name + CUT for name in MORE)])
    shutil.rmtree("w", ignore_errors=True)
    shutil.copytree(trained / kind, "w")
    for name in ("edges.csv", "nodes.csv"):
        shutil.copyfile(trained / name, name)
    faults, others = [kind], [trained / name for name in MORE]
    for _ in range(rng.randint(1, most)):
        for name, make in itertools.islice(mutants(Path("w"), rng, others), 1):
            faults.append(name)
            # An earlier fault may have left no table to put another one into.
            with contextlib.suppress(*[Exception] * (len(faults) > 2)):
                make()
    return faults, VERBS[-1] if kind.endswith(CUT) else rng.choice(VERBS)


def use_run(seed: int, trained: Path) -> str:
    """Damage a run folder and use it, in the present folder."""
    faults, verb = damage(seed, trained)
    try:
        return f"{verb[0]}: {call(verb)}"
    except BaseException as error:
        error.add_note(f"{faults} {verb}")
        raise


class MadeTable(Made):
    """Draws the parts of a judged table."""

    def columns(self, kind: str) -> dict[str, list[Any]]:
        """Columns of `sgat judge`, more of any kind, and sometimes one that is odd."""
        size = self.one(0, 1, 2, 7, 30, 300)
        table: dict[str, list[Any]] = {
            end: [self.draw.choice(self.known) for _ in range(size)] for end in ENDS
        }
        table["probability"] = [self.draw.random() for _ in range(size)]
        if self.odd(0.5):
            table["reason"] = [self.one("far apart", "hub", "") for _ in range(size)]
        for _ in range(self.one(0, 1, 3)):
            name = self.one("weight", "f", "probability ", "Place", "o0", 'a"b', "é")
            table[name] = self.values(size)[1]
        if self.odd(0.3) and size:
            odd = self.draw.choice(list(table))
            values = self.one(table[odd], self.values(size)[1])
            table[odd] = list(values)
            table[odd][self.draw.randrange(size)] = self.draw.choice(NUMBERS + WORDS)
        if self.odd(0.05):
            del table[self.draw.choice(list(table))]
        names = list(table)
        self.draw.shuffle(names)
        return {name: table[name] for name in names}


def use_table(seed: int) -> str:
    """Prune a judged table; a result holds some of its rows and all its columns."""
    made = MadeTable(random.Random(seed))
    path = made.file(Path(), "judged", ("csv", "tsv", "parquet"))
    out = made.one("o.csv", "o.tsv", "o.parquet", "o", "o.csv.gz")
    rules = [*made.one(*RULES), *made.one([], [], ["--delimiter", ";"])]
    command = ["prune", "--edges", str(path), "--out", out, *rules, "--quiet"]
    try:
        found = call(command)
        if found == "ok" and out != "o.parquet":  # which may be packed too tight
            between = ";" if ";" in rules else None
            before = open_table(path, delimiter=between)
            after = open_table(Path(out), delimiter=between)
            assert after.columns == before.columns
        elif found == "refused":
            assert not Path(out).exists()
    except BaseException as error:
        error.add_note(str(command))
        raise
    return f"table: {found}"


def run(what: str, seed: int, folder: Path, trained: Path = Path()) -> str:
    """Use the `folder` or `table` of a case within limits, in an empty folder."""
    with contextlib.chdir(folder):
        if what == "table":
            return within_limits(lambda: use_table(seed), folder)
        return within_limits(lambda: use_run(seed, trained), folder)
