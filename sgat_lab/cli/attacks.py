"""`sgat-lab attacks`: the judge and accuracy on graphs with wrong edges."""

from __future__ import annotations

import sys
from pathlib import Path

import typer

from sgat.cli.options import DATA_ROOT, JSON, QUIET, comma_list
from sgat.cli.progress import counting
from sgat_lab.cli import app
from sgat_lab.cli.progress import trainings_progress
from sgat_lab.cli.stored_rows import (
    DEVICE,
    MARKDOWN,
    RUNS,
    SEED,
    STORED,
    check_known,
    show,
)

GRAPHS = ["cora", "attacked-cora", "attacked-citeseer"]
JUDGE_CASE = ("graph", "kind", "rate", "labels", "seed")
ACCURACY_CASE = ("graph", "rate", "row", "seed")
OURSELVES_CASE = ("graph", "kind", "rate", "seed")

attacks = typer.Typer(no_args_is_help=True, help="Graphs with wrong edges.")
app.add_typer(attacks, name="attacks")


@attacks.command(
    epilog="Examples:\n\nsgat-lab attacks judge cora acm\n\n"
    "sgat-lab attacks judge attacked-cora --kinds metattack --no-labels"
)
def judge(
    graphs: list[str] = typer.Argument(
        None,
        help="Named data sets, files of More, attacked-NAME for files of Attacked, and"
        f" paths to such files \\[{' '.join(GRAPHS)}].",
    ),
    kinds: str = typer.Option("", help="Kinds of wrong edges, with commas \\[all]."),
    rates: str = typer.Option("", help="Rates of wrong edges, with commas \\[all]."),
    labels: bool = typer.Option(True, help="Let the judge see the training labels."),
    auto_encoder: bool = typer.Option(
        False, "--auto-encoder", help="Train a graph auto-encoder to compare with."
    ),
    bars: bool = typer.Option(
        False, "--bars", help="Print in how many cases it does as well as it should."
    ),
    runs: int = RUNS,
    seed: int = SEED,
    csv: Path = typer.Option(
        Path("records/attacks_judge.csv"), help="File to which each case is appended."
    ),
    stored: bool = STORED,
    data_root: Path | None = DATA_ROOT,
    as_json: bool = JSON,
    markdown: bool = MARKDOWN,
    quiet: bool = QUIET,
) -> None:
    """Judge graphs with wrong edges, and compare the verdict with the truth.

    Edges are added to named graphs and to those of More at random, between classes and
    to hubs. Those of Attacked hold metattack's own. AUCs of cosine, Adamic-Adar and
    Jaccard alone stand beside the judge's, with `--auto-encoder` that of a graph
    auto-encoder, too: its column needs a file of its own. "right at 0.1" is the share
    of right edges among those removed when at most 0.1 is promised.
    """
    with counting("starting", quiet=quiet):
        from sgat_lab.attacks import bars as within_bars
        from sgat_lab.attacks import rows, verdicts
        from sgat_lab.attacks.graphs import (
            ALL_KINDS,
            ATTACK_RATES,
            CLEAN,
            KINDS,
            METATTACK,
            RATES,
            has_kind,
            noisy_graph,
            shown_name,
        )

    root = None if data_root is None else str(data_root)
    wanted = comma_list(kinds) or KINDS
    check_known(
        (part for kind in wanted for part in kind.split("+")), ALL_KINDS, "kinds"
    )
    given = _numbers(rates)
    cases = [
        (name, kind, rate, number)
        for name in graphs or GRAPHS
        for kind in wanted
        if has_kind(name, kind)
        for rate in _rates(kind, given, {CLEAN: (0.0,), METATTACK: ATTACK_RATES}, RATES)
        for number in range(seed, seed + runs)
    ]
    found = rows.read(csv, JUDGE_CASE) if stored else []
    for done, (name, kind, rate, number) in enumerate([] if stored else cases):
        if not quiet:
            shown = f"{name}, {kind} {rate:g}, seed {number}"
            print(f"judge: {done + 1} of {len(cases)}: {shown}", file=sys.stderr)
        graph = noisy_graph(name, kind, rate, seed=number, root=root)
        case = (shown_name(name), kind, rate, "yes" if labels else "no", number)
        row = dict(zip(JUDGE_CASE, case, strict=True))
        row |= verdicts.measure(
            graph, labels=labels, with_auto_encoder=auto_encoder, seed=number
        )
        row |= rows.circumstances("cpu")
        rows.append(csv, row)
        found.append(row)
    text = within_bars.text if bars else verdicts.text
    show(found, text, as_json, markdown)


@attacks.command(
    epilog="Examples:\n\nsgat-lab attacks accuracy cora --rates 0.25\n\n"
    "sgat-lab attacks accuracy --runs 10 --markdown"
)
def accuracy(
    graphs: list[str] = typer.Argument(None, help="cora, citeseer \\[both]."),
    only: str = typer.Option("", help="Methods: sgat, gcn, gcn-jaccard, … \\[all]."),
    rates: str = typer.Option("", help="Rates of the attack, 0 included \\[all]."),
    runs: int = RUNS,
    seed: int = SEED,
    device: str = DEVICE,
    csv: Path = typer.Option(
        Path("records/attacks_accuracy.csv"),
        help="File to which each training is appended.",
    ),
    stored: bool = STORED,
    data_root: Path | None = DATA_ROOT,
    as_json: bool = JSON,
    markdown: bool = MARKDOWN,
    quiet: bool = QUIET,
) -> None:
    """Train on graphs under metattack, and print accuracies beside published ones.

    Pro-GNN's protocol: the largest component, its split, its attacked graphs. Trains
    `SGATClassifier()` with nothing chosen, and the methods of `robustness`.
    """
    with counting("starting", quiet=quiet):
        from sgat.training.loop import chosen_device
        from sgat_lab.attacks import accuracy as measured
        from sgat_lab.attacks import rows

    root = None if data_root is None else str(data_root)
    names, methods = graphs or list(measured.DATA), comma_list(only) or measured.ROWS
    check_known(names, tuple(measured.DATA), "graphs")
    check_known(methods, measured.ROWS, "only")
    place = str(chosen_device(device))
    cases = [
        (name, rate, method, number)
        for name in names
        for rate in _numbers(rates) or measured.RATES
        for method in methods
        for number in range(seed, seed + runs)
    ]
    found = rows.read(csv, ACCURACY_CASE) if stored else []
    if not stored:
        with trainings_progress("attacks", quiet=quiet) as progress:
            for done, (name, rate, method, number) in enumerate(cases, 1):
                case = (name, rate, method, number)
                row = dict(zip(ACCURACY_CASE, case, strict=True))
                row |= measured.score(
                    method, name, rate, number, root=root, device=place
                )
                row |= rows.circumstances(place)
                rows.append(csv, row)
                found.append(row)
                if progress is not None:
                    progress(done, len(cases))
    show(found, measured.text, as_json, markdown)


@attacks.command(
    epilog="Examples:\n\nsgat-lab attacks ourselves cora --rates 0.1\n\n"
    "sgat-lab attacks ourselves --runs 5 --markdown"
)
def ourselves(
    graphs: list[str] = typer.Argument(None, help="cora, citeseer \\[both]."),
    rates: str = typer.Option(
        "", help="Edges to add, as shares of those there are \\[0.05,0.1,0.25]."
    ),
    runs: int = RUNS,
    seed: int = SEED,
    csv: Path = typer.Option(
        Path("records/attacks_ourselves.csv"),
        help="File to which each case is appended.",
    ),
    stored: bool = STORED,
    data_root: Path | None = DATA_ROOT,
    as_json: bool = JSON,
    markdown: bool = MARKDOWN,
    quiet: bool = QUIET,
) -> None:
    """Attack `SGATClassifier()` by edges that the judge takes for real.

    The attacker knows the judge, the classifier and all classes. Beside its edges stand
    none, those of metattack where the file has the rate, and as many between classes
    at random. The first seed makes the attack; every seed trains. Runs on the CPU.
    """
    with counting("starting", quiet=quiet):
        from sgat_lab.attacks import cost, rows
        from sgat_lab.attacks.accuracy import DATA

    root = None if data_root is None else str(data_root)
    names, wanted = graphs or list(DATA), _numbers(rates) or cost.RATES
    check_known(names, tuple(DATA), "graphs")
    if not all(wanted):
        raise ValueError(f"`rates` must be above 0, got {rates!r}.")
    cases = [
        (name, kind, rate)
        for name in names
        for kind, rate in cost.cases(name, wanted, root)
    ]
    found = rows.read(csv, OURSELVES_CASE) if stored else []
    for done, (name, kind, rate) in enumerate([] if stored else cases):
        if not quiet:
            shown = f"{done + 1} of {len(cases)}: {name}, {kind} {rate:g}"
            print(f"ourselves: {shown}", file=sys.stderr)
        graph = cost.attacked_graph(name, kind, rate, seed=seed, root=root)
        for number in range(seed, seed + runs):
            case = (name, kind, rate, number)
            row = dict(zip(OURSELVES_CASE, case, strict=True))
            row |= cost.measure(graph, name, seed=number)
            row |= rows.circumstances("cpu")
            rows.append(csv, row)
            found.append(row)
    show(found, cost.text, as_json, markdown)


def _rates(
    kind: str,
    given: tuple[float, ...],
    own: dict[str, tuple[float, ...]],
    usual: tuple[float, ...],
) -> tuple[float, ...]:
    """Rates of a kind: those given, unless it has none."""
    known = own.get(kind, usual)
    return given if given and known != (0.0,) else known


def _numbers(text: str) -> tuple[float, ...]:
    try:
        found = tuple(float(part) for part in comma_list(text))
    except ValueError:
        raise ValueError(
            f"`rates` must be numbers with commas, got {text!r}."
        ) from None
    if not all(0 <= rate < float("inf") for rate in found):
        raise ValueError(f"`rates` must be 0 or more, got {text!r}.")
    return found
