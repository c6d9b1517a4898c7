"""GivenData: data as a user gave it, of any kind; read, and given back smaller."""

import dataclasses
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from sgat.config import FileOptions
from sgat.data.arrays import as_labels, from_arrays, held_out
from sgat.data.given_edges import kept_edges, read_edges
from sgat.data.hetero import (
    EDGE_TYPE,
    as_one_graph,
    is_hetero,
    labelled_type,
    node_ids,
    prune_hetero,
    rows_of,
)
from sgat.data.networkx_graph import edge_attributes, from_networkx, prune_networkx
from sgat.data.node_data import ROLES, NodeData, one_way_note
from sgat.data.pyg import from_pyg, prune_pyg
from sgat.data.splits import with_role
from sgat.features import SparseFeatures

COLUMN_OPTIONS = (
    "categorical",
    "text",
    "max_categories",
    "fill_missing",
    "unknown_category",
)
"""Those of `FileOptions` that say how columns of edges are read."""
COMMON_OPTIONS = ("validation", "classes", "seed", "edge_columns", *COLUMN_OPTIONS)
OPTIONS: dict[str, tuple[str, ...]] = {
    "plain arrays": ("undirected",),
    "a PyG Data": ("split_index", "undirected"),
    "a list of PyG Data": ("split_index", "undirected"),
    "a PyG HeteroData": ("node_type", "split_index", "undirected"),
    "a networkx graph": ("label", "features", "split", "weight"),
}
"""The options of each kind of data, besides the common ones."""
COLUMNS_OF = {
    "plain arrays": "columns of a pandas table `edges`",
    "a PyG HeteroData": "attributes that the edges of all types have, of one width",
}
"""Where the columns of edges stand, if not in attributes of these."""


@dataclasses.dataclass(frozen=True, eq=False)
class GivenData:
    """The data of a call of `SGATClassifier`, whose docstring lists the kinds."""

    data: Any  # for plain arrays the features X, [N, K]
    edges: Any = None  # with plain arrays, see `read_edges`
    edge_weight: Any = None  # with plain arrays, [E]
    options: dict[str, Any] = dataclasses.field(default_factory=dict)

    @property
    def is_list(self) -> bool:
        """Whether it is a list of graphs."""
        return isinstance(self.data, list | tuple)

    def after(self, earlier: Self | None, *, undirected: bool = False) -> Self:
        """The same, with the options of earlier data of its kind that are left out.

        `undirected` says that earlier edges of any kind had no direction.
        """
        is_alike = earlier is not None and type(self.data) is type(earlier.data)
        before = dict(earlier.options) if earlier is not None and is_alike else {}
        if earlier is not None and is_alike and is_hetero(earlier.data):
            before.setdefault("node_type", labelled_type(earlier.data))
        if undirected and not _is_networkx(self.data):
            before.setdefault("undirected", True)
        return dataclasses.replace(self, options={**before, **self.options})

    def read(
        self,
        y: Any = None,
        *,
        train: Any = None,
        val: Any = None,
        test: Any = None,
        **common: Any,
    ) -> list[NodeData]:
        """The graphs; see `SGATClassifier.fit` for the arguments."""
        data, how = self.data, {**common, **self.options}
        roles = dict(zip(ROLES, (train, val, test), strict=True))
        first = data[0] if self.is_list and data else data
        if isinstance(data, NodeData):
            return [_with_roles(data, **common)]
        if isinstance(first, NodeData):
            return _in_one_form(list(data))
        if self.is_list and _is_pyg(first):
            return _in_one_form(_from_lists(data, val, test, how))
        if self.edges is not None:
            reader = partial(from_arrays, edge_weight=self.edge_weight, **roles)
            return [_read("plain arrays", how, reader, data, self.edges, y)]
        if not (_is_pyg(data) or _is_networkx(data) or is_hetero(data)):
            raise ValueError(
                "`data` must be a PyG Data or HeteroData, a list of Data, a networkx"
                " graph, NodeData, or features X with `edges`, got"
                f" {'a list of ' * self.is_list}{type(first).__name__}."
            )
        given = {"y": y, "edge_weight": self.edge_weight, **roles}
        for name, value in given.items():
            if value is not None:
                raise ValueError(
                    f"`{name}` goes with plain arrays; a graph object has its own."
                )
        if _is_pyg(data):
            return [_read("a PyG Data", how, from_pyg, data)]
        if is_hetero(data):
            joined = as_one_graph(data, how.pop("node_type", None))
            columns = (EDGE_TYPE,) if len(data.edge_types) > 1 else ()
            how = {"edge_columns": columns, **how}
            found = _read("a PyG HeteroData", how, from_pyg, joined)
            return [dataclasses.replace(found, node_ids=node_ids(data))]
        return [_read("a networkx graph", how, from_networkx, data)]

    def notes(self, graphs: Sequence[NodeData]) -> tuple[str, ...]:
        """Notes on the graphs that `read` made of it, see `one_way_note`."""
        if not any(bool((part.graph.edge_weight > 0).any()) for part in graphs):
            return ("no edge has a weight above 0: every node is judged by itself",)
        first = self.data[0] if self.is_list else self.data
        # These say themselves whether their edges have directions.
        is_told = isinstance(first, NodeData) or _is_networkx(first)
        return () if is_told else one_way_note(graphs)

    def pruned(
        self,
        graphs: Sequence[NodeData],
        kept: Sequence[Tensor],
        factors: Sequence[Tensor],
    ) -> Any:
        """The data, of the same type, with the kept edges only.

        `graphs` are those that `read` made of it; `kept` and `factors`, [E] each, say
        which edges stay and what their weights are multiplied by. Where edges have no
        direction, the larger value of both directions counts.
        """
        if self.is_list:
            parts = zip(self.data, graphs, kept, factors, strict=False)
            return type(self.data)(
                GivenData(part, options=self.options).pruned([graph], [mask], [factor])
                for part, graph, mask, factor in parts
            )
        data, graph, mask, factor = self.data, graphs[0], kept[0], factors[0]
        if isinstance(data, NodeData):
            smaller = data.graph.select(mask, factor * data.graph.edge_weight)
            return dataclasses.replace(data, graph=smaller)
        if not graph.has_directions:
            mask, factor = map(graph.graph.larger_direction, (mask, factor))
        stays = graph.graph.to_input(mask.cpu(), loop=True)
        weight = graph.graph.to_input(factor.cpu(), loop=1.0)
        if _is_pyg(data):
            return prune_pyg(data, stays, weight, edge_attr=graph.graph.edge_attr)
        if is_hetero(data):
            return prune_hetero(data, stays, weight)
        if _is_networkx(data):
            name = self.options.get("weight", "weight")
            return prune_networkx(data, stays, weight, name=name)
        given = self.edge_weight
        if given is None:
            given = read_edges(self.edges, data)[1]
        if given is not None:
            weight = weight * torch.as_tensor(np.asarray(given)).to(weight)
        return kept_edges(self.edges, stays, weight)

    def of_nodes(self, results: list[Any]) -> Any:
        """Results at nodes as in `one_or_all`; of a `HeteroData` at those of a type."""
        if is_hetero(self.data):
            name = self.options.get("node_type") or labelled_type(self.data)
            return results[0][rows_of(self.data, name)]
        return self.one_or_all(results)

    def one_or_all(self, results: list[Any]) -> Any:
        """The result for a graph; for a list of graphs, the list of results."""
        return results if self.is_list or len(results) > 1 else results[0]


def _is_pyg(data: Any) -> bool:
    """Whether this is a PyG `Data`, found out without importing PyG."""
    return hasattr(data, "edge_index") and hasattr(data, "is_edge_attr")


def _is_networkx(data: Any) -> bool:
    """Whether this is a networkx graph, found out without importing networkx."""
    return hasattr(data, "nodes") and hasattr(data, "edges") and hasattr(data, "adj")


def _read(
    kind: str, options: dict[str, Any], reader: Callable[..., NodeData], *given: Any
) -> NodeData:
    """The data as it is read, with the columns of its edges that were asked for."""
    for name in options:
        if name not in (*OPTIONS[kind], *COMMON_OPTIONS):
            what = f"Unknown option {name!r} for {kind}; its options are"
            raise ValueError(f"{what}: {', '.join((*OPTIONS[kind], 'edge_columns'))}.")
    rest = dict(options)
    columns = rest.pop("edge_columns", None)
    how = {name: rest.pop(name) for name in COLUMN_OPTIONS if name in rest}
    if isinstance(columns, str):
        raise ValueError(f"`edge_columns` must be a list of names, got {columns!r}.")
    columns = () if columns is None else tuple(columns)
    names = [getattr(each, "name", each) for each in columns]
    asked = FileOptions.from_dict(how, where="edge_columns")
    _check_names(names, asked, how)
    if not columns:
        return reader(*given, **rest)
    from sgat.data.files.encoding import edge_numbers
    from sgat.data.files.source import in_memory

    edges, found = given[0] if len(given) == 1 else given[1], {}
    number = edges.num_edges if _is_pyg(edges) else None
    if _is_networkx(edges):
        edges = edge_attributes(edges, names)
    what = COLUMNS_OF.get(kind, f"attributes of the edges of {kind}")
    for name in names:
        if not hasattr(edges, "keys") or name not in edges:
            raise ValueError(f"`edge_columns` must name {what}, got {name!r}.")
        value = edges[name]
        shape = tuple(value.shape if hasattr(value, "shape") else np.shape(value))
        if number is not None and shape[:1] != (number,):
            raise ValueError(
                f"`edge_columns` must name {what}, got {name!r} of shape {list(shape)}"
                f" for {number} edges."
            )
        is_tensor = isinstance(value, Tensor)
        found[name] = list(value.numpy(force=True)) if is_tensor else value
    source = in_memory(found, "edges")
    columns, attr = edge_numbers(source, columns, asked)
    data = reader(*given, edge_attr=attr, **rest)
    return dataclasses.replace(data, edge_columns=columns)


def _check_names(names: list[str], asked: FileOptions, given: dict[str, Any]) -> None:
    """Refuse columns of edges named twice, and options of columns that none are."""
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"`edge_columns` must name each once, got {name!r} twice.")
    if given and not names:
        raise ValueError(f"`{next(iter(given))}` goes with `edge_columns`, got none.")
    for key in ("categorical", "text"):
        for name in getattr(asked, key):
            if name not in names:
                raise ValueError(f"`{key}` must name `edge_columns`, got {name!r}.")


def _with_roles(data: NodeData, *, validation: float, seed: int, **_: Any) -> NodeData:
    """The data with a share of its labelled nodes held out where none has a role."""
    if bool((data.train | data.val | data.test).any()):
        return data
    train, val = held_out(data.y, validation, seed)
    return data.with_split(train, val, data.test)


def _in_one_form(graphs: list[NodeData]) -> list[NodeData]:
    """Make the features of all graphs sparse if those of one are."""
    if not any(isinstance(data.x, SparseFeatures) for data in graphs):
        return graphs
    return [
        dataclasses.replace(data, x=SparseFeatures.from_dense(data.x))
        if isinstance(data.x, Tensor)
        else data
        for data in graphs
    ]


def _from_lists(
    train: Sequence[Any], val: Any, test: Any, options: dict[str, Any]
) -> list[NodeData]:
    for name, parts in (("val", val), ("test", test)):
        if parts is not None and not isinstance(parts, list | tuple):
            raise ValueError(
                f"`{name}` must be a list of graphs when `data` is one,"
                f" got {type(parts).__name__}."
            )
    by_masks = val is None and test is None
    roles = {"train": train, "val": val or (), "test": test or ()}
    found = (getattr(part, "y", None) for parts in roles.values() for part in parts)
    labels = [torch.as_tensor(y) for y in found if y is not None]
    has_columns = labels and labels[0].dim() == 2 and labels[0].shape[1] > 1
    if options.get("classes") is None and labels and not has_columns:
        everywhere = torch.cat([y.reshape(-1) for y in labels])
        _, classes = as_labels(everywhere, len(everywhere))
        options = {**options, "classes": classes}
    graphs = []
    for role, parts in roles.items():
        for number, part in enumerate(parts):
            reader = partial(from_pyg, name=f"{role}-{number}")
            data = _read("a list of PyG Data", options, reader, part)
            has_mask = getattr(part, "train_mask", None) is not None
            graphs.append(data if by_masks and has_mask else with_role(data, role))
            # Edges of all graphs are read as those of the first one.
            options = {**options, "edge_columns": graphs[0].edge_columns}
    return graphs
