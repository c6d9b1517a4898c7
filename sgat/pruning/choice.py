"""Choice: which edges of a graph in memory stay, and why."""

import dataclasses
import enum
import logging
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sgat.config.pruning import Combination, Rules
from sgat.data.node_data import NodeData
from sgat.gates import Gates, HardConcrete
from sgat.graph import Graph
from sgat.pruning.forest import spanning_forest
from sgat.scored import EdgeScores

logger = logging.getLogger(__name__)
Array = np.ndarray[Any, Any]


class Reason(enum.IntEnum):
    """Why an edge was kept or removed; of several reasons the lowest but 0."""

    REMOVED = 0
    SCORE = 1
    PROTECTED = 2
    MIN_DEGREE = 3
    CONNECTED = 4
    LOOP = 5
    MISSING = 6

    @property
    def label(self) -> str:
        """The reason as it is shown: `min-degree`."""
        return self.name.lower().replace("_", "-")


@dataclasses.dataclass(frozen=True, eq=False)
class Choice:
    """The edges that stay.

    The reason `SCORE` means that the score alone would keep an edge, without any
    guarantee; the others name the guarantee that an edge owes its place to.
    """

    kept: Array  # whether an edge stays, [E] bool
    reason: Array  # why, a `Reason` for each edge, [E] uint8
    score: Array  # that decided, of both directions if symmetric, [E]
    threshold: float  # log α above which gates are open, see `chosen_scores`
    notes: tuple[str, ...] = ()  # one sentence each for the user

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
    """Choose the edges that stay, of a graph on the CPU, by their scores, [E].

    Of edges with equal scores the earlier is better; a pair stands where its earlier
    edge stands. Edges that are `protected`, [E] bool, are never removed. `threshold` is
    the model's own, for rules that name none.
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
        edges = (graph.src.numpy(), graph.dst.numpy(), score, place)
        forest = spanning_forest(graph.num_nodes, lambda: [edges])
        guarantees[Reason.CONNECTED] = forest
    for reason, chosen in guarantees.items():
        mask = np.zeros(len(score), dtype=bool)
        mask[chosen] = True
        mask |= mask if twin is None else mask[twin]
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
        lowest = float(score[by_score].min()) if by_score.any() else None
        highest = float(score[~by_score].max()) if not by_score.all() else None
        moved = rules.gate_threshold(threshold, lowest, highest)
        guaranteed = int((code > 0).sum())
        free = np.flatnonzero(code == 0)
        kept = code > 0
        kept[free] = _best(score[free], place[free], max(wanted - guaranteed, 0))
        if guaranteed > wanted:
            notes = (too_many_guaranteed(guaranteed, wanted, rules.keep),)
    why = np.where(kept, np.where(by_score, Reason.SCORE, code), Reason.REMOVED)
    return Choice(kept, why.astype(np.uint8), score, moved, notes)


def too_many_guaranteed(guaranteed: int, wanted: int, keep: float) -> str:
    """The note that guarantees alone are more than the share to keep."""
    return (
        f"the rules guarantee {guaranteed:,} edges, more than the {wanted:,} of a"
        f" share of {keep:g}; all of those stay, and no others"
    )


def chosen_scores(choice: Choice, graph: Graph, gates: Gates) -> EdgeScores:
    """The scores of the edges under a choice, with the gates they are kept with.

    Where the rules keep fewer edges than the model, these have the gates of the model.
    Where `keep` or `threshold` keep more, the threshold τ of the model moves down to
    the cut c < τ: an edge has the gate of log α + τ - c, as if the gate bias were
    moved, as in training with `keep`. For `keep` the cut is halfway between the scores
    that are kept and those that are not.

    An edge that a guarantee keeps below that would have gate 0 and send nothing; it has
    the gate before stretching and clamping, σ((log α + τ - c) / β), which is positive
    and at most -γ / (ζ - γ), 1/12 by default. Removed edges have gate 0. The
    probability stays the model's own.
    """
    kept, log_alpha = torch.from_numpy(choice.kept), torch.from_numpy(choice.score)
    # In float64, so that no gate above the cut rounds to 0.
    moved = log_alpha.double() + (gates.threshold - choice.threshold)
    value, relaxed = gates.value(moved), torch.sigmoid(moved / gates.temperature)
    gate = torch.where(value > 0, value, relaxed).to(log_alpha)
    # Scores far below the cut would be 0 again in single precision.
    gate = torch.where(kept, gate.clamp(min=torch.finfo(gate.dtype).tiny), 0)
    return EdgeScores.from_gates(log_alpha, gate, kept, graph, gates)


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
    """Numbers of the best `degree` edges into every node."""
    dst, start = graph.dst.numpy(), graph.row_ptr.numpy()
    order = np.lexsort((place, -score, dst))
    return np.asarray(order[np.arange(len(order)) - start[dst] < degree])


def apply_rules(
    rules: Rules,
    graphs: Sequence[NodeData],
    scores: Sequence[EdgeScores],
    protect: Sequence[Any] | None,
    gates: Gates,
) -> list[EdgeScores]:
    """The scores of each graph under the rules, with the gates of the kept edges.

    Edges without direction stay or go as one in any case. `protect` has an entry for
    each graph, see `find_protected`.
    """
    given = [None] * len(graphs) if protect is None else protect
    if len(given) != len(graphs):
        raise ValueError(
            f"`protect` must have one entry for each of the {len(graphs)} graphs, got"
            f" {len(given)}."
        )
    as_one = dataclasses.replace(rules, symmetric=rules.symmetric or "max")
    found = []
    for data, part, named in zip(graphs, scores, given, strict=True):
        graph = data.graph.to("cpu")
        choice = choose_edges(
            part.log_alpha.numpy(force=True),
            graph,
            rules if data.has_directions else as_one,
            protected=find_protected(named, data),
            threshold=gates.threshold,
        )
        for note in choice.notes:
            logger.warning("%s.", note)
        chosen = chosen_scores(choice, graph, gates)
        found.append(dataclasses.replace(chosen, probability=part.probability))
    return found


def find_protected(protect: Any, data: NodeData) -> Array | None:
    """Mark the edges to protect, [E] bool; None without any.

    They are pairs (src, dst) of the user's node ids, in any collection, or an array or
    tensor of node numbers, [2, P]. Where edges have no direction, a pair names both.
    """
    if protect is None:
        return None
    src, dst = _numbers(protect, data)
    graph = data.graph.to("cpu")
    ends = torch.from_numpy(src), torch.from_numpy(dst)
    place = graph.find(*ends).numpy()
    absent = int(((place < 0) & (src != dst)).sum())
    if not data.has_directions:
        place = np.concatenate([place, graph.find(*ends[::-1]).numpy()])
    mask = np.zeros(graph.num_edges, dtype=bool)
    mask[place[place >= 0]] = True
    if absent:
        logger.warning(
            "%d of the %d protected edges are not in the graph.", absent, len(src)
        )
    return mask


def _numbers(protect: Any, data: NodeData) -> tuple[Array, Array]:
    """Source and target of each protected edge as node numbers, [P] int64 each."""
    if isinstance(protect, Tensor | np.ndarray):
        pairs = torch.as_tensor(protect).cpu().numpy()
        if pairs.ndim == 2 and pairs.shape[0] != 2 and pairs.shape[1] == 2:
            pairs = pairs.T
        if pairs.ndim != 2 or len(pairs) != 2 or pairs.dtype.kind not in "iu":
            raise ValueError(
                "`protect` must hold node numbers in rows src and dst, [2, P], or be a"
                f" list of pairs, got {pairs.dtype} of shape {list(pairs.shape)}."
            )
        src, dst = pairs.astype(np.int64)
        bad = (pairs < 0) | (pairs >= data.num_nodes)
        if bad.any():
            raise _unknown(int(pairs[bad][0]), data)
        return src, dst
    ids = range(data.num_nodes) if data.node_ids is None else data.node_ids
    position = {node: number for number, node in enumerate(ids)}
    found = np.empty((2, len(protect)), dtype=np.int64)
    for place, pair in enumerate(protect):
        if isinstance(pair, str) or not hasattr(pair, "__len__") or len(pair) != 2:
            raise ValueError(f"`protect` must hold pairs (src, dst), got {pair!r}.")
        for node in pair:
            if node not in position:
                raise _unknown(node, data)
        found[:, place] = [position[node] for node in pair]
    return found[0], found[1]


def _unknown(node: Any, data: NodeData) -> ValueError:
    return ValueError(f"`protect` names {node!r}, which is no node of {data.name!r}.")
