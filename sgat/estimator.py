"""SGATClassifier: fit, predict, score, sparsify."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import torch
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError
from torch import Tensor

from sgat import metrics
from sgat.config import Config
from sgat.data.inputs import to_node_data, to_pruned
from sgat.data.node_data import NodeData, check, check_features
from sgat.edge_scores import EdgeScores
from sgat.models import SGAT
from sgat.pruning import Rules, apply_rules
from sgat.saved_model import model_header
from sgat.tables import edge_scores, edge_table
from sgat.train import EpochRecord, chosen_device, fit, resolved

_MODEL_ARGUMENTS = (
    *("hidden", "heads", "layers", "scorer", "readout"),
    *("dropout", "attention_dropout"),
)
_TRAIN_ARGUMENTS = (
    *("keep", "l0_weight", "epochs", "lr", "weight_decay"),
    *("patience", "seed", "device"),
)


class SGATClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # untyped
    """A node classifier that learns which edges to listen to.

    The defaults are the recommended settings: they need no tuning, remove little from a
    graph whose edges are sound and most of what is noise from one whose are not. The
    paper's method is `SGATClassifier(scorer="additive", readout="linear")`.

    `fit`, `predict`, `score` and `sparsify` take one of

    * a PyG `Data` with masks (without them, a share of the labelled nodes is held out);
    * a list of `Data` to train on, with `val=` and `test=` lists of others;
    * a networkx graph with node attributes for label, features and split;
    * plain arrays: features `X` [N, K], `edges` [2, E] and labels `y` [N];
    * `NodeData`, or a list of them, as `sgat.data.load` returns.

    Args:
        hidden: Width of each attention head.
        heads: Number of heads.
        layers: Number of attention layers; of the read-outs "diffusion" and "beliefs",
            how many steps far a node is heard. Not used where "auto" takes "diffusion".
        scorer: What gates look at. "evidence" judges every edge against random pairs
            of nodes before training, and closes the gates of those that look like
            noise; "additive" is the paper's gate, which training alone opens and
            closes; "auto" takes the first up to ten million edges and the second
            beyond; see `sgat.scorers` for others.
        readout: "auto" lets the data choose: "diffusion", which averages class scores
            along the edges, ten steps far, where edges tend to join nodes of one class;
            else "beliefs", which keeps nodes and neighbours apart, with 0 layers where
            edges say nothing of the classes. Where nodes have several labels, or the
            scorer is not "evidence", it takes "attention" for "diffusion". "linear" is
            the paper's.
        keep: Share of the edges to keep, in (0, 1]; None leaves it to `l0_weight`.
        l0_weight: λ, the price of an expected open edge; not used with `keep`.
        epochs: Passes over the training graphs.
        lr: Learning rate.
        weight_decay: L2 penalty on the parameters.
        dropout: Share of features to drop before every projection in training.
        attention_dropout: Share of attention coefficients to drop in training.
        patience: Stop after so many epochs without a better validation score.
        validation: Share of the labelled nodes to hold out where there is no split.
        seed: Of everything that is drawn: same seed, same result.
        device: "auto", "cpu", "cuda" or any other name torch knows.
        model: Further entries of `sgat.ModelConfig`, such as {"readout": "attention"}.
        train: Further entries of `sgat.TrainConfig`, such as {"ties": "first"}.

    Attributes:
        model_: The trained `SGAT`, in evaluation mode.
        classes_: Class names in the order of the columns of `predict_proba`.
        edges_: One row per edge of the training graphs, self-loops left out: src, dst,
            weight, log_alpha, probability, gate, kept, attention (and graph, if there
            are several).
        history_: One row per epoch.
        best_epoch_: The epoch the model was taken from.
        noise_share_: Share of the training graphs' edges that is estimated to be noise;
            None unless gates go by evidence, and where there are no edges.
        config_: All settings.
        graphs_: The training data as `NodeData`.
    """

    def __init__(
        self,
        hidden: int = 64,
        heads: int = 2,
        layers: int = 2,
        scorer: str = "auto",
        readout: str = "auto",
        keep: float | None = None,
        l0_weight: float = 1e-6,
        epochs: int = 200,
        lr: float = 0.01,
        weight_decay: float = 5e-4,
        dropout: float = 0.5,
        attention_dropout: float = 0.5,
        patience: int | None = None,
        validation: float = 0.2,
        seed: int = 0,
        device: str = "auto",
        model: dict[str, Any] | None = None,
        train: dict[str, Any] | None = None,
    ) -> None:
        self.hidden = hidden
        self.heads = heads
        self.layers = layers
        self.scorer = scorer
        self.readout = readout
        self.keep = keep
        self.l0_weight = l0_weight
        self.epochs = epochs
        self.lr = lr
        self.weight_decay = weight_decay
        self.dropout = dropout
        self.attention_dropout = attention_dropout
        self.patience = patience
        self.validation = validation
        self.seed = seed
        self.device = device
        self.model = model
        self.train = train

    def fit(
        self,
        data: Any,
        edges: Any = None,
        y: Any = None,
        *,
        edge_weight: Any = None,
        train: Any = None,
        val: Any = None,
        test: Any = None,
        on_epoch: Callable[[EpochRecord], None] | None = None,
        **options: Any,
    ) -> SGATClassifier:
        """Train on the data.

        Args:
            data: See the class; for plain arrays the features X, [N, K].
            edges: With plain arrays, node numbers in rows `src` and `dst`, [2, E].
            y: With plain arrays, labels, [N] or [N, C]; None, NaN or -1 for no label.
            edge_weight: With plain arrays, weights A ≥ 0, [E].
            train: With plain arrays, mask or numbers of the training nodes.
            val: The same for validation; with a list of `Data`, a list of others.
            test: The same for testing.
            on_epoch: Called with the record of each epoch.
            options: With a networkx graph, the names of its attributes: `label`,
                `features`, `split`, `weight`; with a PyG `Data`, `split_index`.

        Returns:
            The classifier itself.

        Raises:
            ValueError: If data or settings cannot be trained with; one sentence.
        """
        config = self._config()
        graphs = to_node_data(
            data,
            edges,
            y,
            edge_weight=edge_weight,
            train=train,
            val=val,
            test=test,
            validation=self.validation,
            seed=self.seed,
            **options,
        )
        check(graphs)
        config = dataclasses.replace(config, model=resolved(config.model, graphs))
        result = fit(graphs, config.model, config.train, on_epoch=on_epoch)
        if result.interrupted:
            raise KeyboardInterrupt
        self._input, self._options = data, options
        self._given_edges, self._given_weight = edges, edge_weight
        history = pd.DataFrame([dataclasses.asdict(r) for r in result.records])
        header = model_header(graphs[0], result.best_epoch)
        self._set_fitted(config, result.sgat, header, graphs, history)
        self._set_edges(edge_table(self.graphs_, self._scores(self.graphs_)))
        return self

    @classmethod
    def from_run(
        cls,
        config: Config,
        model: SGAT,
        header: dict[str, Any],
        *,
        history: Any,
        edges: Any = None,
    ) -> SGATClassifier:
        """A fitted classifier from the content of a run folder."""
        arguments: dict[str, Any] = {
            **{name: getattr(config.model, name) for name in _MODEL_ARGUMENTS},
            **{name: getattr(config.train, name) for name in _TRAIN_ARGUMENTS},
            "model": _other_settings(config.model, _MODEL_ARGUMENTS),
            "train": _other_settings(config.train, _TRAIN_ARGUMENTS),
        }
        try:
            chosen_device(config.train.device)
        except ValueError:
            # Trained on a device that this machine does not have.
            arguments["device"] = "auto"
        classifier = cls(**arguments)
        classifier._set_fitted(config, model, header, [], history)
        if edges is not None:
            classifier._set_edges(edges)
        return classifier

    def _set_fitted(
        self,
        config: Config,
        model: SGAT,
        header: dict[str, Any],
        graphs: Sequence[NodeData],
        history: Any,
    ) -> None:
        self.config_ = config
        self.model_ = model
        self.header_ = header
        self.graphs_ = list(graphs)
        self.classes_ = np.array(header["classes"])
        self.is_multilabel_ = header["multilabel"]
        self.n_features_in_ = header["num_features"]
        self.best_epoch_ = header["best_epoch"]
        self.noise_share_ = model.noise_share
        self.history_ = history

    def _set_edges(self, edges: Any) -> None:
        self.edges_ = edges
        # Evidence that has seen no edge says 0.
        if not len(edges):
            self.noise_share_ = None

    def predict(
        self,
        data: Any = None,
        edges: Any = None,
        *,
        edge_weight: Any = None,
        **options: Any,
    ) -> Any:
        """Class of every node, [N]; for several labels 0/1, [N, C].

        Args:
            data: Data of the kind `fit` takes, labels not needed; None for the data
                the model was trained on.
            edges: With plain arrays, the edges.
            edge_weight: With plain arrays, their weights.
            options: As in `fit`; those given to `fit` hold where they are left out.

        Returns:
            An array; for a list of graphs, a list of arrays.
        """
        graphs = self._graphs(data, edges, options, edge_weight=edge_weight)
        return self._for_each(self._decide, data, graphs)

    def predict_proba(
        self,
        data: Any = None,
        edges: Any = None,
        *,
        edge_weight: Any = None,
        **options: Any,
    ) -> Any:
        """Probability of every class at every node, [N, C]; see `predict`."""
        graphs = self._graphs(data, edges, options, edge_weight=edge_weight)
        return self._for_each(self._probabilities, data, graphs)

    def score(
        self,
        data: Any = None,
        edges: Any = None,
        y: Any = None,
        *,
        edge_weight: Any = None,
        role: Literal["train", "val", "test"] | None = None,
        **options: Any,
    ) -> float:
        """Accuracy, or micro-F1 for several labels.

        Args:
            data: As in `predict`.
            edges: With plain arrays, the edges.
            y: With plain arrays, the labels.
            edge_weight: With plain arrays, the weights of the edges.
            role: Nodes to score; None takes the test nodes, or all labelled nodes where
                there are no test nodes.
            options: As in `fit`.
        """
        if role not in (None, "train", "val", "test"):
            raise ValueError(f"`role` must be train, val or test, got {role!r}.")
        graphs = self._graphs(
            data, edges, options, y=y, edge_weight=edge_weight, need_labels=True
        )
        logits, labels = [], []
        has_test = any(bool(graph.test.any()) for graph in graphs)
        for graph in graphs:
            if role is not None or has_test:
                mask = getattr(graph, role or "test")
            else:
                mask = torch.ones(graph.num_nodes, dtype=torch.bool)
                mask = mask if graph.is_multilabel else graph.y >= 0
            logits.append(self._logits(graph)[mask])
            labels.append(graph.y[mask])
        if not sum(map(len, labels)):
            what = f"node with the role {role!r}" if role else "labelled node"
            raise ValueError(f"There is no {what} to score the predictions on.")
        return metrics.score(torch.cat(logits), torch.cat(labels)).item()

    def score_edges(
        self,
        data: Any = None,
        edges: Any = None,
        *,
        edge_weight: Any = None,
        **options: Any,
    ) -> Any:
        """The table `edges_` for other data: scores of edges not seen in training."""
        graphs = self._graphs(data, edges, options, edge_weight=edge_weight)
        return edge_table(graphs, self._scores(graphs))

    def sparsify(
        self,
        data: Any = None,
        edges: Any = None,
        *,
        edge_weight: Any = None,
        keep: float | None = None,
        threshold: float | None = None,
        symmetric: Literal["max", "min", "mean"] | None = None,
        min_degree: int = 0,
        keep_connected: bool = False,
        protect: Any = None,
        **options: Any,
    ) -> Any:
        """Remove the edges whose gate is closed, or those that the rules remove.

        The rules are those of `sgat.pruning.Rules`; with a list of graphs they hold for
        each. Where the edges have no direction, both directions stay or go as one, by
        the larger score unless `symmetric` says otherwise.

        Args:
            data: As in `predict`; None for the data the model was trained on.
            edges: With plain arrays, the edges.
            edge_weight: With plain arrays, their weights.
            keep: Share of the edges to keep by score, in (0, 1].
            threshold: The log α above which edges are kept, in place of the model's.
            symmetric: Both directions of an edge stay or go as one, by the larger
                ("max"), the smaller ("min") or the mean score.
            min_degree: Every node keeps its so many best in-edges, or all it has.
            keep_connected: Keep a maximum spanning forest of the scores, so that what
                was connected stays so.
            protect: Edges that are never removed: pairs (src, dst) of node ids, or node
                numbers [2, P]; with a list of graphs, a list of such.
            options: As in `fit`.

        Returns:
            What came in, of the same type, with the kept edges only and A_ij z_ij as
            weight: a `Data` with `edge_weight`, a networkx graph, a list of them; for
            plain arrays the kept `edges` and their weights. z_ij is the model's gate,
            which opens at a lower score where `keep` or `threshold` keep more than the
            model would; an edge that another rule keeps below that has a small positive
            z_ij, see `sgat.pruning.chosen_scores`.
        """
        rules = Rules(keep, threshold, symmetric, min_degree, keep_connected)
        if data is None:
            data, edges, options = self._remembered()
            edge_weight = self._given_weight
        graphs = self._graphs(data, edges, options, edge_weight=edge_weight)
        scores = self._scores(graphs)
        if rules != Rules() or protect is not None:
            given = protect if isinstance(data, list | tuple) else [protect]
            gates = self.model_.gating.gates
            scores = apply_rules(rules, graphs, scores, given, gates)
        known = self._known_options(data, options)
        return to_pruned(data, edges, graphs, scores, edge_weight, known)

    def save(self, path: str | Path) -> None:
        """Write a run folder that `sgat.load` reads; see docs/files.md."""
        from sgat.saved_model import save_classifier

        self._check_fitted()
        save_classifier(self, Path(path))

    def _config(self) -> Config:
        model = {name: getattr(self, name) for name in _MODEL_ARGUMENTS}
        train = {name: getattr(self, name) for name in _TRAIN_ARGUMENTS}
        train["device"] = str(self.device)
        sections = {
            "model": {**model, **(self.model or {})},
            "train": {**train, **(self.train or {})},
        }
        given = {
            section: {key: value for key, value in entries.items() if value is not None}
            for section, entries in sections.items()
        }
        return Config.from_dict(given, where="SGATClassifier")

    def _check_fitted(self) -> None:
        if not hasattr(self, "model_"):
            raise NotFittedError("This SGATClassifier is not fitted; call `fit` first.")

    def _remembered(self) -> tuple[Any, Any, dict[str, Any]]:
        self._check_fitted()
        if getattr(self, "_input", None) is None:
            raise ValueError(
                "A loaded classifier does not hold its training data;"
                " give the data to this call."
            )
        return self._input, self._given_edges, self._options

    def _graphs(
        self,
        data: Any,
        edges: Any,
        options: dict[str, Any],
        *,
        y: Any = None,
        edge_weight: Any = None,
        need_labels: bool = False,
    ) -> list[NodeData]:
        """The data as the model reads it; labels matter only where they are needed."""
        self._check_fitted()
        if data is None:
            if not self.graphs_:
                self._remembered()
            return self.graphs_
        graphs = to_node_data(
            data,
            edges,
            y,
            edge_weight=edge_weight,
            validation=self.validation,
            classes=tuple(self.classes_.tolist()) if need_labels else None,
            seed=self.seed,
            **self._known_options(data, options),
        )
        for graph in graphs:
            if graph.num_features != self.n_features_in_:
                raise ValueError(
                    f"`data` must have the {self.n_features_in_} features the model"
                    f" was trained on, got {graph.num_features}."
                )
            check_features(graph)
            self._check_edges(graph)
        return graphs

    def _known_options(self, data: Any, options: dict[str, Any]) -> dict[str, Any]:
        """The options, and those given to `fit` for data of the same kind."""
        if type(data) is not type(getattr(self, "_input", None)):
            return options
        return {**self._options, **options}

    def _check_edges(self, data: NodeData) -> None:
        if self.config_.model.gate_mode == "inductive":
            return
        if data.graph.fingerprint != self.header_["edges_sha256"]:
            raise ValueError(
                "Transductive gates know the edges of the graph they were trained on"
                " and no others, got another graph; train with gate_mode='inductive'."
            )

    def _for_each(
        self, result: Callable[[NodeData], Any], data: Any, graphs: list[NodeData]
    ) -> Any:
        results = [result(graph) for graph in graphs]
        given = getattr(self, "_input", None) if data is None else data
        several = isinstance(given, list | tuple) or len(graphs) > 1
        return results if several else results[0]

    @torch.no_grad()
    def _logits(self, graph: NodeData) -> Tensor:
        device = chosen_device(str(self.device))
        moved = graph.to(device)
        logits: Tensor = self.model_.to(device)(moved.x, moved.graph)
        return logits.cpu()

    def _probabilities(self, graph: NodeData) -> np.ndarray[Any, Any]:
        logits = self._logits(graph).double()
        if self.is_multilabel_:
            return logits.sigmoid().numpy()
        return logits.softmax(dim=1).numpy()

    def _decide(self, graph: NodeData) -> np.ndarray[Any, Any]:
        logits = self._logits(graph)
        if self.is_multilabel_:
            return (logits > 0).long().numpy()
        decided: np.ndarray[Any, Any] = self.classes_[logits.argmax(dim=1).numpy()]
        return decided

    def _scores(self, graphs: Sequence[NodeData]) -> list[EdgeScores]:
        device = chosen_device(str(self.device))
        return edge_scores(self.model_.to(device), [data.to(device) for data in graphs])


def _other_settings(section: Any, arguments: Sequence[str]) -> dict[str, Any] | None:
    """The settings that are no arguments of the classifier and not the default."""
    found = {
        field.name: getattr(section, field.name)
        for field in dataclasses.fields(section)
        if field.name not in arguments and getattr(section, field.name) != field.default
    }
    return found or None
