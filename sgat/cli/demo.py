"""`sgat demo`: a story on made tables, told by the commands that a user would type."""

import shlex
from enum import StrEnum
from pathlib import Path
from typing import Any

import typer

from sgat.cli import app, main


class StoryName(StrEnum):
    """The stories there are."""

    KARATE = "karate"
    CITATIONS = "citations"
    FRAUD = "fraud"


TOLD = {
    StoryName.KARATE: "34 members of a karate club, which split in two. Who goes with"
    " whom, and which friendships matter?",
    StoryName.CITATIONS: "600 papers with titles and dates; half have no topic, and"
    " every fourth citation is wrong. Which ones?",
    StoryName.FRAUD: "900 accounts that pay each other; 72 are fraud, in rings, and pay"
    " honest accounts to look like these.",
}
READ = {StoryName.CITATIONS: ["--text", "title"], StoryName.FRAUD: ["--standardise"]}
RARE = {StoryName.FRAUD: ["--metric", "average_precision", "--class-weights"]}
"""Options that a story needs, those of its tables and those of training."""


@app.command(epilog="Examples:\n\nsgat demo citations\n\nsgat demo fraud --out fraud")
def demo(
    name: StoryName = typer.Argument(
        help="karate: a club that split. citations: papers with wrong links."
        " fraud: rings of accounts that hide among others."
    ),
    out: Path | None = typer.Option(
        None, help="Folder for tables and results, new or empty. [demo/NAME]"
    ),
    seed: int = typer.Option(0, help="Of all that is drawn."),
) -> None:
    """Judge, train and report on a story, in a minute.

    The tables are made on this machine. Every command is shown before it runs, so that
    you can run it again on tables of your own.
    """
    folder = Path("demo") / name.value if out is None else out
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ValueError(f"`out` must be a new or empty folder, got {folder}.")
    folder.mkdir(parents=True, exist_ok=True)
    print(TOLD[name])
    run, fit = folder / "run", ["--epochs", "40", "--seed", seed]
    data: list[object] = ["karate"]
    if name != StoryName.KARATE:
        data = ["--edges", folder / "edges.csv", "--nodes", folder / "nodes.csv"]
        data += ["--label", "y", "--undirected", *READ[name]]
        wrong, judged = _write_tables(name, folder, seed), folder / "judged.csv"
        _run("judge", *data, "--seed", seed, "--out", judged)
        print(_compared(judged, wrong))
        data += [*RARE.get(name, []), "--fast"]
    _run("fit", *data, *fit, "--out", run)
    _run("report", run)
    print(f"\nOpen {run / 'report.html'} in a browser; all files are in {folder}.")


def _run(*words: object) -> None:
    """Show a command, and run it."""
    command = [str(word) for word in words]
    print(f"\n$ sgat {shlex.join(command)}", flush=True)
    if code := main(command):
        raise typer.Exit(code)


def _write_tables(name: StoryName, folder: Path, seed: int) -> Any:
    """Write the tables of a story; the wrong edges."""
    from sgat.data.synthetic.stories import STORIES

    story = STORIES[name.value](seed)
    for what, table in story._asdict().items():
        table.to_csv(folder / f"{what}.csv", index=False)
    print(
        f"Written to {folder}: {len(story.nodes):,} nodes, {len(story.edges):,} edges,"
        f" and in wrong.csv which {len(story.wrong):,} of them are wrong."
    )
    return story.wrong


def _compared(judged: Path, wrong: Any) -> str:
    """How many edges that look wrong are, and how many wrong ones were found."""
    import pandas as pd

    table = pd.read_csv(judged)
    gone = table[table["probability"] <= 0.5]
    found, share = len(gone.merge(wrong)), len(wrong) / len(table)
    return (
        f"\nThe judge has not seen wrong.csv. Of the {len(gone):,} edges that look"
        f" wrong, {found:,} are ({found / max(len(gone), 1):.0%}; of all edges"
        f" {share:.0%}). {len(wrong):,} edges are wrong."
    )
