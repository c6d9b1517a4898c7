"""Pruning: the rules by which edges stay, and the request of a user of `sgat prune`.

Tested by tests/pruning/test_choice.py and tests/cli/test_prune.py.
"""

import dataclasses
from pathlib import Path
from typing import Any, Literal

from sgat.config.checked import CountOrZero, Finite, Settings, ShareLeft

Combination = Literal["max", "min", "mean"]
Missing = Literal["refuse", "keep", "drop"]
EngineName = Literal["duckdb", "spark"]
MARGIN = 1e-3
"""Distance of the gate threshold below the lowest score where all edges are kept."""


@dataclasses.dataclass(frozen=True)
class Rules(Settings):
    """The edges that stay.

    The score decides first: the round(keep · E) edges with the highest scores stay, or
    the edges above `threshold`, or, without either, above the model's own threshold.

    `min_degree`, `keep_connected` and protected edges are guarantees: what they name
    stays whatever its score. With `keep`, guaranteed edges count towards the share and
    the rest is filled by score, so the share holds; if they alone are more than the
    share, all of them stay, nothing is filled, and a note says so.

    With `symmetric`, an edge without a reverse has its own score. A pair that does not
    fit into the share as a whole is left out, so `keep` may fall short by one edge.

    Attributes:
        keep: Share of the edges to keep, in (0, 1]: those with the highest scores.
        threshold: The log α above which an edge is kept, or the probability in a judged
            table. By default that of the model, or 0.5; not together with `keep`.
        symmetric: Both directions of an edge stay or go as one, by the max, min or mean
            of their scores.
        min_degree: Number of its best in-edges that every node keeps, or all it has.
        keep_connected: Keep a maximum spanning forest of the scores, edges taken
            without direction, so that the number of components is unchanged.
    """

    keep: ShareLeft | None = None
    threshold: Finite | None = None
    symmetric: Combination | None = None
    min_degree: CountOrZero = 0
    keep_connected: bool = False

    def __post_init__(self) -> None:
        """Refuse values that mean nothing, and rules that contradict each other."""
        super().__post_init__()
        if self.keep is not None and self.threshold is not None:
            raise ValueError(
                f"`keep` and `threshold` exclude each other, got {self.keep} and"
                f" {self.threshold}."
            )

    def gate_threshold(
        self,
        threshold: float,
        lowest_kept: float | None = None,
        highest_removed: float | None = None,
    ) -> float:
        """The log α above which gates are open: the model's own, or the cut if lower.

        Rules that keep more edges than the model move its threshold down, so that every
        edge that the score keeps sends messages. Rules that keep fewer leave the gates
        of the kept edges as they are. `lowest_kept` is the lowest score among the
        round(keep · E) best, `highest_removed` the highest among the others.
        """
        if self.threshold is not None:
            return min(self.threshold, threshold)
        if self.keep is None or lowest_kept is None:
            return threshold
        if highest_removed is None:
            return min(threshold, lowest_kept - MARGIN)
        return min(threshold, (lowest_kept + highest_removed) / 2)


@dataclasses.dataclass(frozen=True)
class PruneRequest(Settings):
    """The request of a user of `sgat prune`.

    Attributes:
        run: A finished run of `sgat fit`; without it the edges are a table of `sgat
            judge`.
        out: Table to write: .parquet, .csv, .tsv, .csv.gz or .csv.zst; without a suffix
            a folder of Parquet files.
        edges: Edge table: Parquet, CSV or TSV (.gz), or a folder of Parquet files. By
            default the edges of the run, with their stored scores. Without a run, a
            judged table, with the column probability.
        nodes: Features of other nodes, with the columns of the run's node file.
        undirected: Each row stands for both directions. By default as in the run.
        protect: Table of edges that are never removed.
        missing: Rows whose nodes have no score: refuse, keep or drop.
        scores: Add the columns log_alpha, probability and gate.
        overwrite: Replace the table at `out`.
        measure: Compare predictions and times on the full graph and the pruned one.
        engine: Database that does the work: duckdb or spark.
        memory: The most memory the engine may use.
        master: Spark master, such as local or spark://host:7077.
        root: Folder with the data sets. By default that of the run.
        files: Changes to the `FileOptions` of the run.
        rules: The edges that stay.
    """

    run: Path | None
    out: Path
    edges: Path | None = None
    nodes: Path | None = None
    undirected: bool | None = None
    protect: Path | None = None
    missing: Missing = "refuse"
    scores: bool = True
    overwrite: bool = False
    measure: bool = False
    engine: EngineName = "duckdb"
    memory: str = "2GB"
    master: str = "local[*]"
    root: str | None = None
    files: dict[str, Any] = dataclasses.field(default_factory=dict)
    rules: Rules = Rules()
