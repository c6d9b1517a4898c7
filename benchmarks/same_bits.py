"""Do two versions of the package give the same bits?

    python -m benchmarks.same_bits --package . --out here.json
    python -m benchmarks.same_bits --package ../other --out there.json
    python -m benchmarks.same_bits --compare there.json here.json

Runs each case in a process of its own, with the package of the folder given. Writes a
hash of every tensor of the model, of every column of the tables and of the metrics. A
tensor under another name with the same content is no difference. Needs the files of
`docs/datasets.md`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

SHORT = ["--epochs", "40"]
COMMANDS: dict[str, list[str]] = {
    "karate": ["karate"],
    "karate-default-keep": ["karate", "--keep", "0.3", "--seed", "1"],
    **{
        f"cora-{scorer}": ["cora", "--scorer", scorer, *SHORT]
        for scorer in (
            "additive",
            "cosine",
            "bilinear",
            "gatv2",
            "structure",
            "evidence",
        )
    },
    **{
        f"cora-{readout}": ["cora", "--readout", readout, *SHORT]
        for readout in ("linear", "attention", "diffusion", "beliefs")
    },
    "cora-recommended": ["cora", "--scorer", "auto", "--readout", "auto"],
    "cora-evidence-keep": ["cora", "--scorer", "auto", "--keep", "0.5", *SHORT],
    "cora-transductive": ["cora", "--gate-mode", "transductive", *SHORT],
    "cora-paper": ["cora", "--config", "paper/cora", *SHORT],
    "texas": ["texas", *SHORT],
    "texas-recommended": ["texas", "--scorer", "auto", "--readout", "auto", *SHORT],
    "citeseer-reference": ["citeseer", "--config", "BACKEND", "--epochs", "10"],
    "directed": [
        "--edges",
        "EDGES",
        "--nodes",
        "NODES",
        "--label",
        "y",
        "--weight",
        "w",
        *SHORT,
    ],
    "undirected": [
        *("--edges", "EDGES", "--nodes", "NODES", "--label", "y", "--undirected"),
        *("--keep", "0.6", *SHORT),
    ],
    "multilabel": ["--edges", "EDGES", "--nodes", "NODES", "--labels", "a,b,c", *SHORT],
    "inductive": [
        *("twitch", "--scorer", "additive", "--readout", "linear"),
        *("--epochs", "3", "--batch-size", "2"),
    ],
    "inductive-recommended": [
        "twitch",
        "--scorer",
        "auto",
        "--readout",
        "auto",
        "--epochs",
        "3",
    ],
}
BACKEND = (
    '[data]\nname = "citeseer"\n[model]\nbackend = "reference"\nscorer = "gatv2"\n'
    + 'readout = "linear"\n'
)


def write_files(folder: Path) -> dict[str, str]:
    """A directed, weighted graph with classes and labels, drawn from a fixed seed."""
    rng = np.random.default_rng(7)
    number, y = 300, np.repeat(np.arange(3), 100)
    src, dst = rng.integers(number, size=(2, 3000))
    keep = (y[src] == y[dst]) | (rng.random(3000) < 0.3)
    src, dst = src[keep], dst[keep]
    weight = rng.uniform(0.5, 2, len(src)).round(3)
    edges, nodes = folder / "edges.csv", folder / "nodes.csv"
    pd.DataFrame({"src": src, "dst": dst, "w": weight}).to_csv(edges, index=False)
    x = (
        rng.normal(size=(number, 6)) + y[:, None] * np.array([1, 0, 0.5, 0, 0, 0])
    ).round(4)
    labels = {name: (x[:, k] > 0.3).astype(int) for k, name in enumerate("abc")}
    table = {
        "id": np.arange(number),
        **{f"x{k}": x[:, k] for k in range(6)},
        "y": y,
        **labels,
    }
    pd.DataFrame(table).to_csv(nodes, index=False)
    config = folder / "backend.toml"
    config.write_text(BACKEND)
    return {"EDGES": str(edges), "NODES": str(nodes), "BACKEND": str(config)}


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def hashes(run: Path) -> dict[str, str]:
    from safetensors.numpy import load_file

    found = {}
    for name, tensor in load_file(run / "model.safetensors").items():
        found[f"weight {name}"] = digest(tensor.tobytes())
    for table in ("edges", "nodes"):
        frame = pd.read_parquet(run / f"{table}.parquet")
        for name, column in frame.items():
            values = column.to_numpy()
            content = (
                repr(values.tolist()).encode()
                if values.dtype == object
                else values.tobytes()
            )
            found[f"{table} {name}"] = digest(content)
    lines = [
        json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()
    ]
    for line in lines:
        line.pop("seconds")
    found["metrics"] = digest(json.dumps(lines).encode())
    summary = json.loads((run / "summary.json").read_text())
    for name in ("accuracy", "micro_f1", "validation", "edges_removed", "noise_share"):
        if name in summary:
            found[f"summary {name}"] = repr(summary[name])
    return found


def run_all(package: Path, only: list[str]) -> dict[str, dict[str, str]]:
    results = {}
    environment = {**os.environ, "PYTHONPATH": str(package.resolve())}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        places = write_files(folder)
        for case, arguments in COMMANDS.items():
            if only and case not in only:
                continue
            words = [places.get(word, word) for word in arguments]
            out = folder / case
            command = [
                sys.executable,
                "-m",
                "sgat",
                "fit",
                *words,
                "--out",
                str(out),
                "--quiet",
            ]
            subprocess.run(
                command,
                check=True,
                env=environment,
                cwd=folder,
                stdout=subprocess.DEVNULL,
            )
            results[case] = hashes(out)
            print(case, len(results[case]), "hashes", file=sys.stderr)
            smaller = folder / f"{case}.parquet"
            prune = [
                sys.executable,
                "-m",
                "sgat",
                "prune",
                str(out),
                "--out",
                str(smaller),
            ]
            done = subprocess.run(
                prune, env=environment, cwd=folder, capture_output=True, text=True
            )
            if not done.returncode:
                for name, column in pd.read_parquet(smaller).items():
                    results[case][f"pruned {name}"] = digest(
                        repr(column.tolist()).encode()
                    )
    return results


def compare(before: Path, after: Path) -> int:
    old, new = (json.loads(path.read_text()) for path in (before, after))
    differences = 0
    for case in sorted(old.keys() | new.keys()):
        if case not in old or case not in new:
            print(f"{case}: only in {'the second' if case in new else 'the first'}")
            differences += 1
            continue
        a, b = old[case], new[case]
        gone = {k: v for k, v in a.items() if b.get(k) != v}
        come = {k: v for k, v in b.items() if a.get(k) != v}
        # A tensor or column of another name with the same content.
        for key, value in list(gone.items()):
            twin = next((k for k, v in come.items() if v == value and k not in a), None)
            if twin is not None and key not in b:
                print(f"{case}: {key} is now {twin}")
                del gone[key], come[twin]
        for key in sorted(gone.keys() | come.keys()):
            print(f"{case}: {key}: {a.get(key)} -> {b.get(key)}")
            differences += 1
    print(f"{len(old)} cases, {differences} differences")
    return int(differences > 0)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--package", type=Path)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--compare", nargs=2, type=Path)
    options = parser.parse_args()
    if options.compare:
        return compare(*options.compare)
    results = run_all(options.package, [c for c in options.only.split(",") if c])
    options.out.write_text(json.dumps(results, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
