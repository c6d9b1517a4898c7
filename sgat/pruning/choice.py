"""Choice: which edges of a graph in memory stay, and why."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sgat.gates import Gates, HardConcrete
from sgat.graph import Graph
from sgat.pruning.forest import spanning_forest
from sgat.pruning.rules import Combination, Reason, Rules, too_many_guaranteed
from sgat.scored import EdgeScores

Array = np.ndarray[Any, Any]


@dataclasses.dataclass(frozen=True, eq=False)
class Choice:
    """The edges that stay.

    Attributes:
        kept: Whether an edge stays, [E] bool.
        reason: Why, a `Reason` for each edge, [E] uint8. `SCORE` means that the score
            alone would keep it, without any guarantee; the others name the guarantee
            that an edge owes its place to.
        score: The score that decided, of both directions if symmetric, [E].
        threshold: The log α above which gates are open, see `chosen_scores`.
        notes: One sentence each for the user.
    """

    kept: Array
    reason: Array
    score: Array
    threshold: float
    notes: tuple[str, ...] = ()

    def count(self) -> dict[str, int]:
        """Number of edges for each reason that occurs."""
        number = np.bincount(self.reason, minlength=len(Reason))
        return {why.label: int(number[why]) for why in Reason if number[why]}


def choose_edges(
    log_alpha: Array,
    graph: Graph,
    rules: Rules = Rules(),
    *,
    protected: Array | None = None,
    threshold: float = HardConcrete().threshold,
) -> Choice:
    """Choose the edges that stay.

    Of edges with equal scores the earlier is better; a pair stands where its earlier
    edge stands.

    Args:
        log_alpha: Scores, [E].
        graph: The edges, on the CPU.
        rules: The rules.
        protected: Edges that are never removed, [E] bool.
        threshold: The model's own threshold, for rules that name none.
    """
    score = np.asarray(log_alpha)
    place, twin = np.arange(len(score)), None
    if rules.symmetric is not None:
        reverse = graph.find(graph.dst, graph.src).numpy()
        twin = np.where(reverse < 0, place, reverse)
        score = combined(score, score[twin], rules.symmetric)
        place = np.minimum(place, twin)
    code = np.zeros(len(score), dtype=np.uint8)
    guarantees = {} if protected is None else {Reason.PROTECTED: protected}
    if rules.min_degree:
        best = _best_in_edges(score, place, graph, rules.min_degree)
        guarantees[Reason.MIN_DEGREE] = best
    if rules.keep_connected:
        guarantees[Reason.CONNECTED] = _forest(score, place, graph)
    for reason, mask in guarantees.items():
        mask = mask if twin is None else mask | mask[twin]
        code[mask & (code == 0)] = reason
    notes: tuple[str, ...] = ()
    if rules.keep is None:
        limit = threshold if rules.threshold is None else rules.threshold
        by_score = score > np.asarray(limit, score.dtype)
        moved = rules.gate_threshold(threshold)
        kept = by_score | (code > 0)
    else:
        wanted = round(rules.keep * len(score))
        by_score = _best(score, place, wanted)
        moved = rules.gate_threshold(
            threshold,
            float(score[by_score].min()) if by_score.any() else None,
            float(score[~by_score].max()) if not by_score.all() else None,
        )
        guaranteed = int((code > 0).sum())
        free = np.flatnonzero(code == 0)
        kept = code > 0
        kept[free] = _best(score[free], place[free], max(wanted - guaranteed, 0))
        if guaranteed > wanted:
            notes = (too_many_guaranteed(guaranteed, wanted, rules.keep),)
    why = np.where(kept, np.where(by_score, Reason.SCORE, code), Reason.REMOVED)
    return Choice(kept, why.astype(np.uint8), score, moved, notes)


def chosen_scores(choice: Choice, graph: Graph, gates: Gates) -> EdgeScores:
    """The scores of the edges under a choice, with the gates they are kept with.

    Where the rules keep fewer edges than the model, these have the gates of the model.
    Where `keep` or `threshold` keep more, the threshold τ of the model moves down to
    the cut c < τ: an edge has the gate of log α + τ - c, as if the gate bias were
    moved, as in training with `keep`. For `keep` the cut is halfway between the scores
    that are kept and those that are not.

    An edge that a guarantee keeps below that would have gate 0 and send nothing; it has
    the gate before stretching and clamping, σ((log α + τ - c) / β), which is positive
    and at most -γ / (ζ - γ), 1/12 by default (1/2 for binary gates). Removed edges have
    gate 0. The probability stays the model's own.
    """
    kept, log_alpha = torch.from_numpy(choice.kept), torch.from_numpy(choice.score)
    gate = torch.where(kept, kept_gates(log_alpha, choice.threshold, gates), 0)
    return EdgeScores.from_gates(log_alpha, gate, kept, graph, gates)


def kept_gates(log_alpha: Tensor, threshold: float, gates: Gates) -> Tensor:
    """The gate of each edge if it is kept, [E]; see `chosen_scores`."""
    # In float64, so that no gate above it rounds to 0.
    moved = log_alpha.double() + (gates.threshold - threshold)
    value = gates.value(moved)
    relaxed = torch.sigmoid(moved / gates.temperature)
    gate = torch.where(value > 0, value, relaxed).to(log_alpha)
    # Scores far below the cut would be 0 again in single precision.
    return gate.clamp(min=torch.finfo(gate.dtype).tiny)


def combined(one: Array, other: Array, how: Combination) -> Array:
    """The score of both directions of an edge, [E]."""
    if how == "mean":
        return np.asarray((one + other) / np.asarray(2, one.dtype))
    return np.asarray((np.maximum if how == "max" else np.minimum)(one, other))


def _best(score: Array, place: Array, number: int) -> Array:
    """Mark so many edges of the highest scores, [E]; equal places go together."""
    order = np.lexsort((place, -score))
    kept = np.zeros(len(score), dtype=bool)
    while 0 < number < len(order) and place[order[number]] == place[order[number - 1]]:
        number -= 1
    kept[order[:number]] = True
    return kept


def _best_in_edges(score: Array, place: Array, graph: Graph, degree: int) -> Array:
    """Mark the best `degree` edges into every node, [E]."""
    dst, start = graph.dst.numpy(), graph.row_ptr.numpy()
    order = np.lexsort((place, -score, dst))
    mask = np.zeros(len(order), dtype=bool)
    mask[order[np.arange(len(order)) - start[dst] < degree]] = True
    return mask


def _forest(score: Array, place: Array, graph: Graph) -> Array:
    """Mark the edges of the maximum spanning forest, [E]."""
    edges = (graph.src.numpy(), graph.dst.numpy(), score, place)
    mask = np.zeros(len(score), dtype=bool)
    mask[spanning_forest(graph.num_nodes, lambda: [edges])] = True
    return mask
