"""The whole default fit, as a multiple of one training of the candidate that it takes.

python -m benchmarks.search_cost [cora citeseer texas …] [--threads 2]

Both are `SGATClassifier()` on a CPU with nothing chosen, judging included; the second
has the settings that the first one took. `ratio` is of seconds of the processor, of all
processes; `clock ratio` of seconds by the clock, which mean little beside other work;
`lead ratio` has the processor seconds of the process that decides, without those of its
copy: an estimate of the clock on idle cores, where neither waits. Appends
`results/search_cost.csv`.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

import torch

from benchmarks.measure import append, table
from sgat import SGATClassifier
from sgat.training.loop import fit
from sgat_lab.attacks.graphs import noisy_graph

COLUMNS = [
    *("graph", "noise", "taken", "search", "one", "ratio", "tried", "test"),
    *("lead ratio", "clock", "one clock", "clock ratio", "threads"),
]


def seconds() -> tuple[float, float, float]:
    """Of the processor in all processes and in this one, and by the clock."""
    now = os.times()
    own = now.user + now.system
    children = now.children_user + now.children_system
    return own + children, own, time.perf_counter()


def cost(name: str, noise: str, root: str | None) -> dict[str, object]:
    """Seconds of both, and how many candidates were tried."""
    data = noisy_graph(name, noise, float(noise != "clean"), seed=0, root=root).data
    begin = seconds()
    found = SGATClassifier(seed=0, device="cpu").fit(data)
    middle = seconds()
    fit([data], found.config_.model, found.config_.train)
    end = seconds()
    search, lead, clock = (b - a for a, b in zip(begin, middle, strict=True))
    one, own, one_clock = (b - a for a, b in zip(middle, end, strict=True))
    names = found.tried_["name"][found.tried_["rung"] == 1]
    taken = f"{found.config_.model.readout}, {found.config_.model.layers} layers"
    test = found.score(role="test")
    values = [name, noise, taken, search, one, search / one, len(names), test]
    values += [lead / own, clock, one_clock, clock / one_clock]
    return dict(zip(COLUMNS, [*values, torch.get_num_threads()], strict=True))


def main() -> None:
    """Measure graph by graph; print and append the rows."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("graphs", nargs="*", default=["cora", "citeseer", "texas"])
    parser.add_argument("--noise", default="clean", help="clean or cross-class")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--data-root")
    parser.add_argument("--results", type=Path, default=Path("benchmarks/results"))
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    # The first fit of a process loads what is compiled.
    cost(given.graphs[0], given.noise, given.data_root)
    rows = []
    for name in given.graphs:
        rows.append(cost(name, given.noise, given.data_root))
        append("search_cost", rows[-1:], "cpu", given.results)
    print(table(rows, COLUMNS))


if __name__ == "__main__":
    main()
