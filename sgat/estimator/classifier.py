"""SGATClassifier: fit, predict, score, sparsify."""

import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from sgat.config import ModelConfig, TrainConfig
from sgat.config.arguments import from_arguments, to_arguments
from sgat.data.given_data import GivenData
from sgat.data.node_data import NodeData
from sgat.estimator import nodes
from sgat.estimator.plots import plot_node, plot_removal
from sgat.estimator.searched import searched
from sgat.pruning import Rules
from sgat.pruning.choice import apply_rules
from sgat.scored import ScoredGraph, edge_table, node_score, score_graphs
from sgat.training import saved_model
from sgat.training.files import read_parquet, read_records
from sgat.training.loop import chosen_device
from sgat.training.result import EpochRecord, Trial
from sgat.training.saved_model import SavedModel


class SGATClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # untyped
    """A node classifier that judges edges and learns without the wrong ones.

    The defaults are recommended: validation nodes choose the model, few right edges go
    and most wrong ones. The paper: SGATClassifier(scorer="additive", readout="linear").

    `fit`, `predict`, `score` and `sparsify` take one of

    * a PyG `Data` with masks (without them, a share of the labelled nodes is held out);
    * a PyG `HeteroData`: all types in one graph, `y` of one node type, which `predict`
      answers for (`node_type` names it where new data has no `y`);
    * a list of `Data` to train on, with `val=` and `test=` lists of others;
    * a networkx graph with node attributes for label, features and split;
    * features `X` [N, K], labels `y` [N] and `edges`: node numbers [2, E], a pandas
      table with columns src and dst, or a sparse matrix, see `read_edges`;
    * `NodeData`, as `sgat.data.files.read_graph` has it, or a list of them, as
      `sgat.data.load` returns.

    Arguments that are not listed are settings of `sgat.ModelConfig` and
    `sgat.TrainConfig`, which have their descriptions.

    Args:
        scorer: What gates depend on, see `sgat.ModelConfig`: "evidence" judges every
            edge before training, "additive" is the paper's gate.
        readout: How nodes get their class scores, see `sgat.ModelConfig`. "auto" trains
            a few candidates and lets the validation nodes choose.
        keep: Share of the edges to keep, in (0, 1]; None leaves it to the scorer.
        metric: Score that chooses the model, and that `score` gives.
        validation: Share of the labelled nodes to hold out where there is no split.
        seed: Seed of everything that is drawn; the same seed gives the same result.
        graph: A fixed graph, as a graph object or a tuple (X, edges). The samples of
            `fit`, `predict` and `score` are then numbers of its nodes, so that
            scikit-learn can divide them; features and edges of all are always seen.
        verbose: Show a bar while training, also in a notebook.
        device: "auto", "cpu", "cuda" or any other name torch knows.
        model: Further entries of `sgat.ModelConfig`, such as {"activation": "relu"}.
        train: Further entries of `sgat.TrainConfig`, such as {"ties": "first"}.

    Attributes:
        model_: The trained `SGAT`, or `Committee` of several, in evaluation mode.
        tried_: One row per candidate and round of the search; empty without one.
        classes_: Class names in the order of the columns of `predict_proba`.
        edges_: One row per edge of the training graphs without self-loops: src, dst,
            weight, log_alpha, probability, gate, kept, attention if used (and graph).
        history_: One row per epoch.
        best_epoch_: The epoch the model was taken from.
        noise_share_: Estimated share of wrong edges; None unless judged.
        config_: All settings.
        scored_: The training data with its scores, as `sgat.scored.ScoredGraph`.
        graphs_: The training data alone, as `NodeData`.
    """

    def __init__(
        self,
        hidden: int = ModelConfig.hidden,
        heads: int = ModelConfig.heads,
        layers: int = ModelConfig.layers,
        scorer: str = ModelConfig.scorer,
        readout: str = ModelConfig.readout,
        keep: float | None = TrainConfig.keep,
        l0_weight: float = TrainConfig.l0_weight,
        epochs: int = TrainConfig.epochs,
        lr: float = TrainConfig.lr,
        weight_decay: float = TrainConfig.weight_decay,
        dropout: float = ModelConfig.dropout,
        attention_dropout: float = ModelConfig.attention_dropout,
        metric: str = TrainConfig.metric,
        patience: int = TrainConfig.patience,
        validation: float = 0.2,
        seed: int = TrainConfig.seed,
        fast: bool = TrainConfig.fast,
        graph: Any = None,
        verbose: bool = False,
        device: str = TrainConfig.device,
        model: dict[str, Any] | None = None,
        train: dict[str, Any] | None = None,
    ) -> None:
        given = dict(locals())
        del given["self"]
        self.__dict__.update(given)

    def fit(
        self,
        data: Any,
        y: Any = None,
        edges: Any = None,
        *,
        edge_weight: Any = None,
        train: Any = None,
        val: Any = None,
        test: Any = None,
        on_epoch: Callable[[EpochRecord], None] | None = None,
        **options: Any,
    ) -> Self:
        """Train on the data.

        Args:
            data: See the class; for plain arrays the features X, [N, K].
            y: With plain arrays, labels, [N] or [N, C]; None, NaN, or -1 beside two or
                more classes from 0 on, for no label. A pandas Series beside a pandas
                table goes by its index.
            edges: With plain arrays, see the class.
            edge_weight: With plain arrays, weights A ≥ 0, [E].
            train: With plain arrays, mask or numbers of the training nodes.
            val: The same for validation; with a list of `Data`, a list of others.
            test: The same for testing.
            on_epoch: Called with the record of each epoch.
            options: With a networkx graph, the names of its attributes: `label`,
                `features`, `split`, `weight`; with a PyG `Data`, `split_index`. With a
                PyG `Data` or plain arrays, `undirected=True` if each edge stands for
                both directions; of weights of a pair, the largest counts then. With a
                pandas table of edges, or a `Data`: `edge_columns`, the names of columns
                or attributes of edges that the judge and gates look at (docs/guide.md),
                and options of `FileOptions` that say how these are read.

        Returns:
            The classifier; after Ctrl-C with the best model so far, and a warning.
        """
        settings = {**self.get_params(deep=False), "device": str(self.device)}
        config = from_arguments(settings)
        roles = {"train": train, "val": val, "test": test}
        how: dict[str, Any] = {"validation": self.validation, "seed": self.seed}
        if self.graph is None:
            given = GivenData(data, edges, edge_weight, options)
            graphs = given.read(y, **roles, **how)
        else:
            given = nodes.given_graph(self.graph, options)
            graphs = [nodes.with_labels(given.read(**how)[0], data, y, **how)]
        for note in given.notes(graphs):
            warnings.warn(note, stacklevel=2)
        result = searched(graphs, config, on_epoch, verbose=self.verbose)
        chosen = result.chosen
        assert chosen is not None
        history = pd.DataFrame(result.records)
        header = saved_model.model_header(graphs[0], result.best_epoch, chosen.members)
        scored = score_graphs(result.sgat, graphs, result.graphs)
        if self.graph is None and (names := nodes.column_names(data)):
            header["feature_names"] = names
        saved = SavedModel(chosen.settings(config), result.sgat, header)
        tables = history, edge_table(scored)
        self._set_fitted(saved, *tables, scored, given, chosen.tried)
        return self

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a classifier from a run folder of `sgat fit`, or of `save`.

        `edges_` and `history_` are there. The data is not in the folder: a call without
        data reads that of `sgat fit` again, and fails where `save` wrote the folder.
        """
        folder = Path(path)
        saved = saved_model.read_model(folder)
        arguments = to_arguments(saved.config, cls._get_param_names())
        arguments["device"] = saved_model.usable_device(saved.config.train.device)
        classifier = cls(**arguments)
        history = read_records(saved_model.place_of(folder, saved_model.METRICS))
        table = saved_model.place_of(folder, saved_model.EDGES)
        edges = read_parquet(table).to_pandas()
        classifier._set_fitted(saved, history, edges)
        classifier._folder = folder
        return classifier

    def _set_fitted(
        self,
        saved: SavedModel,
        history: Any,
        edges: Any,
        scored: Sequence[ScoredGraph] = (),
        given: GivenData | None = None,
        tried: Sequence[Trial] = (),
    ) -> None:
        header = saved.header
        self.config_ = saved.config
        self.model_ = saved.model
        self.header_ = header
        self.classes_ = np.array(header["classes"])
        self.is_multilabel_ = header["multilabel"]
        self.n_features_in_ = header["num_features"]
        self.best_epoch_ = header["best_epoch"]
        self.history_ = history
        self.edges_ = edges
        # Evidence that has seen no edge says 0.
        self.noise_share_ = saved.model.noise_share if len(edges) else None
        self.tried_ = pd.DataFrame(list(tried))
        self.scored_ = list(scored)
        self._fitted_on = given

    @property
    def graphs_(self) -> list[NodeData]:
        """The training data; none in a loaded classifier that has not read it."""
        return [part.data for part in self.scored_]

    def predict(self, data: Any = None, edges: Any = None, **options: Any) -> Any:
        """Class of every node, [N], or 0/1 labels, [N, C]; of several graphs a list.

        Args:
            data: Data of the kind `fit` takes, labels not needed; None for the data
                the model was trained on.
            edges: With plain arrays, the edges.
            options: `edge_weight` and options as in `fit`; options given to `fit` hold
                where they are left out.
        """
        given, scored = self._scored(data, edges, options)
        return given.of_nodes([self._named(part.prediction) for part in scored])

    def predict_proba(self, data: Any = None, edges: Any = None, **options: Any) -> Any:
        """Probability of every class at every node, [N, C]; see `predict`."""
        given, scored = self._scored(data, edges, options)
        return given.of_nodes([part.probability.numpy() for part in scored])

    def score(
        self,
        data: Any = None,
        y: Any = None,
        edges: Any = None,
        *,
        role: Literal["train", "val", "test"] | None = None,
        **options: Any,
    ) -> float:
        """The `metric` of the settings; NaN where the nodes give it no value.

        Args:
            data: As in `predict`.
            y: With plain arrays, or nodes of a `graph`, the labels.
            edges: With plain arrays, the edges.
            role: Nodes to score; None for test nodes, or all labelled without any.
            options: As in `predict`.
        """
        if role not in (None, "train", "val", "test"):
            raise ValueError(f"`role` must be train, val or test, got {role!r}.")
        scored = self._scored(data, edges, options, y=y, need_labels=True)[1]
        found, number = node_score(scored, role, self.config_.train.metric)
        if not number:
            what = f"node with the role {role!r}" if role else "labelled node"
            raise ValueError(f"There is no {what} to score the predictions on.")
        return float("nan") if found is None else found

    def score_edges(self, data: Any = None, edges: Any = None, **options: Any) -> Any:
        """The table `edges_` for other data: scores of edges not seen in training."""
        return edge_table(self._scored(data, edges, options)[1])

    def sparsify(
        self,
        data: Any = None,
        edges: Any = None,
        *,
        keep: float | None = None,
        threshold: float | None = None,
        symmetric: Literal["max", "min", "mean"] | None = None,
        min_degree: int = 0,
        keep_connected: bool = False,
        protect: Any = None,
        **options: Any,
    ) -> Any:
        """Remove the edges whose gate is closed, or those that the rules remove.

        `sgat.pruning.Rules` describes the rules; they hold for each of several graphs.
        Without direction both stay or go as one, by the larger score or `symmetric`.

        Args:
            data: As in `predict`; None for the data the model was trained on.
            edges: With plain arrays, the edges.
            keep: Share of the edges to keep by score, in (0, 1].
            threshold: The log α above which edges are kept, in place of the model's.
            symmetric: Score by which both directions of an edge stay or go as one.
            min_degree: Number of its best in-edges that every node keeps.
            keep_connected: Keep what was connected so.
            protect: Edges that are never removed: pairs (src, dst) of node ids, or node
                numbers [2, P]; with a list of graphs, a list of such.
            options: As in `predict`.

        Returns:
            The data, of the same type, with the kept edges only and A_ij z_ij as
            weight; for plain arrays what `kept_edges` of `sgat.data.given_edges` says.
            An edge that the model would not keep has the gate z_ij of
            `sgat.pruning.choice.chosen_scores`.
        """
        rules = Rules(keep, threshold, symmetric, min_degree, keep_connected)
        given, scored = self._scored(data, edges, options)
        # Graphs to validate and test on, which `fit` was given beside, are not pruned.
        scored = scored[: len(given.data) if given.is_list else 1]
        graphs = [part.data for part in scored]
        scores = [part.edges for part in scored]
        if rules != Rules() or protect is not None:
            protected = protect if given.is_list else [protect]
            gates = self.model_.gating.gates
            scores = apply_rules(rules, graphs, scores, protected, gates)
        kept, gate = [part.kept for part in scores], [part.gate for part in scores]
        return given.pruned(graphs, kept, gate)

    def save(self, path: str | Path) -> None:
        """Write a run folder that `sgat.load` reads; see docs/files.md."""
        check_is_fitted(self, "model_")
        saved = SavedModel(self.config_, self.model_, self.header_)
        saved_model.write_model(Path(path), saved, self.history_, self.edges_)

    plot_node, plot_removal = plot_node, plot_removal

    def _scored(
        self,
        data: Any,
        edges: Any,
        options: dict[str, Any],
        *,
        y: Any = None,
        need_labels: bool = False,
    ) -> tuple[GivenData, list[ScoredGraph]]:
        """The data of a call with its scores; without data, those of `fit`."""
        check_is_fitted(self, "model_")
        if self.graph is not None and data is not None:
            found = nodes.at_nodes(self.scored_[0], data, y, need_labels=need_labels)
            return nodes.given_graph(self.graph, options), [found]
        if data is None:
            if self._fitted_on is None:
                from sgat.runs.finished_run import scored_again

                self.scored_ = scored_again(self._folder)
                graphs = self.graphs_
                self._fitted_on = GivenData(graphs if len(graphs) > 1 else graphs[0])
            return self._fitted_on, self.scored_
        data = nodes.ordered(self.header_.get("feature_names", []), data)
        weight = options.pop("edge_weight", None)
        options["edge_columns"] = saved_model.edge_columns(self.header_)
        given = GivenData(data, edges, weight, options).after(
            self._fitted_on, undirected=bool(self.config_.model.symmetric)
        )
        # Labels matter only where they are needed.
        classes = tuple(self.classes_.tolist()) if need_labels else None
        how = {"validation": self.validation, "classes": classes, "seed": self.seed}
        graphs = given.read(y, **how)
        for graph in graphs:
            saved_model.check_fits(graph, self.config_, self.header_)
        model = self.model_.to(chosen_device(str(self.device)))
        return given, score_graphs(model, graphs, is_multilabel=self.is_multilabel_)

    def _named(self, prediction: Tensor) -> Any:
        several = prediction.dim() == 2
        return prediction.long().numpy() if several else self.classes_[prediction]


load = SGATClassifier.load
