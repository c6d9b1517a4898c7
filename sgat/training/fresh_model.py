"""Fresh models: settings completed by the data, weights drawn, every graph judged once.

Tested by tests/training/test_fresh_model.py, test_chosen_readout.py,
test_judged_data.py, test_judged_use.py and test_scaled_data.py.
"""

import dataclasses
import inspect
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

import torch
from safetensors.torch import load, save
from torch import Tensor

from sgat.config import ModelConfig, TrainConfig
from sgat.data.node_data import NodeData
from sgat.gates import chosen_gates
from sgat.judging import EdgeJudge, Example, edges_ignore_classes, is_assortative
from sgat.judging.memory import check_training
from sgat.models import SGAT
from sgat.node_classifier import NodeClassifier
from sgat.parallel.ranks import Ranks
from sgat.scorers import EvidenceScorer, RevisedScorer

Build = Callable[[NodeData], NodeClassifier]
"""Makes another model than SGAT for data of these sizes; weights are drawn later."""


class Observed(NamedTuple):
    """Graphs as a model sees them, on its device, and the judge of their edges."""

    graphs: list[NodeData]
    judge: EdgeJudge | None  # None where gates go by something else than evidence


def examples(graphs: Sequence[NodeData]) -> list[Example]:
    """The graphs with training nodes, and the classes of these nodes."""
    training = [data for data in graphs if bool(data.train.any())]
    return [Example.of(data.graph, data.x, data.y, data.train) for data in training]


def chosen_scorer(model: ModelConfig) -> Literal["evidence", "additive"]:
    """The scorer that "auto" stands for: evidence, whatever the size of the graph.

    The transductive mode takes no scorer but the paper's.
    """
    return "additive" if model.gate_mode == "transductive" else "evidence"


def chosen_readout(model: ModelConfig, graphs: Sequence[NodeData]) -> dict[str, Any]:
    """The read-out that "auto" stands for on these graphs, as entries of `ModelConfig`.

    Where edges tend to join nodes of one class, scores are averaged along them; gates
    that training moves learn better by layers of attention, and several labels depend
    on more of a neighbour than its scores. Elsewhere beliefs travel; no step, whatever
    `layers` was, if edges ignore the classes.
    """
    by_evidence = model.scorer == "evidence"
    known, num_classes = examples(graphs), graphs[0].num_classes
    if is_assortative(known, num_classes):
        if not by_evidence or any(data.is_multilabel for data in graphs):
            return {"readout": "attention"}
        return {"readout": "diffusion"}
    if by_evidence and edges_ignore_classes(known, num_classes):
        return {"readout": "beliefs", "layers": 0}
    return {"readout": "beliefs"}


def resolved(model: ModelConfig, graphs: Sequence[NodeData]) -> ModelConfig:
    """The settings of a network with those that depend on the data filled in."""
    if model.readout == "beliefs" and any(data.is_multilabel for data in graphs):
        raise ValueError(
            "`readout` must not be beliefs where nodes have several labels: a belief is"
            " in one class; use attention, diffusion or auto."
        )
    if model.scorer == "auto":
        model = dataclasses.replace(model, scorer=chosen_scorer(model))
    if model.readout == "auto":
        model = dataclasses.replace(model, **chosen_readout(model, graphs))
    if model.symmetric is None:
        symmetric = not any(data.has_directions for data in graphs)
        return dataclasses.replace(model, symmetric=symmetric)
    if model.symmetric and not all(data.graph.is_undirected for data in graphs):
        raise ValueError(
            "`symmetric` must be false on a directed graph: some edge has no reverse"
            " of the same weight."
        )
    return model


def check_size(
    graphs: Sequence[NodeData],
    model: ModelConfig,
    train: TrainConfig,
    device: torch.device,
) -> None:
    """Refuse graphs that are trained on together and do not fit on the device."""
    if train.batch_size is None:
        nodes = sum(data.graph.num_nodes for data in graphs)
        edges = sum(data.graph.num_edges for data in graphs)
        width = model.hidden * model.heads
        check_training(nodes, edges, graphs[0].num_features, width, device)


def build_sgat(
    config: ModelConfig, inputs: int, outputs: int, num_edges: int, columns: Any = ()
) -> SGAT:
    """The network that settings describe, for data of these sizes and edge columns."""
    for name in ("scorer", "readout"):
        if getattr(config, name) == "auto":
            raise ValueError(f"`{name}` must not be auto here; see `resolved`.")
    shared = inspect.signature(SGAT).parameters.keys() & vars(config).keys()
    options: dict[str, Any] = {name: getattr(config, name) for name in shared}
    # Settings that have another form as arguments.
    options["gate_bias"] = config.gate_bias_start if config.gate_bias else None
    options["symmetric"] = bool(config.symmetric)
    options |= {"num_edges": num_edges, "gates": chosen_gates(config)}
    width = sum(each.width for each in columns)
    options["edge_dim"] = None if config.scorer == "evidence" else width or None
    return SGAT(inputs, config.hidden, outputs, **options)


def fresh_model(
    model: ModelConfig,
    graphs: Sequence[NodeData],
    train: TrainConfig,
    build: Build | None,
) -> NodeClassifier:
    """A model with the weights of `train.seed`, on the CPU: SGAT, unless `build`."""
    first = graphs[0]
    # Layers draw weights when they are made; torch's generator is not ours to move.
    with torch.random.fork_rng(devices=[]):
        if build is None:
            _check_sgat(model, graphs, train)
            sizes = first.num_features, first.num_classes, first.graph.num_edges
            fresh: NodeClassifier = build_sgat(model, *sizes, first.edge_columns)
        else:
            for name in ("keep", "snapshots"):
                if value := getattr(train, name):
                    raise ValueError(
                        f"`{name}` must be left out with `build`, got {value}."
                    )
            fresh = build(first)
    fresh.reset_parameters(torch.Generator().manual_seed(train.seed))
    return fresh


def _check_sgat(
    model: ModelConfig, graphs: Sequence[NodeData], train: TrainConfig
) -> None:
    if model.gate_mode == "transductive" and len(graphs) > 1:
        raise ValueError(
            "`gate_mode` must be inductive to train on several graphs:"
            " transductive gates know the edges of one graph only."
        )
    has_price = train.keep is None and train.l0_weight not in (0, TrainConfig.l0_weight)
    if has_price and model.scorer in ("evidence", "revised"):
        raise ValueError(
            "`l0_weight` must be left out where gates go by evidence, which no price"
            f" moves, got {train.l0_weight:g}; use `keep`, or the scorer additive."
        )
    if train.keep is not None and model.judged_edges != "remove":
        raise ValueError(
            "`judged_edges` must be remove with `keep`, which removes edges, got"
            f" {model.judged_edges}."
        )
    if train.keep is not None and not model.gate_bias:
        raise ValueError(
            "`gate_bias` must be true with `keep`: training to a share of edges moves"
            " the gate bias."
        )


def observe(
    model: NodeClassifier,
    graphs: Sequence[NodeData],
    *,
    seed: int,
    keep: float | None = None,
    judge: EdgeJudge | None = None,
    ranks: Ranks | None = None,
) -> list[NodeData]:
    """The data as a model is to see it: judged, where gates go by evidence.

    The scaling of the features and the judge are fitted to the graphs with training
    nodes, and the scale of the scores to the share of the edges to `keep`. Features
    stay as they are; the model scales them. A `judge` that has judged the graphs before
    is taken over, and nothing is judged again. Of several processes, the first judges.
    """
    if not isinstance(model, SGAT):
        return list(graphs)
    model.scaling.fit([data.x for data in graphs if bool(data.train.any())])
    if model.judge is None:
        return list(graphs)
    if judge is None:
        odds = iter(_fitted(model.judge, examples(graphs), seed, ranks))
        graphs = [
            _with_odds(data, next(odds))
            if bool(data.train.any())
            else judge_anew(model, data)
            for data in graphs
        ]
    else:
        model.judge.load_state_dict(judge.state_dict())
    known = [data.graph.log_odds for data in graphs if bool(data.train.any())]
    scorer = model.gating.scorer
    assert isinstance(scorer, EvidenceScorer)
    scorer.spread(torch.cat([odds for odds in known if odds is not None]), keep)
    if isinstance(scorer, RevisedScorer):
        scorer.learn_from(sum(int(data.train.sum()) for data in graphs))
    return list(graphs)


def _fitted(
    judge: EdgeJudge, known: list[Example], seed: int, ranks: Ranks | None
) -> list[Tensor]:
    """The log-odds of the edges of each graph; the judge is fitted to them."""
    if ranks is None:
        return judge.fit(known, seed=seed)

    def found() -> bytes:
        odds = {f"odds.{n}": o for n, o in enumerate(judge.fit(known, seed=seed))}
        return save({**odds, **judge.state_dict()})

    told = load(ranks.bytes_of_first(found))
    odds = [told.pop(f"odds.{n}") for n in range(len(known))]
    judge.load_state_dict(told)
    return odds


def judge_anew(model: SGAT, data: NodeData) -> NodeData:
    """The data with its graph judged, whatever log-odds it has."""
    blank = _with_odds(data, None)
    return dataclasses.replace(data, graph=model.judged(data.x, blank.graph))


def _with_odds(data: NodeData, odds: Tensor | None) -> NodeData:
    graph = dataclasses.replace(data.graph, log_odds=odds)
    return dataclasses.replace(data, graph=graph)
