"""Splits: which nodes train the model, which choose it, which are only reported on."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from sgat.data.node_data import ROLES, NodeData, labelled

Ids = np.ndarray[Any, np.dtype[np.int64]]
"""Positions of nodes, ascending."""
Shares = tuple[float, float, float]
"""Of the nodes that train, that validate and that test."""
Seed = int | Sequence[int]
GraphRoles = Mapping[str, Sequence[str]]
"""The names of the graphs with each role."""
ROLE_WORDS = {
    "": None,
    **dict.fromkeys(("train", "training"), "train"),
    **dict.fromkeys(("val", "valid", "validation", "dev"), "val"),
    "test": "test",
}
"""The role that each word of a split column stands for."""


@dataclasses.dataclass(frozen=True, eq=False)
class Split:
    """The roles of the nodes of one graph; a node named by none of them has no role."""

    train: Ids  # nodes whose labels train the model, ascending int64
    val: Ids  # nodes that choose the model
    test: Ids  # nodes that are only reported on
    num_nodes: int  # of the graph

    @classmethod
    def from_masks(cls, train: Tensor, val: Tensor, test: Tensor) -> Self:
        """Take over three boolean masks, [N] each."""
        masks = (mask.cpu().numpy() for mask in (train, val, test))
        train_ids, val_ids, test_ids = map(np.flatnonzero, masks)
        return cls(train_ids, val_ids, test_ids, len(train))

    @property
    def sizes(self) -> tuple[int, int, int]:
        """Number of nodes with each role."""
        return len(self.train), len(self.val), len(self.test)

    def masks(self) -> tuple[Tensor, Tensor, Tensor]:
        """Boolean masks of the three roles, [N] each."""
        nobody = torch.zeros(self.num_nodes, dtype=torch.bool)
        parts = map(torch.from_numpy, (self.train, self.val, self.test))
        train, val, test = (nobody.index_fill(0, part, True) for part in parts)
        return train, val, test

    def restrict(self, nodes: Tensor) -> Self:
        """The roles of some nodes, given in ascending order, renumbered in order."""
        return self.from_masks(*(mask[nodes] for mask in self.masks()))

    def apply(self, data: NodeData) -> NodeData:
        """The data with these roles, if it has as many nodes."""
        if data.num_nodes != self.num_nodes:
            raise ValueError(
                f"`split` must be for the {data.num_nodes} nodes of {data.name!r},"
                f" got one for {self.num_nodes} nodes."
            )
        return data.with_split(*self.masks())


def random_per_class(
    y: Tensor,
    *,
    per_class: int = 20,
    num_val: int = 500,
    num_test: int = 1000,
    seed: Seed = 0,
) -> Split:
    """Draw `per_class` training nodes of each class, then validation and test nodes.

    The usual split of citation and Amazon graphs. Unlabelled nodes (-1) get no role.
    """
    _check_single_label(y)
    generator = np.random.default_rng(seed)
    labels = y.cpu().numpy()
    classes, sizes = np.unique(labels[labels >= 0], return_counts=True)
    if not len(classes) or sizes.min() < per_class:
        least = int(sizes.argmin()) if len(classes) else None
        smallest, size = (0, 0) if least is None else (classes[least], sizes[least])
        raise ValueError(
            f"`per_class` must be at most {size}, the size of the smallest class"
            f" (class {smallest}), got {per_class}; split by shares instead,"
            f" for instance 'random-60-20-20'."
        )
    members = (np.flatnonzero(labels == label) for label in classes)
    train = np.concatenate([generator.permutation(m)[:per_class] for m in members])
    rest = generator.permutation(np.setdiff1d(np.flatnonzero(labels >= 0), train))
    if len(rest) < num_val + num_test:
        raise ValueError(
            f"`num_val` + `num_test` must be at most {len(rest)}, the labelled nodes"
            f" left after training nodes were drawn, got {num_val} + {num_test};"
            f" split by shares instead, for instance 'random-60-20-20'."
        )
    val, test = rest[:num_val], rest[num_val : num_val + num_test]
    return Split(np.sort(train), np.sort(val), np.sort(test), len(labels))


def stratified_fractions(
    y: Tensor, fractions: Shares = (0.6, 0.2, 0.2), *, seed: Seed = 0
) -> Split:
    """Give the same shares of every class to training, validation and test.

    In a class of n nodes the borders are n·f_train and n·(f_train + f_val), rounded to
    the nearest node, but every class has at least one training node: the only node of
    a class (Texas has one) trains, and of two nodes one trains and the other validates
    (with 60/20/20). Unlabelled nodes (-1) get no role.
    """
    _check_single_label(y)
    _check_fractions(fractions)
    generator = np.random.default_rng(seed)
    labels = y.cpu().numpy()
    parts = tuple([np.zeros(0, dtype=np.int64)] for _ in ROLES)
    for label in np.unique(labels[labels >= 0]):
        members = generator.permutation(np.flatnonzero(labels == label))
        borders = np.maximum(_borders(len(members), fractions), 1)
        for part, nodes in zip(parts, np.split(members, borders)[:3], strict=True):
            part.append(nodes)
    train, val, test = (np.sort(np.concatenate(part)) for part in parts)
    return Split(train, val, test, len(labels))


def random_fractions(
    y: Tensor, fractions: Shares = (0.6, 0.2, 0.2), *, seed: Seed = 0
) -> Split:
    """Deal all labelled nodes out by shares, whatever their class.

    Works for multi-label data ([N, C]) too, in which every node counts as labelled.
    """
    _check_fractions(fractions)
    nodes = np.flatnonzero(labelled(y).cpu().numpy())
    nodes = np.random.default_rng(seed).permutation(nodes)
    parts = np.split(nodes, _borders(len(nodes), fractions))[:3]
    train, val, test = map(np.sort, parts)
    return Split(train, val, test, len(y))


def from_column(values: Sequence[Any] | np.ndarray[Any, Any]) -> Split:
    """Read the roles from a column that says "train", "val" or "test" for each node.

    Case and spaces around the word are ignored; "valid", "validation", "dev" and
    "training" will do; an empty or missing entry gives the node no role.
    """
    roles = np.full(len(values), None)
    for row, value in enumerate(values):
        # NaN, which tables use for a missing entry, is the only value unlike itself.
        word = "" if value is None or value != value else str(value).strip().lower()
        if word not in ROLE_WORDS:
            raise ValueError(
                f"The split column must hold 'train', 'val', 'test' or nothing,"
                f" got {value!r} in row {row}."
            )
        roles[row] = ROLE_WORDS[word]
    train, val, test = (np.flatnonzero(roles == role) for role in ROLES)
    return Split(train, val, test, len(values))


def by_graph(graphs: Sequence[NodeData], roles: GraphRoles) -> list[NodeData]:
    """Give whole graphs a role, as in the inductive setting.

    A graph is named by its `name` or by what follows the first hyphen of it ("DE" for
    "twitch-DE"). A graph that `roles` does not name has no role.
    """
    names = [data.name.partition("-")[2] or data.name for data in graphs]
    role_of: dict[str, str] = {}
    for role, members in roles.items():
        if role not in ROLES:
            raise ValueError(f"A role must be 'train', 'val' or 'test', got {role!r}.")
        for name in members:
            if name not in names:
                raise ValueError(
                    f"Unknown graph {name!r}; choose from {', '.join(names)}."
                )
            if name in role_of:
                raise ValueError(
                    f"The graph {name!r} must have one role,"
                    f" got {role_of[name]!r} and {role!r}."
                )
            role_of[name] = role
    pairs = zip(graphs, names, strict=True)
    return [with_role(data, role_of.get(name)) for data, name in pairs]


def with_role(data: NodeData, role: str | None) -> NodeData:
    """The data with this role for all labelled nodes; None for no roles."""
    usable = labelled(data.y)
    masks = (usable if role == name else torch.zeros_like(usable) for name in ROLES)
    return data.with_split(*masks)


def _borders(size: int, fractions: Shares) -> list[int]:
    # 0.29 of 50 nodes is 14.5, which rounds up, though as floats it is a little less.
    return [int(size * share + 0.5 + 1e-9) for share in np.cumsum(fractions)]


def _check_fractions(fractions: Shares) -> None:
    train, val, test = fractions
    if not (train > 0 and val >= 0 and test >= 0 and train + val + test <= 1 + 1e-9):
        raise ValueError(
            f"`fractions` must be three shares with a sum of at most 1,"
            f" the first above 0, got {fractions}."
        )


def _check_single_label(y: Tensor) -> None:
    if y.dim() != 1:
        raise ValueError(
            f"A split by class needs one class per node, got labels of shape"
            f" {list(y.shape)}; use random fractions or whole graphs instead."
        )
