"""Notes: what a user should know of a run without having asked, a sentence each."""

from typing import Any

from sgat.config import ModelConfig

MOST_MISSED = 0.02
"""Difference of the kept share from the one asked for that is not worth a word."""
LEAST_GATE = 0.25
"""Mean gate of the kept edges below which a note says that they are nearly closed."""


def readout_note(asked: ModelConfig, made: ModelConfig) -> tuple[str, ...]:
    """A note that the model uses no edges."""
    if asked.readout != "auto" or made.layers > 0:
        return ()
    return (
        "edges say nothing about the classes of the nodes they join, so the model uses"
        " the features of each node alone; `readout` attention uses edges all the same",
    )


def kept_note(summary: dict[str, Any]) -> tuple[str, ...]:
    """A note that the share asked for was missed by more than one edge."""
    keep, edges = summary["keep"], summary["edges"]
    if keep is None or not edges:
        return ()
    kept = 1 - summary["removed_share"]
    if abs(kept - keep) <= max(MOST_MISSED, 1 / edges):
        return ()
    return (
        f"{kept:.1%} of the edges are kept, not {keep:.1%}: edges whose scores tie are"
        " kept or removed together",
    )


def weak_note(summary: dict[str, Any]) -> tuple[str, ...]:
    """A note that the gates of the kept edges are nearly closed."""
    keep, gate = summary["keep"], summary["mean_gate"]
    if keep is None or gate is None or gate >= LEAST_GATE:
        return ()
    return (
        f"the kept edges have a mean gate of {gate:.2f}, so their gates are nearly"
        " closed: their scores are close together; the choice of edges may be good all"
        " the same, so train on them again, or leave `keep` out",
    )
