"""Use many made files, and append how many there were and what came of them.

python -m benchmarks.fuzz --cases 100000 [--what file] [--first 0] [--seconds 1200]

`file` reads tables, graphs, settings and splits, `folder` runs the verbs on damaged run
folders and checkpoints, and `table` prunes judged tables. A case that ends in neither a
result nor a sentence, takes over 10 s of processor time or over 1 GiB is printed with
its seed, by which `tests/support/made_files.py` or `made_runs.py` makes it again.
"""

import argparse
import collections
import csv
import logging
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "fuzz.csv"


def main() -> None:
    sys.path.insert(0, str(ROOT / "tests"))
    from support import made_files, made_runs

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--what", choices=("file", "folder", "table"), default="file")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--seconds", type=float, default=float("inf"))
    given = parser.parse_args()
    logging.disable()
    found: collections.Counter[str] = collections.Counter()
    start, seed = time.process_time(), given.first
    with tempfile.TemporaryDirectory() as place:
        folder, trained = Path(place) / "used", Path(place) / "trained"
        folder.mkdir()
        trained.mkdir()
        if given.what == "folder":
            made_runs.train(trained)
        while seed < given.first + given.cases:
            if time.process_time() - start > given.seconds:
                break
            try:
                if given.what == "file":
                    outcome = made_files.run(seed, folder)
                else:
                    outcome = made_runs.run(given.what, seed, folder, trained)
                found[outcome.partition(": ")[2].replace("ok", "read")] += 1
            except Exception as error:
                found["broken"] += 1
                print(f"seed {seed}: {type(error).__name__}: {error}", flush=True)
                print(*getattr(error, "__notes__", []), flush=True)
            seed += 1
    row = {
        "what": given.what,
        "first": given.first,
        "cases": seed - given.first,
        "read": found["read"],
        "refused": found["refused"],
        "broken": found["broken"],
        "processor_seconds": round(time.process_time() - start),
        "python": sys.version.split()[0],
        "date": time.strftime("%Y-%m-%d"),
    }
    is_new = not RESULTS.exists()
    with RESULTS.open("a", newline="") as file:
        writer = csv.DictWriter(file, row)
        if is_new:
            writer.writeheader()
        writer.writerow(row)
    print(row)


if __name__ == "__main__":
    main()
