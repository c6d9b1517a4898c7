"""Fit many times in one process, and once for very long; append memory and times.

python -m benchmarks.soak [--fits 1000] [--epochs 10000]

A row for each tenth of the fits (20 epochs each, judged anew, predictions compared with
the first) and of the epochs: resident memory, and the median time of a fit or an epoch.
"""

import argparse
import csv
import datetime
import resource
import statistics
import time
import warnings
from pathlib import Path

import numpy as np
import torch

from sgat import SGATClassifier
from sgat_lab.synthetic.block_models import contextual_block_model

RESULTS = Path(__file__).parent / "results" / "soak.csv"
FIELDS = "kind,done,resident_mib,peak_mib,median_seconds,same,torch,date"


def resident() -> float:
    """Memory of this process now, in MiB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fits", type=int, default=1000)
    parser.add_argument("--epochs", type=int, default=10_000)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    options = {"num_nodes": 90, "num_classes": 3, "num_features": 8, "seed": 1}
    data = contextual_block_model(**options).data
    rows, first = [], None

    def add(kind: str, done: int, seconds: list[float], same: bool) -> None:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
        middle = f"{statistics.median(seconds):.5f}"
        memory = f"{resident():.1f}", f"{peak:.1f}"
        about = torch.__version__, datetime.date.today().isoformat()
        rows.append([kind, done, *memory, middle, same, *about])
        print(*rows[-1], flush=True)

    spent, same, every = list[float](), True, max(given.fits // 10, 1)
    for number in range(1, given.fits + 1):
        begun = time.perf_counter()
        fitted = SGATClassifier(fast=True, epochs=20, seed=0, device="cpu").fit(data)
        found = fitted.predict_proba(data)
        spent.append(time.perf_counter() - begun)
        first = found if first is None else first
        same &= np.array_equal(found, first)
        if number % every == 0:
            add("fits", number, spent, same)
            spent = []
    spent, every, last = [], max(given.epochs // 10, 1), time.perf_counter()

    def on_epoch(record: object) -> None:
        nonlocal spent, last
        now = time.perf_counter()
        spent.append(now - last)
        last = now
        if record.epoch % every == 0:  # type: ignore[attr-defined]
            add("epochs", record.epoch, spent, True)  # type: ignore[attr-defined]
            spent = []

    SGATClassifier(
        fast=True, epochs=given.epochs, patience=0, seed=0, device="cpu"
    ).fit(data, on_epoch=on_epoch)
    is_new = not RESULTS.exists()
    with RESULTS.open("a", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if is_new:
            writer.writerow(FIELDS.split(","))
        writer.writerows(rows)


if __name__ == "__main__":
    main()
