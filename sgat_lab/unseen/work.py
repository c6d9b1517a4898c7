"""Work: what is to be measured, in pieces that shards take, and the rows of each."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import torch

from sgat.estimator import SGATClassifier
from sgat_lab.unseen.cases import GRAPHS, USUAL_SIZE, CaseName, Cases
from sgat_lab.unseen.methods import OURS, PEERS, PeerMethod
from sgat_lab.unseen.peers import PeerSetting
from sgat_lab.unseen.scores import Metric, ScoredNodes
from sgat_lab.unseen.search import RUNGS, SEARCH_SEED, Found, candidates, search
from sgat_lab.unseen.training import EPOCHS, PeerData, PeerTraining

CASE = ("graph", "noise", "method", "seed")
"""Columns that name a row."""
SEARCH_COST = 6
"""Trainings that a search costs, theirs and ours."""
EDGE_COST = {"mlp": 0.0, "gcn": 0.7, "sage": 0.7, "gat": 1.0, "residual-gat": 1.0}
"""Time of an epoch per 10,000 edges, next to the launches of a plain epoch; SuperGAT's
is 1.7."""


class Piece(NamedTuple):
    """A method on a graph, with the seeds of its trainings."""

    case: CaseName
    method: str
    seeds: tuple[int, ...]

    @property
    def cost(self) -> float:
        """Time it takes, in no unit: what the shards are balanced by."""
        size = GRAPHS.get(self.case.graph, USUAL_SIZE) / 10
        size *= 2 if self.case.noise != "clean" else 1
        if self.method in OURS:
            return len(self.seeds) * (10 + (1 + SEARCH_COST) * (1 + 0.7 * size))
        peer = PEERS[self.method]
        epoch = (2 if peer.is_strong else 1) * (
            1 + EDGE_COST.get(peer.kind, 1.7) * size
        )
        return (len(self.seeds) + SEARCH_COST) * epoch


def needs_judge(piece: Piece) -> bool:
    """Whether it is on the edges that the judge keeps."""
    return piece.method in PEERS and PEERS[piece.method].is_judged


def pieces(
    cases: Sequence[CaseName], methods: Sequence[str], seeds: Sequence[int]
) -> list[Piece]:
    """All pieces; a peer's seeds share its search, ours searches with each."""
    found = []
    for case in cases:
        for method in methods:
            groups = [(seed,) for seed in seeds] if method in OURS else [tuple(seeds)]
            found += [Piece(case, method, group) for group in groups]
    return found


def without(work: Sequence[Piece], rows: Sequence[dict[str, Any]]) -> list[Piece]:
    """The pieces without the seeds that have a row."""
    known = {tuple(row[name] for name in CASE) for row in rows}
    left = []
    for case, method, seeds in work:
        rest = tuple(seed for seed in seeds if (*case, method, seed) not in known)
        left += [Piece(case, method, rest)] if rest else []
    return left


def parse_shard(text: str) -> tuple[int, int]:
    """The number of a shard and how many there are, of "3/12"; "" is all in one.

    Raises:
        ValueError: If it is not two numbers, the first from 1 to the second.
    """
    found = re.fullmatch(r"(\d+)/(\d+)", text or "1/1")
    number, total = map(int, found.groups()) if found else (0, 0)
    if not 1 <= number <= total:
        raise ValueError(f"`shard` must be as 3/12, the third of twelve, got {text!r}.")
    return number, total


def shard_of(work: Sequence[Piece], number: int, total: int) -> list[Piece]:
    """The pieces of one shard, 1 to `total`: each piece is in one shard, and once.

    The costliest pieces are dealt first, each to the shard with the least to do. A
    shard does those of one graph together, and those on judged edges last: others may
    have judged them by then.
    """
    load = [0.0] * total
    mine = []
    for place in sorted(range(len(work)), key=lambda at: -work[at].cost):
        least = load.index(min(load))
        load[least] += work[place].cost
        if least == number - 1:
            mine.append(place)
    cost: dict[CaseName, float] = {}
    for place in mine:
        case = work[place].case
        cost[case] = cost.get(case, 0.0) + work[place].cost
    # What takes longest comes first, so that the ends of the shards are close.
    mine.sort(
        key=lambda at: (
            needs_judge(work[at]),
            -cost[work[at].case],
            work[at].case,
            at,
        )
    )
    return [work[place] for place in mine]


def verdicts_needed(work: Sequence[Piece]) -> list[tuple[CaseName, int]]:
    """The graphs and seeds that the judge is asked about, the largest graphs first."""
    needed = {
        (piece.case, seed): None
        for piece in work
        if needs_judge(piece)
        for seed in (SEARCH_SEED, *piece.seeds)
    }
    return sorted(needed, key=lambda at: -GRAPHS.get(at[0].graph, USUAL_SIZE))


class Worker:
    """Measures pieces, one after the other.

    Args:
        cases: Where graphs come from.
        device: Where to train.
        epochs: Epochs of a training at most; rungs of a search end with it.
        capture: Whether a GPU replays epochs of peers as CUDA graphs.
    """

    def __init__(
        self, cases: Cases, *, device: str, epochs: int = EPOCHS, capture: bool = True
    ) -> None:
        self.cases, self.device = cases, device
        self.epochs, self.capture = epochs, capture

    def rows(self, piece: Piece) -> Iterator[dict[str, Any]]:
        """The row of each seed: scores, epochs, seconds, and the setting."""
        if piece.method in OURS:
            yield from self._ours(piece)
            return
        peer = PEERS[piece.method]
        start = time.perf_counter()
        found = self._search(piece.case, peer)
        searched = time.perf_counter() - start
        for seed in piece.seeds:
            start = time.perf_counter()
            training = self._start(piece.case, peer, found.setting, seed)
            training.run(self.epochs)
            val = training.quality[0]
            seconds = time.perf_counter() - start
            yield _named(piece, seed) | {
                "val": val,
                "test": self._test(piece.case, seed, training.logits),
                "epochs": training.epochs,
                "seconds": seconds,
                "search_seconds": searched,
                "setting": found.setting.to_json(),
            }

    def _search(self, case: CaseName, peer: PeerMethod) -> Found:
        """The setting of a peer; it sees no class of a test node."""
        number, _ = RUNGS[0]
        data = self._peer_data(case, peer, SEARCH_SEED)
        tried = candidates(
            peer.kind,
            is_strong=peer.is_strong,
            num_edges=data.edges.num_edges,
            number=number,
        )
        rungs = [(count, min(until, self.epochs)) for count, until in RUNGS]
        return search(
            tried,
            lambda setting: PeerTraining(
                setting, data, seed=SEARCH_SEED, capture=self.capture
            ),
            rungs,
        )

    def _peer_data(self, case: CaseName, peer: PeerMethod, seed: int) -> PeerData:
        data = self.cases.data(case, seed, is_judged=peer.is_judged)
        features = self.cases.features(case, seed)
        return PeerData.of(data, features, case.metric, self.device)

    def _start(
        self, case: CaseName, peer: PeerMethod, setting: PeerSetting, seed: int
    ) -> PeerTraining:
        data = self._peer_data(case, peer, seed)
        return PeerTraining(setting, data, seed=seed, capture=self.capture)

    def _test(self, case: CaseName, seed: int, logits: torch.Tensor) -> float:
        """The score of the test nodes, whose classes are looked at here alone."""
        data = self.cases.data(case, seed)
        return _score(ScoredNodes.of(data.test, data.y), logits.cpu(), case.metric)

    def _ours(self, piece: Piece) -> Iterator[dict[str, Any]]:
        for seed in piece.seeds:
            data = self.cases.data(piece.case, seed)
            start = time.perf_counter()
            ours = SGATClassifier(seed=seed, device=self.device, **OURS[piece.method])
            ours.fit(data)
            seconds = time.perf_counter() - start
            # Probabilities rank nodes and classes as their class scores do.
            logits = torch.from_numpy(ours.predict_proba())
            roles = (ScoredNodes.of(mask, data.y) for mask in (data.val, data.test))
            val, test = (_score(role, logits, piece.case.metric) for role in roles)
            model = ours.config_.model
            setting = f"readout={model.readout} layers={model.layers}"
            yield _named(piece, seed) | {
                "val": val,
                "test": test,
                "epochs": len(ours.history_),
                "seconds": seconds,
                "search_seconds": 0.0,
                "setting": setting,
            }


def _score(nodes: ScoredNodes, logits: torch.Tensor, metric: Metric) -> float:
    return float(nodes.score(logits, metric))


def _named(piece: Piece, seed: int) -> dict[str, Any]:
    named = dict(zip(CASE, (*piece.case, piece.method, seed), strict=True))
    return named | {"metric": piece.case.metric}
