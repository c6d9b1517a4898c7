"""`sgat-lab unseen`: our classifier with nothing chosen, beside searched ones."""

from __future__ import annotations

from pathlib import Path

import typer

from sgat.cli.options import DATA_ROOT, JSON, QUIET, comma_list
from sgat.cli.progress import counting
from sgat_lab.cli import app
from sgat_lab.cli.progress import trainings_progress
from sgat_lab.cli.stored_rows import (
    CAPTURE,
    DEVICE,
    MARKDOWN,
    MISSING,
    SEED,
    SHARD,
    STORED,
    check_known,
    show,
)


@app.command(
    epilog="Examples:\n\nsgat-lab unseen texas cornell --runs 2\n\n"
    "sgat-lab unseen --shard 3/12 --judged records/judged --device cuda"
)
def unseen(
    graphs: list[str] = typer.Argument(
        None, help="Named data sets and files of More \\[the fourteen]."
    ),
    noise: str = typer.Option("", help="clean, cross-class, with commas \\[both]."),
    methods: str = typer.Option(
        "", help="Methods or kinds: gcn, gat-strong-judged, sgat, … \\[all]."
    ),
    runs: int = typer.Option(10, min=1, help="Number of seeds."),
    seed_start: int = SEED,
    epochs: int = typer.Option(300, min=1, help="Epochs of a peer's training at most."),
    device: str = DEVICE,
    shard: str = SHARD,
    judged: Path | None = typer.Option(
        None, help="Folder in which processes share the verdicts of the judge."
    ),
    only_judge: bool = typer.Option(
        False, "--only-judge", help="Train nothing; fill the folder of `--judged`."
    ),
    csv: Path = typer.Option(
        Path("records/unseen.csv"), help="File to which each training is appended."
    ),
    stored: bool = STORED,
    missing: bool = MISSING,
    capture: bool = CAPTURE,
    data_root: Path | None = DATA_ROOT,
    as_json: bool = JSON,
    markdown: bool = MARKDOWN,
    quiet: bool = QUIET,
) -> None:
    """Compare classifiers on many graphs, clean and with as many wrong edges again.

    Six peers, each plain and strong, on all edges and on those that our judge keeps,
    and `SGATClassifier()` with nothing chosen. A peer's setting is searched by
    validation, at the cost of six trainings. Test nodes are looked at once.
    """
    with counting("starting", quiet=quiet):
        from sgat.training.loop import chosen_device
        from sgat_lab.attacks import rows
        from sgat_lab.unseen import cases, table, work
        from sgat_lab.unseen.methods import choose_methods

    wanted = comma_list(noise) or cases.NOISE
    check_known(wanted, cases.NOISE, "noise")
    chosen, part = choose_methods(comma_list(methods)), work.parse_shard(shard)
    if only_judge and judged is None:
        raise ValueError("`only_judge` needs a folder, `judged`.")
    found = rows.read(csv, work.CASE) if (stored or missing) and csv.exists() else []
    if stored and not found:
        raise ValueError(f"`csv` must be a file with rows, got {csv}.")
    names = cases.case_names(graphs or list(cases.GRAPHS), list(wanted))
    seeds = range(seed_start, seed_start + runs)
    todo = work.pieces(names, chosen, seeds)
    place = str(chosen_device("cpu" if only_judge or stored else device))
    root = None if data_root is None else str(data_root)
    source = cases.Cases(root=root, device=place, folder=judged)
    if only_judge:
        for name, number in work.verdicts_needed(todo)[part[0] - 1 :: part[1]]:
            source.kept(name, number)
        return
    mine = [] if stored else work.shard_of(todo, *part)
    # Shards are dealt first: the file grows while others read it.
    mine = work.without(mine, found) if missing else mine
    total, done = sum(len(piece.seeds) for piece in mine), 0
    about = rows.circumstances(place)
    worker = work.Worker(source, device=place, epochs=epochs, capture=capture)
    with trainings_progress("unseen", quiet=quiet or stored) as progress:
        for piece in mine:
            for row in worker.rows(piece):
                row |= about
                rows.append(csv, row)
                found.append(row)
                done += 1
                if progress is not None:
                    progress(done, total)
    show(found, table.text, as_json, markdown)
