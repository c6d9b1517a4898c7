"""Assessment: how likely each undirected edge is wrong, and why, from all signals."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import expit, logit

from sgat.features import Features
from sgat.judging import shares
from sgat.judging.combining import Findings, combine, in_group, share_apart
from sgat.judging.contrast import contrast, normal_scores, normal_scores_by_degree
from sgat.judging.edge_columns import ColumnOdds, fit_columns
from sgat.judging.matrices import numbered, sums_at_ends
from sgat.judging.pairs import Pairs, draw_pairs
from sgat.judging.reasons import REASONS, Traces, find_reasons, with_deciding
from sgat.judging.signals import OfEdges, Signals, edge_blocks
from sgat.judging.suspicion import fit_prior, suspicion
from sgat.ops.blocks import by_rows, empty, placed, trim_heap, where
from sgat.ops.device_array import host

Array = np.ndarray[Any, Any]
Progress = Callable[[str], None]

ROUNDS = 2
"""Rounds with all signals, each with the weights that the last one found."""
TREES, TREES_OF_CONTENT, TREES_OF_FEW, FEW = 40, 25, 12, 1_000
"""Trees of each contrast, and of one with few edges."""
NOT_TOLD = 0.75, 0.85
"""Share of edges that seem wrong by content, up to which single ones are believed to
be, and from which features just do not tell."""
MOST_UNLIKE = 0.5
"""Unlike edges without common neighbours, over pairs that are, for rings to show."""
LEAST_UNSHARED = 0.1
"""Share of edges without common neighbours that rings of wrong edges show against."""
FEWEST_EDGES, FEWEST_PAIRS = 30, 100
"""Edges, each counted once, and pairs with which a graph can be judged at all."""


@dataclasses.dataclass(frozen=True)
class Assessment:
    """P(wrong) of undirected edges, each once, and the place of its reason."""

    wrong: Array  # [E] float32
    reason: Array  # [E] int8, or int16 with columns


def assess(
    ends: Array,
    num_nodes: int,
    x: Features | None,
    label: Array,
    *,
    columns: Array | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Assessment:
    """Judge undirected edges [2, E], each once.

        1. by content: edges against swapped pairs; weights of the edges
        2. by all signals with these weights, twice: the suspicion against nodes
        3. by all signals against pairs of any nodes
        4. shares of both kinds of wrong edges, and of those that aim at known nodes

    `label` is the class of each node, -1 where it is unknown, [N]: an attack on a
    classifier aims at nodes with a label. `columns` are numbers of the edges in memory,
    [E, F].
    """

    def say(stage: str) -> None:
        trim_heap()
        if progress:
            progress(stage)

    count = ends.shape[1]
    if count < FEWEST_EDGES:
        return _untold(count)
    rng = np.random.default_rng(seed)
    say("drawing pairs to compare with")
    numbers = numbered(ends, num_nodes)
    swapped, anywhere = draw_pairs(ends, numbers, rng)
    if min(len(swapped.a), len(anywhere.a)) < FEWEST_PAIRS:
        return _untold(count)
    signals = Signals(ends, numbers, x, (swapped, anywhere), label, seed)
    del numbers

    def of_edges(signals_of: Callable[[Pairs], Array]) -> OfEdges:
        def make(rows: Any) -> Array:
            return signals_of(Pairs.of_edges(ends, rows))

        return OfEdges(make, count, signals.blocks())

    known = (label >= 0).astype(np.int8)
    known = placed(known)
    group = by_rows(lambda a, b: known[a] + known[b], *ends, dtype=np.int8)
    degrees = empty((count, 2), np.float32)
    for part in edge_blocks(count):
        degrees[part] = signals.degrees(Pairs.of_edges(ends, part))
    usual = degrees.mean(axis=0, dtype=float).astype(np.float32)
    degrees -= usual
    # In a list, to let go of them: they take memory.
    traits = [degrees, *(in_group(group, place)[:, None] for place in (1, 2))]
    del degrees

    def scores(
        signals_of: Callable[[Pairs], Array],
        trees: int,
        num_free: int = 2,
        doubt: Array | None = None,
    ) -> Array:
        trees = trees if count > FEW else TREES_OF_FEW
        both = of_edges(signals_of), host(signals_of(swapped))
        return normal_scores_by_degree(
            *contrast(*both, rng, trees=trees, num_free=num_free, doubt=doubt),
            traits[0],
            host(signals.degrees(swapped) - usual),
        )

    def posterior(score: Array, prior: Array) -> Array:
        likely = shares.likelihood(score, prior)
        return by_rows(lambda odds, real: expit(odds - real), prior, likely)

    def with_columns(score: Array, prior: Array) -> tuple[Array, ColumnOdds | None]:
        """P(wrong) by the score, the prior and the columns, if they say something."""
        told = None if columns is None else fit_columns(score, prior, columns)
        if told is not None:
            prior = by_rows(np.add, prior, told.of_edges())
        return posterior(score, prior), told

    def suspect(score: Array) -> tuple[Array, Array, ColumnOdds | None]:
        """P(wrong), its prior log-odds by nodes, suspicion counted, and by columns."""
        prior = fit_prior(score, *traits)
        for _ in range(3):
            wrong, _ = with_columns(score, prior)
            more = suspicion(ends, num_nodes, wrong)
            prior = fit_prior(score, *traits, more)
        wrong, told = with_columns(score, prior)
        return wrong, prior, told

    by_content = weight = by_rows(np.ones_like, group)
    told, first = 0.0, None
    doubt = np.broadcast_to(np.float32(0), count)
    if x is not None:
        say("comparing features")
        first = scores(signals.of_content, TREES_OF_CONTENT)
        doubt = suspect(first)[0]
        told = 1 - shares.between(doubt.mean(), NOT_TOLD)
        by_content = by_rows(lambda part: 1 - told * part, doubt)
        weight = _relative(ends, num_nodes, by_content)

    def compare(
        weight: Array, doubt: Array | None
    ) -> tuple[Array, Array, Array, ColumnOdds | None, shares.LowEnd, Array]:
        signals.weigh(weight)
        score = scores(signals.of_all, TREES, signals.num_free, doubt)
        wrong, prior, told_apart = suspect(score)
        low_traits = traits[0]
        if told_apart is not None:
            by_columns = told_apart.of_edges()[:, None]
            low_traits = np.concatenate([by_columns, low_traits], axis=1)
        # Where features do not tell and real edges look like swapped pairs, these say
        # nothing of a single edge.
        low = shares.low_end(score, low_traits, _unaimed(group))
        sure = max(told, low.useful)
        doubtful = by_rows(lambda part: part * sure, wrong)
        return score, wrong, prior, told_apart, low, doubtful

    doubtful = None
    for number in range(1, ROUNDS):
        say(f"comparing surroundings, round {number} of {ROUNDS}")
        doubtful = compare(weight, doubtful)[-1]
        real = by_rows(lambda part, own: (1 - part) * own, doubtful, by_content)
        weight = _relative(ends, num_nodes, real)
    del by_content, real
    say(f"comparing surroundings, round {ROUNDS} of {ROUNDS}")
    score, wrong, prior, told_apart, low, doubtful = compare(weight, doubtful)
    del weight
    say("counting wrong edges")
    beside = host(signals.of_all(anywhere))
    traces = Traces(signals, beside, count)
    raw, of_pairs = contrast(
        of_edges(traces.keep),
        beside,
        rng,
        trees=TREES,
        num_free=signals.num_free,
        doubt=doubtful,
    )
    loose, by_class = normal_scores(raw, of_pairs), None
    if traces.of_one_class is not None:
        agree = traces.agree(beside)
        by_class = share_apart(raw, of_pairs, traces.of_one_class, agree)
    del raw
    pairs_alone = (beside[:, signals.shared] <= 0).mean()
    signals.release()
    traits.clear()
    trim_heap()
    shared = traces.shared
    more = suspicion(ends, num_nodes, wrong)
    against = by_rows(lambda part: part[:, 0], more)
    ring = doubt if first is None else _in_rings(first, doubt, shared)
    del more, doubt, doubtful, wrong
    wrong = combine(
        Findings(
            first=score if first is None else first,
            swapped=score,
            loose=loose,
            prior=prior,
            by_traits=low,
            group=group,
            suspicion=against,
            ring=ring,
            plain=traces.plain,
            unshared=(1 - shared.mean(), pairs_alone) if x is None else None,
            by_class=by_class,
            by_columns=told_apart and told_apart.of_edges(),
        )
    )
    reason = find_reasons(wrong, traces, ends, num_nodes)
    if told_apart is not None:
        reason = with_deciding(reason, told_apart.deciding(wrong))
    return Assessment(wrong, reason)


def _in_rings(first: Array, doubt: Array, shared: Array) -> Array:
    """P(wrong) of edges that speak for each other only, as in rings of spam, [E].

    Edges whose ends share neighbours are more alike than others. Where they are less
    alike, some share neighbours by wrong edges alone; `doubt`, which goes by content,
    says which. Where nearly all ends share neighbours, there is nothing to compare, and
    where edges are hardly more alike than pairs, features do not tell.
    """
    ring = by_rows(np.zeros_like, first)
    if 1 - shared.mean() < LEAST_UNSHARED:
        return ring
    unlike = by_rows(lambda score, own: (score < 0) & ~own, first, shared, dtype=bool)
    if 2 * (unlike.sum() / (len(shared) - shared.sum())) > MOST_UNLIKE:
        return ring
    share = shares.excess(first, shared.view(np.int8))[1]
    if share:
        odds = by_rows(
            lambda own: logit(own.astype(float).clip(1e-9, 1 - 1e-9)),
            where(shared, doubt),
            dtype=float,
        )
        odds = shares.with_share(0.0, odds, share * shared.sum())
        ring[shared] = by_rows(expit, odds)
    return ring


def _unaimed(group: Array) -> Array:
    """Edges between nodes without a label, if most are; all of them otherwise, [E].

    Attacks aim at labelled nodes: those are counted apart.
    """
    found = in_group(group, 0)
    return found if found.mean() > 0.5 else np.broadcast_to(True, len(group))


def _relative(ends: Array, num_nodes: int, real: Array) -> Array:
    """Weights of edges next to the others at their ends, at most 1, [E].

    A node all of whose edges are in doubt keeps them, for lack of better ones.
    """
    real = by_rows(lambda part: np.maximum(part, 1e-4), real)
    total = sums_at_ends(ends, num_nodes, real)
    squares = sums_at_ends(ends, num_nodes, by_rows(np.square, real))
    usual = squares / np.maximum(total, 1e-9)
    return by_rows(
        lambda own, a, b: np.minimum(1, own / np.sqrt(usual[a] * usual[b])), real, *ends
    )


def _untold(count: int) -> Assessment:
    """That there are too few edges, or pairs to compare them with."""
    untold = np.full(count, REASONS.index("too few edges to tell"), dtype=np.int8)
    wrong = np.full(count, 1e-3, dtype=np.float32)
    return Assessment(placed(wrong), placed(untold))
