"""Measurements across graphs: train on a source, score every target."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from sgat.data.node_data import NodeData
from sgat.estimator import SGATClassifier
from sgat_lab.transfer.countries import (
    Countries,
    by_itself,
    pseudo_labelled,
)
from sgat_lab.unseen.layers import PeerEdges
from sgat_lab.unseen.methods import PEERS
from sgat_lab.unseen.scaling import ScaledFeatures
from sgat_lab.unseen.scores import ScoredNodes
from sgat_lab.unseen.search import RUNGS, SEARCH_SEED, Found, candidates, search
from sgat_lab.unseen.training import EPOCHS, PeerData, PeerTraining

CASE = ("source", "target", "method", "seed")
"""Columns that name a row."""
RIVALS = tuple(
    name
    for name, peer in PEERS.items()
    if peer.kind in ("mlp", "gcn", "gat") and not peer.is_judged
)
PSEUDO_SHARE = 0.3
"""Share of the nodes of each predicted class that teach in a second round."""


class Adaptation(NamedTuple):
    """How ours adapts to a target."""

    title: str
    standardises: bool = False  # the features of each graph by themselves
    has_second_round: bool = False  # trained again, with its surest predictions


OURS = {
    "sgat": Adaptation("SGATClassifier()"),
    "sgat-standard": Adaptation("SGATClassifier(), standardised", True),
    "sgat-pseudo": Adaptation("SGATClassifier(), pseudo-labels", False, True),
    "sgat-standard-pseudo": Adaptation("SGATClassifier(), both", True, True),
}
METHODS = (*RIVALS, *OURS)


class Leg(NamedTuple):
    """A method trained on one source."""

    source: str
    method: str
    seeds: tuple[int, ...]


def legs(
    sources: Sequence[str], methods: Sequence[str], seeds: Sequence[int]
) -> list[Leg]:
    """All that is to be trained; a peer's seeds share its search."""
    return [
        Leg(source, method, group)
        for method in methods
        for source in sources
        for group in ([(s,) for s in seeds] if method in OURS else [tuple(seeds)])
    ]


def without(
    work: Sequence[Leg], targets: Sequence[str], rows: Sequence[dict[str, Any]]
) -> list[Leg]:
    """The legs without the seeds that have a row for every target."""
    known = {tuple(row[name] for name in CASE) for row in rows}
    left = []
    for source, method, seeds in work:
        others = [name for name in targets if name != source]
        rest = tuple(
            seed
            for seed in seeds
            if not all((source, name, method, seed) in known for name in others)
        )
        left += [Leg(source, method, rest)] if rest else []
    return left


class Transfer:
    """Trains on sources and scores targets.

    Args:
        countries: The graphs.
        targets: Names of those to classify.
        device: Where to train.
        epochs: Epochs of a peer's training at most.
        capture: Whether a GPU replays epochs of peers as CUDA graphs.
    """

    def __init__(
        self,
        countries: Countries,
        targets: Sequence[str],
        *,
        device: str,
        epochs: int = EPOCHS,
        capture: bool = True,
    ) -> None:
        self.countries, self.targets, self.device = countries, targets, device
        self.epochs, self.capture = epochs, capture

    def rows(self, leg: Leg) -> Iterator[dict[str, Any]]:
        """A row for each seed and each target other than the source."""
        found = None if leg.method in OURS else self._search(leg)
        for seed in leg.seeds:
            source = self.countries.source(leg.source, seed=seed)
            start = time.perf_counter()
            if found is None:
                yield from self._ours(leg, source, seed, start)
            else:
                yield from self._peer(leg, source, seed, found, start)

    def _row(
        self,
        leg: Leg,
        target: str,
        seed: int,
        at_home: float,
        probability: Tensor,
        **more: Any,
    ) -> dict[str, Any]:
        """Scores of a target; its labels are looked at here alone."""
        data = self.countries.graphs[target]
        nodes = ScoredNodes.of(data.y >= 0, data.y)
        named = zip(CASE, (leg.source, target, leg.method, seed), strict=True)
        return {
            **dict(named),
            "roc_auc": float(nodes.score(probability, "roc_auc")),
            "accuracy": float(nodes.score(probability, "accuracy")),
            "source_roc_auc": at_home,
            **more,
        }

    def _others(self, source: str) -> list[str]:
        return [name for name in self.targets if name != source]

    def _peer_data(self, source: NodeData) -> PeerData:
        features = ScaledFeatures(source.x, self.device)
        return PeerData.of(source, features, "accuracy", self.device)

    def _search(self, leg: Leg) -> Found:
        """The setting of a peer, by the validation nodes of the source."""
        source = self.countries.source(leg.source, seed=SEARCH_SEED)
        data, peer = self._peer_data(source), PEERS[leg.method]
        tried = candidates(
            peer.kind,
            is_strong=peer.is_strong,
            num_edges=data.edges.num_edges,
            number=RUNGS[0][0],
        )
        return search(
            tried,
            lambda setting: PeerTraining(
                setting, data, seed=SEARCH_SEED, capture=self.capture
            ),
            [(count, min(until, self.epochs)) for count, until in RUNGS],
        )

    def _peer(
        self, leg: Leg, source: NodeData, seed: int, found: Found, start: float
    ) -> Iterator[dict[str, Any]]:
        training = PeerTraining(
            found.setting,
            self._peer_data(source),
            seed=seed,
            capture=self.capture,
            keep_weights=True,
        ).run(self.epochs)
        at_home = _at_home(source, training.logits.cpu())
        seconds = time.perf_counter() - start
        for target in self._others(leg.source):
            data = self.countries.target(target)
            features = ScaledFeatures(data.x, self.device)
            edges = PeerEdges.of(data.graph, self.device)
            scores = training.predict(features, edges).cpu()
            yield self._row(
                leg,
                target,
                seed,
                at_home,
                scores,
                seconds=seconds,
                setting=found.setting.to_json(),
            )

    def _ours(
        self, leg: Leg, source: NodeData, seed: int, start: float
    ) -> Iterator[dict[str, Any]]:
        how = OURS[leg.method]
        prepared = by_itself(source) if how.standardises else source
        first = SGATClassifier(seed=seed, device=self.device).fit(prepared)
        at_home = _at_home(source, torch.from_numpy(first.predict_proba()))
        seconds = time.perf_counter() - start
        for name in self._others(leg.source):
            target = self.countries.target(name)
            target = by_itself(target) if how.standardises else target
            found, classifier = seconds, first
            if how.has_second_round:
                start = time.perf_counter()
                probability = torch.from_numpy(first.predict_proba(target))
                taught = pseudo_labelled(target, probability, PSEUDO_SHARE)
                classifier = SGATClassifier(seed=seed, device=self.device)
                classifier.fit([prepared, taught])
                found += time.perf_counter() - start
            probability = torch.from_numpy(classifier.predict_proba(target))
            model = classifier.config_.model
            setting = f"readout={model.readout} layers={model.layers}"
            more = {"seconds": found, "setting": setting}
            yield self._row(leg, name, seed, at_home, probability, **more)


def _at_home(source: NodeData, scores: Tensor) -> float:
    """ROC AUC of the source's own test nodes."""
    return float(ScoredNodes.of(source.test, source.y).score(scores, "roc_auc"))
