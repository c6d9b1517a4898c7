"""Assessment: how likely each undirected edge is wrong, and why, from all signals."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import expit, logit

from sgat.features import Features
from sgat.judging import shares
from sgat.judging.contrast import contrast, normal_scores, normal_scores_by_degree
from sgat.judging.matrices import numbered, sums_at_ends
from sgat.judging.pairs import Pairs, draw_pairs
from sgat.judging.signals import OfEdges, Signals, edge_blocks
from sgat.ops.blocks import by_rows, trim_heap

Array = np.ndarray[Any, Any]
Progress = Callable[[str], None]

ROUNDS = 2
"""Rounds with all signals, each with the weights that the last one found."""
TREES, TREES_OF_CONTENT, TREES_OF_FEW, FEW = 40, 25, 12, 1_000
"""Trees of each contrast, and of one with few edges."""
AS_SWAPPED, MOST_AS_SWAPPED = 0.35, 0.015
"""Part of the share of wrong edges between any nodes that swapped pairs stand for, and
its limit."""
NOT_TOLD = 0.75, 0.85
"""Share of edges that seem wrong by content, up to which single ones are believed to
be, and from which features just do not tell."""
MOST_UNLIKE = 0.5
"""Unlike edges without common neighbours, over pairs that are, for rings to show."""
LEAST_UNSHARED = 0.1
"""Share of edges without common neighbours that rings of wrong edges show against."""
ALONE = 0.5, 0.7
"""Share of the real edges without common neighbours that look like pairs of any nodes,
and like swapped ones, where there are no features."""
NOTHING_COUNTED = 0.01
"""Share of wrong edges below which shares say nothing of how to order the edges."""
SUSPECT_WEIGHT = 0.3
"""Weight of the suspicion against the ends of an edge there, next to 1 of a score."""
OUTDONE = 0.9
"""Share of pairs of any nodes that an edge with a telling likeness outdoes."""
FEWEST_EDGES, FEWEST_PAIRS = 30, 100
"""Edges, each counted once, and pairs with which a graph can be judged at all."""

REASONS = (
    "nothing speaks against it",
    "its ends are alike",
    "its ends share neighbours",
    "the neighbours of its ends are alike",
    "its ends are unlike",
    "its ends are unlike and share no neighbour",
    "the neighbours of its ends are unlike",
    "many edges at its ends look wrong",
    "too few edges to tell",
)
"""Reasons for a verdict, the most telling for each edge."""


@dataclasses.dataclass(frozen=True)
class Assessment:
    """P(wrong) of undirected edges, each once, and the place of its reason."""

    wrong: Array  # [E] float32
    reason: Array  # [E] int8


def assess(
    ends: Array,
    num_nodes: int,
    x: Features | None,
    label: Array,
    *,
    seed: int = 0,
    progress: Progress | None = None,
) -> Assessment:
    """Judge undirected edges [2, E], each once.

        1. by content: edges against swapped pairs; weights of the edges
        2. by all signals with these weights, twice: the suspicion against nodes
        3. by all signals against pairs of any nodes
        4. shares of both kinds of wrong edges, and of those that aim at known nodes

    `label` is the class of each node, -1 where it is unknown, [N]: an attack on a
    classifier aims at nodes with a label.
    """

    def say(stage: str) -> None:
        trim_heap()
        if progress:
            progress(stage)

    count = ends.shape[1]
    untold = np.full(count, REASONS.index("too few edges to tell"), dtype=np.int8)
    nothing = Assessment(np.full(count, 1e-3, dtype=np.float32), untold)
    if count < FEWEST_EDGES:
        return nothing
    rng = np.random.default_rng(seed)
    say("drawing pairs to compare with")
    numbers = numbered(ends, num_nodes)
    swapped, anywhere = draw_pairs(ends, numbers, rng)
    if min(len(swapped.a), len(anywhere.a)) < FEWEST_PAIRS:
        return nothing
    signals = Signals(ends, numbers, x, (swapped, anywhere), label, seed)
    del numbers

    def of_edges(signals_of: Callable[[Pairs], Array]) -> OfEdges:
        return OfEdges(lambda rows: signals_of(Pairs.of_edges(ends, rows)), count)

    known = (label >= 0).astype(np.int8)
    group = known[ends[0]] + known[ends[1]]
    degrees = np.empty((count, 2), dtype=np.float32)
    for part in edge_blocks(count):
        degrees[part] = signals.degrees(Pairs.of_edges(ends, part))
    usual = degrees.mean(axis=0, dtype=float).astype(np.float32)
    degrees -= usual
    # In a list, to let go of them: they take memory.
    traits = [degrees, (group == 1)[:, None], (group == 2)[:, None]]
    del degrees

    def scores(
        signals_of: Callable[[Pairs], Array],
        trees: int,
        num_free: int = 2,
        doubt: Array | None = None,
    ) -> Array:
        trees = trees if count > FEW else TREES_OF_FEW
        both = of_edges(signals_of), signals_of(swapped)
        return normal_scores_by_degree(
            *contrast(*both, rng, trees=trees, num_free=num_free, doubt=doubt),
            traits[0],
            signals.degrees(swapped) - usual,
        )

    def posterior(score: Array, prior: Array) -> Array:
        likely = shares.likelihood(score, prior)
        found: Array = by_rows(lambda odds, real: expit(odds - real), prior, likely)
        return found

    def suspect(score: Array) -> tuple[Array, Array]:
        """P(wrong) and its prior log-odds, suspicion against nodes counted."""
        prior = shares.fit_prior(score, *traits)
        for _ in range(3):
            wrong = posterior(score, prior)
            more = shares.suspicion(ends, num_nodes, wrong)
            prior = shares.fit_prior(score, *traits, more)
        return posterior(score, prior), prior

    by_content = weight = np.ones(count, dtype=np.float32)
    told = 0.0
    first = None
    doubt = np.zeros(count, dtype=np.float32)
    if x is not None:
        say("comparing features")
        first = scores(signals.of_content, TREES_OF_CONTENT)
        doubt = suspect(first)[0]
        told = 1 - shares.between(doubt.mean(), NOT_TOLD)
        by_content = 1 - told * doubt
        weight = _relative(ends, num_nodes, by_content)

    def compare(
        weight: Array, doubt: Array | None
    ) -> tuple[Array, Array, Array, shares.LowEnd, Array]:
        signals.weigh(weight)
        score = scores(signals.of_all, TREES, signals.num_free, doubt)
        wrong, prior = suspect(score)
        # Where features do not tell and real edges look like swapped pairs, these say
        # nothing of a single edge.
        low = shares.low_end(score, traits[0], _unaimed(group))
        doubtful = wrong * max(told, shares.between(low.separation, shares.USEFUL))
        return score, wrong, prior, low, doubtful

    doubtful = None
    for number in range(1, ROUNDS):
        say(f"comparing surroundings, round {number} of {ROUNDS}")
        doubtful = compare(weight, doubtful)[-1]
        weight = _relative(ends, num_nodes, (1 - doubtful) * by_content)
    del by_content
    say(f"comparing surroundings, round {ROUNDS} of {ROUNDS}")
    score, wrong, prior, low, doubtful = compare(weight, doubtful)
    del weight
    say("counting wrong edges")
    beside = signals.of_all(anywhere)
    traces = _Traces(signals, beside, count)
    loose = normal_scores(
        *contrast(
            of_edges(traces.keep),
            beside,
            rng,
            trees=TREES,
            num_free=signals.num_free,
            doubt=doubtful,
        )
    )
    pairs_alone = (beside[:, signals.shared] <= 0).mean()
    signals.release()
    traits.clear()
    trim_heap()
    shared = traces.shared
    suspicion = shares.suspicion(ends, num_nodes, wrong)[:, 0].copy()
    ring = np.zeros(count, dtype=np.float32)
    if first is not None:
        ring = _in_rings(first, doubt, shared)
    del doubt, doubtful, wrong
    wrong = _combine(
        first if first is not None else score,
        score,
        loose,
        prior,
        low,
        group,
        suspicion,
        ring=ring,
        unshared=(1 - shared.mean(), pairs_alone) if x is None else None,
    )
    return Assessment(wrong, _reasons(wrong, traces, ends, num_nodes))


def _in_rings(first: Array, doubt: Array, shared: Array) -> Array:
    """P(wrong) of edges that speak for each other only, as in rings of spam, [E].

    Edges whose ends share neighbours are more alike than others. Where they are less
    alike, some share neighbours by wrong edges alone; `doubt`, which goes by content,
    says which. Where nearly all ends share neighbours, there is nothing to compare, and
    where edges are hardly more alike than pairs, features do not tell.
    """
    ring = np.zeros(len(first), dtype=np.float32)
    if 1 - shared.mean() < LEAST_UNSHARED:
        return ring
    if 2 * (first[~shared] < 0).mean() > MOST_UNLIKE:
        return ring
    share = shares.excess(first, shared.astype(np.int8))[1]
    if share:
        odds = logit(doubt[shared].astype(float).clip(1e-9, 1 - 1e-9))
        number = share * shared.sum()
        ring[shared] = expit(odds + shares.with_share(-odds, 0 * odds, number))
    return ring


def _unaimed(group: Array) -> Array:
    """Edges between nodes without a label, if most are; all of them otherwise, [E].

    Attacks aim at labelled nodes: those are counted apart.
    """
    found: Array = group == 0
    return found if found.mean() > 0.5 else np.ones(len(group), dtype=bool)


def _sure(end: shares.LowEnd, useful: float, least: float = 0.0) -> Array:
    """Share of wrong edges by their traits as far as it is sure, [E]."""
    share = end.share * end.trust * useful
    if least:
        share *= max(0.0, 1 - (least / max(share.mean(), 1e-9)) ** 2)
    return share


def _beyond(share: float, part: float, edges: float, pairs: float) -> float:
    """How much of a share of wrong edges is left without features, at most 1.

    A `part` of the real `edges` without common neighbours, as pairs are, is in it.
    """
    wrong = max(0.0, share - part * edges) / (1 - part * pairs)
    return min(1.0, wrong / max(share, 1e-9))


def _combine(
    first: Array,
    score: Array,
    loose: Array,
    prior: Array,
    by_traits: shares.LowEnd,
    group: Array,
    suspect: Array,
    *,
    ring: Array,
    unshared: tuple[float, float] | None,
) -> Array:
    """P(wrong) from the shares of each kind of wrong edges."""
    count = len(score)
    everywhere = np.ones(count, dtype=bool)
    evenly = shares.low_end(loose, np.zeros((count, 0)), everywhere)
    useful = shares.between(by_traits.separation, shares.USEFUL)
    agree = evenly.share.mean() / max(by_traits.share.mean(), 1e-9)
    any_tail, tail = evenly.tail, by_traits.tail
    agree = shares.between(agree, shares.AGREE)
    told = max(useful, agree * shares.between(evenly.separation, shares.APART))
    any_share, by_degree = _sure(evenly, told), _sure(by_traits, useful)
    least = 0.0
    if unshared:
        least = ALONE[0] * unshared[0]
        any_share, most = (
            found * _beyond(found.mean(), part, *unshared)
            for found, part in zip((any_share, by_degree), ALONE, strict=True)
        )
        by_degree = np.minimum(most, _sure(by_traits, useful, least))
    any_share = any_share.mean()
    # Hubs are where degrees differ: what is less alike there is wrong, whatever real
    # edges look like.
    usual = shares.USUAL_EXCESS * (1 + shares.FEW_EDGES / count)
    at_hubs = by_traits._replace(share=by_traits.excess)
    by_degree = by_degree + (1 - useful) * _sure(at_hubs, 1.0, max(usual, least))
    # Pairs of any nodes are found among swapped ones as well: they count once.
    left = max(0.0, 1 - any_share / max(by_degree.mean(), 1e-9))
    aimed = shares.excess(first, group)
    # Where few are wrong, swapped pairs rank edges better than pairs of any nodes.
    as_swapped = min(AS_SWAPPED * any_share, MOST_AS_SWAPPED)
    least_swapped = max(as_swapped, shares.LEAST_SHARE * max(useful, 1 / 3))
    least_any = max(shares.LEAST_SHARE * (1 - useful), 1e-4)
    even = np.full(count, logit(max(any_share, least_any)), dtype=np.float32)
    lowest = float(np.log(any_tail + 1e-3))
    likely = np.maximum(shares.likelihood(loose, even), lowest + loose)
    number = max(any_share - as_swapped, least_any) * count
    loosely = expit(shares.with_share(likely, even, number) - likely)
    prior = prior.clip(max=shares.HIGHEST_PRIOR)
    heavier = float(np.log(tail + 1e-3)) + shares.SUSPECT_TAIL * suspect.clip(0, 4)
    numbers = [0.0] * 3
    for _ in range(2):
        likely = np.maximum(shares.likelihood(score, prior), heavier + score)
        prior = prior.copy()
        for place in np.unique(group):
            here = group == place
            by_source = left * by_degree[here].sum()
            least_here = least_swapped * here.sum()
            at_known = aimed[place] * here.sum()
            number = max(by_source, at_known, least_here)
            prior[here] = shares.with_share(likely[here], prior[here], number)
            numbers[place] = max(
                max(by_source, least_here) + loosely[here].sum(), at_known
            )
    swapped = expit(prior - likely)
    # Edges that both kinds explain would be missing from the number of both.
    wrong = by_rows(
        lambda one, other, third: (
            1 - (1 - one.astype(float)) * (1 - other) * (1 - third)
        ),
        *(swapped, loosely, ring),
    )
    del even, likely, loosely, swapped, prior, heavier, by_degree
    number = sum(numbers) + ring.sum()
    if number < NOTHING_COUNTED * count:
        order = SUSPECT_WEIGHT * suspect.clip(-4, 6) - score - loose
        wrong = expit(order + shares.with_share(-order, 0 * order, number))
    return shares.with_doubt(wrong, number)


def _relative(ends: Array, num_nodes: int, real: Array) -> Array:
    """Weights of edges next to the others at their ends, at most 1, [E].

    A node all of whose edges are in doubt keeps them, for lack of better ones.
    """
    real = np.maximum(real, 1e-4)
    total, squares = (sums_at_ends(ends, num_nodes, part) for part in (real, real**2))
    usual = squares / np.maximum(total, 1e-9)
    weight: Array = by_rows(
        lambda own, a, b: np.minimum(1, own / np.sqrt(usual[a] * usual[b])), real, *ends
    )
    return weight


class _Traces:
    """What single signals of the edges say, of which a reason is made."""

    def __init__(self, signals: Signals, pairs: Array, count: int) -> None:
        self.signals, self.has_features = signals, signals.has_features
        self.shared, self.alike, self.alike_around = np.zeros((3, count), dtype=bool)
        above = int(OUTDONE * len(pairs))
        self.limits = np.sort(pairs[:, (0, 3)], axis=0)[above]

    def keep(self, pairs: Pairs) -> Array:
        """All signals of some edges, of which traces are kept."""
        found, rows = self.signals.of_all(pairs), pairs.place
        self.shared[rows] = found[:, self.signals.shared] > 0
        if self.has_features:
            alike = found[:, (0, 3)] > self.limits
            self.alike[rows], self.alike_around[rows] = alike.T
        return found


def _reasons(wrong: Array, traces: _Traces, ends: Array, num_nodes: int) -> Array:
    """The place in REASONS of what speaks most for the verdict, [E]."""
    shared = traces.shared
    suspect = shares.suspicion(ends, num_nodes, wrong)[:, 0] > 1.5
    is_wrong = wrong > 0.5
    unlike = REASONS.index("its ends are unlike")
    choices = [
        (is_wrong & suspect, REASONS.index("many edges at its ends look wrong")),
        (is_wrong & (not traces.has_features), unlike + 2),
        (is_wrong & ~shared, unlike + 1),
        (is_wrong, unlike),
        (shared, REASONS.index("its ends share neighbours")),
        (traces.alike, REASONS.index("its ends are alike")),
        (traces.alike_around, REASONS.index("the neighbours of its ends are alike")),
    ]
    reason = np.zeros(len(wrong), dtype=np.int8)
    for condition, place in reversed(choices):
        reason[condition] = place
    return reason
