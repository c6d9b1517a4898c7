"""The best possible: the verdict of a judge who knows how a block model was made."""

from __future__ import annotations

import time
from typing import Any

import torch.nn.functional as F
from torch import Tensor

from sgat_lab.synthetic.block_models import block_model, class_means
from sgat_lab.synthetic.block_posterior import (
    Chances,
    original_probability,
    own_beliefs,
    propagate,
)
from sgat_lab.trials.probes import MarkedEdges, planted_separation

BEST_POSSIBLE = "best-possible"
"""The row of this judge."""


def judged_best(name: str, seed: int, **options: Any) -> dict[str, Any]:
    """The verdict of the best judge on a block model, as entries of a `Record`.

    An edge goes if it is rather planted than original, and a node is of its likeliest
    class. The first round believes the truth: so of several agreements it is that of
    the best judge there could be. Where labels are shuffled, no class is given.

    Args:
        name: One of `BLOCK_MODELS`.
        seed: As of `block_model`.
        options: As of `block_model`.
    """
    begin = time.perf_counter()
    made = block_model(name, seed, **options)
    # Shuffled labels are not the classes that edges were drawn by.
    truth = block_model(name, seed, **(options | {"shuffled": False})).data.y
    data, graph = made.data, made.data.graph
    assert isinstance(data.x, Tensor), "features of a block model are dense"
    shape = data.num_classes, data.x.shape[1]
    mean = class_means(*shape, options["feature_signal"], seed)
    given = (None, None) if options.get("shuffled") else (data.y, data.train)
    chances = Chances.of(name, options["noise_rate"])
    start = F.one_hot(truth, data.num_classes).double()
    own = own_beliefs(data.x, mean, *given)
    found = propagate(own, graph, chances.joined, chances.apart, start)
    probability = original_probability(found.alike, chances)
    is_removed = probability < 0.5
    is_right = found.node.argmax(dim=1) == data.y
    crosses = truth[graph.dst] != truth[graph.src]
    judged = MarkedEdges(~made.is_signal, is_removed, probability)
    return {
        "test": float(is_right[data.test].double().mean()),
        "val": float(is_right[data.val].double().mean()),
        "removed": float(is_removed.double().mean()),
        "edges": graph.num_edges,
        "epochs": found.rounds,
        "seconds": time.perf_counter() - begin,
        "extra": planted_separation(judged, crosses),
    }
