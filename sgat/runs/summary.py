"""Summary: the numbers of a run in summary.json, their types, and where they come from.

A folder may be a stranger's, so all that is read of it is checked against these types.
"""

from typing import Any, NotRequired, TypedDict

from sgat.config.checked import Finite, Seed, Share, Size
from sgat.runs.folder import RunFolder
from sgat.training.files import parsed, read_json
from sgat.training.metrics import TITLES
from sgat.training.result import Trial


class ChosenNames(TypedDict):
    """The candidates that were taken, and why."""

    names: list[str]
    why: str


class Summary(TypedDict):
    """The numbers of a run; besides them, the test score has the name in `metric`."""

    data: str
    metric: str
    validation: Finite | None
    training: Finite | None
    test_nodes: Size
    test_scores: dict[str, Finite | None] | None
    nodes: Size
    edges: Size
    edges_removed: Size
    removed_share: Share
    removed_share_sampled: Finite
    mean_gate: Finite | None
    threshold: Finite
    odds_line: tuple[Finite, Finite]
    reach: Size
    undirected_rows: bool
    rows: NotRequired[Size]
    rows_removed: NotRequired[Size]
    edges_with_loops: Size
    noise_share: Finite | None
    keep: Share | None
    l0_weight: Finite | None
    chosen: ChosenNames | None
    tried: list[Trial]
    epochs: Size
    best_epoch: Size
    seed: Seed
    seconds: Finite
    device: str
    date: str
    data_sha256: str
    versions: dict[str, str]
    files_sha256: NotRequired[dict[str, str]]
    run: str


def read_summary(folder: RunFolder) -> dict[str, Any]:
    """The numbers of a finished run; an error if they are not what a run writes."""
    path = folder.summary
    found: dict[str, Any] = read_json(path, Summary)
    name = found["metric"]
    if name not in TITLES or name not in found:
        raise ValueError(f"{path} is damaged: it has no score of the name {name!r}.")
    if ("rows" in found) != ("rows_removed" in found):
        raise ValueError(f"{path} is damaged: it has one of rows and rows_removed.")
    parsed(found[name], Finite | None, path)
    return found
