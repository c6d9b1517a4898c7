"""The document of all experiments: every table with its command and circumstances."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from sgat_lab.trials.options import Options
from sgat_lab.trials.record import Record

PREFACE = """\
# Reproduction

Written by `sgat-lab run {names}{flags} --document {path}` from the records of
finished trainings (`docs/records`; with `--stored` nothing is trained again); nothing
here is typed by hand but the notes. Every training is one
record: settings, data, seed, scores, removed edges, time, device, date and commit
(`--records`). Test nodes are looked at once per training, with the model of the best
validation score. ± is the standard deviation over seeds.

Settings are in `sgat_lab/configs/methods`: `_common.toml` for a data set, a file per
method on top, and `_chosen.toml`, what `sgat-lab search` chose by validation with the
same space and budget for every method (`sgat_lab/experiments/search.py`), on top of
both. Where `_chosen.toml` has no entry, nothing was searched: such a row runs with the
settings of the other files.

The search trains with seeds that no table uses and looks at no test score; but where
nodes are split at random, nodes that chose a setting under those seeds are test nodes
under others, and the fixed splits overlap in the same way.

GCN-Jaccard also tries thresholds from 0.1 to 1 on the graphs of the robustness tables,
the best two with ten seeds. Settings of "SGAT, recommended" were searched with an
earlier judge of edges (up to commit dd8a059); the rows were trained with today's.
"""

WIDTH = 100
"""Characters of a line outside tables."""

QUICK = """\
**A quick look, no result:** one seed, few epochs, small graphs.
"""


class Section(NamedTuple):
    """One experiment of the document.

    Attributes:
        name: Name of the experiment.
        text: What it prints, in Markdown.
        records: The records it is made from.
        figure: Its picture, if there is one.
        notes: What to know about it: misses and their causes.
    """

    name: str
    text: str
    records: Sequence[Record]
    figure: Path | None
    notes: Sequence[str]


def render(
    sections: Sequence[Section], path: Path, options: Options | None = None
) -> str:
    """The whole document as Markdown.

    Args:
        sections: The experiments.
        path: Where it will be; figures are linked relative to it.
        options: With which they were run, for the commands; None for the defaults.
    """
    options = options or Options()
    flags = "".join(f" {flag}" for flag in options.flags)
    names = " ".join(section.name for section in sections)
    parts = [PREFACE.format(names=names, flags=flags, path=path.name)]
    if options.quick:
        parts.append(QUICK)
    for section in sections:
        lines = [section.text.rstrip(), ""]
        if section.figure is not None:
            link = os.path.relpath(section.figure, path.absolute().parent)
            lines += [f"![{section.name}]({Path(link).as_posix()})", ""]
        lines += [f"* {note}" for note in section.notes]
        lines += [f"* Command: `sgat-lab {section.name}{flags}`."]
        lines += [f"* {line}" for line in circumstances(section.records)]
        parts.append("\n".join(lines) + "\n")
    return "\n".join(_wrapped(line) for line in "\n".join(parts).split("\n"))


def _wrapped(line: str) -> str:
    """A line of Markdown in lines of `WIDTH`; tables, headings and pictures stay."""
    if len(line) <= WIDTH or line.startswith(("|", "#", "!")):
        return line
    return textwrap.fill(
        line,
        WIDTH,
        subsequent_indent="  " if line.startswith("* ") else "",
        break_long_words=False,
        break_on_hyphens=False,
    )


def circumstances(records: Sequence[Record]) -> list[str]:
    """Seeds, devices, dates and commits of records, a sentence each."""
    if not records:
        return []
    seeds = sorted({record.seed for record in records})
    dates = sorted({record.date[:10] for record in records})
    return [
        f"{len(records)} trainings, seeds {_span(seeds)},"
        f" {sum(record.seconds for record in records) / 60:.0f} minutes of training in"
        " all.",
        f"Device: {_list(record.device for record in records)}.",
        f"Date: {_span(dates)}; commits: {_list(r.commit or '?' for r in records)}.",
    ]


def _span(values: Sequence[object]) -> str:
    return f"{values[0]}" if len(values) == 1 else f"{values[0]} to {values[-1]}"


def _list(values: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(values))
