"""Splits by name: the meaning of each name for a data set."""

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from sgat.data.catalogue import Benchmark
from sgat.data.node_data import ROLES, NodeData
from sgat.data.splits import (
    GraphRoles,
    Split,
    by_graph,
    random_fractions,
    random_per_class,
    stratified_fractions,
)

SplitLike = str | os.PathLike[str] | Split | GraphRoles | None
"""The kinds of `split` that `load` takes."""


def choose_split(
    benchmark: Benchmark,
    graphs: list[NodeData],
    published: list[Split],
    split: SplitLike,
    seed: int,
) -> list[NodeData]:
    """The graphs with the roles that `split` stands for; see `sgat.data.load`."""
    if split is None:
        split = benchmark.default_split
    if isinstance(split, Mapping):
        return by_graph(graphs, split)
    if isinstance(split, Split):
        return _applied(split, graphs)
    if isinstance(split, os.PathLike) or split.endswith(".npz"):
        return read_split(split, graphs)
    if split.startswith("by-graph") and benchmark.default_split == "by-graph":
        return by_graph(graphs, parse_roles(split)) if ":" in split else graphs
    if published and split == benchmark.default_split:
        return _applied(published[seed % len(published)], graphs)
    if len(published) > 1 and (own := re.fullmatch(r"geom-gcn-(\d)", split)):
        return _applied(published[int(own[1])], graphs)
    own_names, drawn = [benchmark.default_split], []
    for number, data in enumerate(graphs):
        own_seed = seed if len(graphs) == 1 else (seed, number)
        drawn.append(draw_split(split, data, own_seed, own=own_names))
    return drawn


def parse_roles(text: str) -> dict[str, list[str]]:
    """Roles of graphs from "by-graph:train=DE+FR,val=ES,test=RU"."""
    roles: dict[str, list[str]] = {}
    for part in text.partition(":")[2].split(","):
        role, equals, members = part.partition("=")
        if not equals or not members or role.strip() in roles:
            raise ValueError(
                f"`split` must read like 'by-graph:train=DE+FR,val=ES,test=RU',"
                f" got {text!r}."
            )
        roles[role.strip()] = [name.strip() for name in members.split("+")]
    return roles


def _applied(split: Split, graphs: list[NodeData]) -> list[NodeData]:
    if len(graphs) > 1:
        raise ValueError(f"`split` must be for {len(graphs)} graphs, got one for 1.")
    return [split.apply(graphs[0])]


def read_split(
    path: str | os.PathLike[str], graphs: Sequence[NodeData]
) -> list[NodeData]:
    """The graphs with the roles in the array `split` of a file .npz, a word per node.

    The words are those of `from_column`; those of several graphs follow each other.
    """
    from sgat.data.files.binary_format import read_npz
    from sgat.data.files.node_table import read_roles

    source = read_npz(Path(path))
    roles, sizes = read_roles(source, "split"), [data.num_nodes for data in graphs]
    if len(source.table) != sum(sizes):
        found = f"must have {sum(sizes)} words, one for each node, got"
        raise source.fault(f"{found} {len(source.table)}.", "split")
    parts = zip(*(roles[role].split(sizes) for role in ROLES), strict=True)
    return [data.with_split(*masks) for data, masks in zip(graphs, parts, strict=True)]


def draw_split(
    split: str, data: NodeData, seed: int | tuple[int, int], *, own: Sequence[str] = ()
) -> NodeData:
    """The data with roles drawn as the name says, or read from a file .npz.

    The names are "random-N", "random-A-B-C", "stratified-A-B-C" and "uniform-A-B-C";
    `own` are further names to suggest in the message.
    """
    if split.endswith(".npz"):
        return read_split(split, [data])[0]
    if match := re.fullmatch(r"random-(\d+)", split):
        return random_per_class(data.y, per_class=int(match[1]), seed=seed).apply(data)
    if match := re.fullmatch(r"(random|stratified|uniform)-(\d+)-(\d+)-(\d+)", split):
        shares = [int(share) for share in match.groups()[1:]]
        if sum(shares) > 100 or not shares[0]:
            raise ValueError(
                f"`split` must have three shares of at most 100 per cent together, the"
                f" first above 0, got {split!r}."
            )
        train, val, test = (share / 100 for share in shares)
        draw = random_fractions if match[1] == "uniform" else stratified_fractions
        return draw(data.y, (train, val, test), seed=seed).apply(data)
    names = dict.fromkeys([*own, "random-20", "random-60-20-20"])
    raise ValueError(
        f"`split` of {data.name!r} must be one of {', '.join(names)},"
        f" stratified-A-B-C, uniform-A-B-C (per cent) or a file .npz, got {split!r}."
    )
