"""Comparison: every training it takes, as far as they can be known already."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from sgat.config import DataConfig
from sgat.data.catalogue import CATALOGUE
from sgat.data.configured import Loaded
from sgat.data.node_data import NodeData, check, fingerprint
from sgat.training.fresh_model import chosen_scorer
from sgat_lab.compare.pruners import (
    ATTENTION,
    PRUNERS,
    SGAT,
    SGAT_RECOMMENDED,
    SGATS,
    PrunedTask,
    kept_edges,
)
from sgat_lab.config import LabConfig, MadeDataConfig
from sgat_lab.sparsifiers import links
from sgat_lab.trials.options import Options
from sgat_lab.trials.probes import unpacked
from sgat_lab.trials.row_settings import settings
from sgat_lab.trials.store import Store

FULL, MLP = "full", "mlp"
METHODS = (*PRUNERS, MLP)
"""Methods to choose from; the full graph is always there."""
RETRAINED = {"gcn": "GCN", "gat": "GAT, 2 heads"}
"""Models that are trained anew on what a method keeps, and what they are called."""
ROWS = {
    **{"gcn": "gcn", "gat": "gat-2head", "mlp": "mlp"},
    **{SGAT: "sgat-2head", SGAT_RECOMMENDED: "sgat-recommended"},
}
"""Row of the tables whose settings a model has."""


class Place(NamedTuple):
    """Owner of a score: a model on the edges that a method kept.

    Attributes:
        method: A name in `PRUNERS`, "full" for all edges or "mlp" for none.
        budget: Share of the links that is kept; None for all or none, or where the
            recommended SGAT finds it.
        model: "gcn" or "gat", retrained; "mlp"; or one of `SGATS`, trained to this
            budget.
    """

    method: str
    budget: float | None
    model: str


FREE = Place(SGAT_RECOMMENDED, None, SGAT_RECOMMENDED)
"""The recommended SGAT as it is without a budget."""


def splits_vary(data: DataConfig, loaded: Loaded) -> bool:
    """Whether every seed has nodes of its own to train, validate and test on."""
    split = data.split
    if split is None and loaded.files is not None:
        return loaded.drew_split
    if split is None and data.name in CATALOGUE:
        split = CATALOGUE[data.name].default_split
    drawn = ("random-", "stratified-", "uniform-")
    return split == "geom-gcn" or (split or "").startswith(drawn)


def check_comparable(graphs: Sequence[NodeData]) -> None:
    """Refuse data on which there is nothing to compare.

    Raises:
        ValueError: If the data is bad, or has no edges or test nodes.
    """
    check(graphs)
    name = graphs[0].name
    if not sum(data.graph.num_edges for data in graphs):
        raise ValueError(f"{name!r} has no edges to choose from.")
    if not any(bool(data.test.any()) for data in graphs):
        raise ValueError(f"{name!r} has no test nodes to judge by; choose a `split`.")


class Comparison:
    """Methods at the same budgets on one data set, with several seeds.

    Args:
        data: Where the data comes from.
        loaded: The data itself, with the split of any seed.
        budgets: Shares of the links to keep, in (0, 1).
        methods: Of `METHODS`.
        seeds: Of splits, weights, noise and choices.
        epochs: Of every training; None as the settings have it.
        quick: Few epochs, for a look.
    """

    def __init__(
        self,
        data: DataConfig,
        loaded: Loaded,
        *,
        budgets: Sequence[float],
        methods: Sequence[str] = METHODS,
        seeds: Sequence[int] = (0,),
        epochs: int | None = None,
        quick: bool = False,
    ) -> None:
        self.data, self.graphs = data, loaded.graphs
        self.budgets, self.methods, self.seeds = budgets, methods, seeds
        self.epochs, self.quick = epochs, quick
        self.splits_vary = splits_vary(data, loaded)
        self.is_undirected = all(part.graph.is_undirected for part in self.graphs)
        self.num_links = sum(len(links(part.graph).edge) for part in self.graphs)
        self._sha256 = _fingerprint(self.graphs, self.splits_vary)
        self._kept: dict[tuple[str, float, int], tuple[bytes, ...]] = {}

    @property
    def pruners(self) -> list[str]:
        """The methods that choose edges."""
        return [method for method in self.methods if method in PRUNERS]

    @property
    def trained(self) -> list[Place]:
        """The trainings of an SGAT of its own, for one seed."""
        methods = [method for method in self.methods if method in SGATS]
        found = [Place(m, budget, m) for m in methods for budget in self.budgets]
        return [*found, FREE] if SGAT_RECOMMENDED in methods else found

    @property
    def split(self) -> str | None:
        """Name of the split; None for that of the user's files."""
        if self.data.split is None and self.data.name in CATALOGUE:
            return CATALOGUE[self.data.name].default_split
        return self.data.split

    def config(self, model: str, seed: int, budget: float | None = None) -> LabConfig:
        """The settings of a model, the same whatever chose the edges.

        They are those of the tables for this data set and protocol, or what the tables
        start from for other data. SGAT keeps links as one, as all methods here do. What
        is recommended depends on the number of edges, as in `sgat fit`.
        """
        found = settings(ROWS[model], self.data.name or "", self.split, seed)
        data = MadeDataConfig(**vars(self.data))
        config = dataclasses.replace(found, data=data)
        if model == SGAT_RECOMMENDED:
            scorer = chosen_scorer(config.model)
            config = config.replace(model={"scorer": scorer})
        if model in SGATS:
            config = config.replace(
                model={"symmetric": self.is_undirected}, train={"keep": budget}
            )
        if self.epochs is not None:
            config = config.replace(train={"epochs": self.epochs, "warmup": None})
        return Options(quick=self.quick).applied(config)

    def tasks(self, store: Store) -> dict[tuple[Place, int], PrunedTask]:
        """The trainings by place and seed, those that choose edges first.

        Trainings on the choice of a method that learns are there once it has learned.
        """
        found: dict[tuple[Place, int], PrunedTask] = {}
        for seed in self.seeds:
            for model in RETRAINED:
                place = Place(FULL, None, model)
                probe = "edge_scores" if model == "gat" else ""
                found[place, seed] = self._task(place, seed, probe=probe)
            if MLP in self.methods:
                place = Place(MLP, None, MLP)
                found[place, seed] = self._task(place, seed)
            for place in self.trained:
                found[place, seed] = self._task(place, seed, probe="edge_scores")
        for method in self.pruners:
            for budget in self.budgets:
                for seed in self.seeds:
                    kept = self.kept(method, budget, seed, store)
                    for model in RETRAINED if kept is not None else ():
                        place = Place(method, budget, model)
                        found[place, seed] = self._task(place, seed, kept)
        return found

    @property
    def num_tasks(self) -> int:
        """Number of trainings when all are known."""
        learned = len(self.trained)
        retrained = len(self.pruners) * len(self.budgets) * len(RETRAINED)
        without = 1 if MLP in self.methods else 0
        return len(self.seeds) * (len(RETRAINED) + without + learned + retrained)

    def kept(
        self, method: str, budget: float, seed: int, store: Store
    ) -> tuple[bytes, ...] | None:
        """The edges that a method keeps; None if it has not learned yet."""
        key = (method, budget, seed)
        if key not in self._kept:
            scores = None
            if method in (ATTENTION, *SGATS):
                scores = self._scores(method, budget, seed, store)
                if scores is None:
                    return None
            self._kept[key] = kept_edges(method, self.graphs, budget, seed, scores)
        return self._kept[key]

    def _scores(
        self, method: str, budget: float, seed: int, store: Store
    ) -> list[Tensor] | None:
        """Edge scores of a trained model; None before it is trained."""
        attention = Place(FULL, None, "gat")
        place = attention if method == ATTENTION else Place(method, budget, method)
        record = store.find(self._task(place, seed, probe="edge_scores"))
        return None if record is None else unpacked(record.extra)

    def _task(
        self,
        place: Place,
        seed: int,
        kept: tuple[bytes, ...] | None = None,
        *,
        probe: str = "",
    ) -> PrunedTask:
        at = "" if place.budget is None else f"-{place.budget:g}"
        return PrunedTask(
            row=f"{place.method}{at}-{place.model}",
            config=self.config(place.model, seed, place.budget),
            probe=probe,
            data_sha256=self._sha256,
            kept=kept,
        )


def _fingerprint(graphs: Sequence[NodeData], splits_vary: bool) -> str:
    """Fingerprint of the data, the same for any seed."""
    if splits_vary:
        nobody = [torch.zeros_like(data.train) for data in graphs]
        graphs = [
            data.with_split(none, none, none)
            for data, none in zip(graphs, nobody, strict=True)
        ]
    return fingerprint(graphs)
