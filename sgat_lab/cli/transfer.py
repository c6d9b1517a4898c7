"""`sgat-lab transfer`: classifiers from one Twitch country on each other."""

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
    epilog="Examples:\n\nsgat-lab transfer PTBR RU --methods gcn-strong,sgat\n\n"
    "sgat-lab transfer --runs 5 --markdown"
)
def transfer(
    countries: list[str] = typer.Argument(
        None, help="Countries, sources and targets \\[all seven]."
    ),
    methods: str = typer.Option(
        "", help="Methods: gcn-strong, sgat, sgat-pseudo, … \\[all]."
    ),
    runs: int = typer.Option(3, min=1, help="Number of seeds."),
    seed_start: int = SEED,
    epochs: int = typer.Option(300, min=1, help="Epochs of a peer's training at most."),
    device: str = DEVICE,
    shard: str = SHARD,
    csv: Path = typer.Option(
        Path("records/transfer.csv"), help="File to which each pair is appended."
    ),
    stored: bool = STORED,
    missing: bool = MISSING,
    capture: bool = CAPTURE,
    data_root: Path | None = DATA_ROOT,
    as_json: bool = JSON,
    markdown: bool = MARKDOWN,
    quiet: bool = QUIET,
) -> None:
    """Train on one Twitch country, and classify the others without their labels.

    MLP, GCN and GAT, plain and strong, against `SGATClassifier()`, whose judge looks
    at the target anew; `standard` standardises the features of each graph by itself,
    `pseudo` trains again with the surest predictions for the target.
    """
    with counting("starting", quiet=quiet):
        from sgat.data.catalogue import TWITCH_COUNTRIES
        from sgat.training.loop import chosen_device
        from sgat_lab.attacks import rows
        from sgat_lab.transfer import measure, table
        from sgat_lab.transfer.countries import Countries
        from sgat_lab.unseen.work import parse_shard

    names, chosen = countries or list(TWITCH_COUNTRIES), comma_list(methods)
    check_known(names, TWITCH_COUNTRIES, "countries")
    check_known(chosen, measure.METHODS, "methods")
    number, total = parse_shard(shard)
    found = rows.read(csv, measure.CASE) if (stored or missing) and csv.exists() else []
    if stored and not found:
        raise ValueError(f"`csv` must be a file with rows, got {csv}.")
    seeds = range(seed_start, seed_start + runs)
    todo = measure.legs(names, chosen or measure.METHODS, seeds)
    if not stored:
        place = str(chosen_device(device))
        root = None if data_root is None else str(data_root)
        worker = measure.Transfer(
            Countries(root=root), names, device=place, epochs=epochs, capture=capture
        )
        about = rows.circumstances(place)
        mine = todo[number - 1 :: total]
        # Shards are dealt first: the file grows while others read it.
        mine = measure.without(mine, names, found) if missing else mine
        with trainings_progress("transfer", quiet=quiet) as progress:
            for done, leg in enumerate(mine, 1):
                for row in worker.rows(leg):
                    row |= about
                    rows.append(csv, row)
                    found.append(row)
                if progress is not None:
                    progress(done, len(mine))
    show(found, table.text, as_json, markdown)
