"""The benchmarks by name: their files, and how they are prepared by default."""

from __future__ import annotations

import dataclasses

from sgat.data.checksums import (
    GEOM_GCN_PARTS,
    PLANETOID_PARTS,
    TEN,
    TWITCH_COUNTRIES,
)
from sgat.data.fetch import Source


@dataclasses.dataclass(frozen=True)
class Benchmark:
    """One named data set and how it is prepared unless the caller says otherwise.

    Attributes:
        name: What `load` calls it.
        title: One line for people.
        default_split: Split used if none is asked for.
        source: Its files; None for data that needs none.
        undirected: Whether to add the reverse of every stored edge.
        normalise: Whether the rows of the features are scaled to sum to 1.
    """

    name: str
    title: str
    default_split: str
    source: Source | None
    undirected: bool = True
    normalise: bool = False


def _citation(name: str, spelling: str) -> Benchmark:
    files = tuple(f"ind.{name}.{part}" for part in PLANETOID_PARTS)
    # `split` is PyG's word for which files there are, not for our choice of nodes.
    arguments = {"name": spelling, "split": "public"}
    source = Source(f"Planetoid/{spelling}", files, "Planetoid", arguments)
    title = f"{spelling}: papers, citations, bag of words"
    return Benchmark(name, title, "public", source, normalise=True)


def _amazon(name: str) -> Benchmark:
    files = (f"amazon_electronics_{name}.npz",)
    source = Source(f"Amazon/{name.capitalize()}", files, "Amazon", {"name": name})
    title = f"Amazon {name.capitalize()}: goods bought together, words of reviews"
    return Benchmark(name, title, "random-20", source)


def _geom_gcn_files(prefix: str) -> tuple[str, ...]:
    return (
        *(f"out1_{part}.txt" for part in GEOM_GCN_PARTS),
        *(f"{prefix}_split_0.6_0.2_{number}.npz" for number in TEN),
    )


def _webkb(name: str, base: str = "WebKB") -> Benchmark:
    school = name.partition("-")[0]
    old = base != "WebKB"
    source = Source(
        f"{base}/{school}",
        _geom_gcn_files(school),
        "WebKB",
        {"name": school},
        downloads=not old,
    )
    title = f"{school.capitalize()}: web pages of a university, links, bag of words"
    if old:
        title += " (files before July 2022, with the features of Texas)"
    return Benchmark(name, title, "geom-gcn", source)


_ACTOR = Source("Actor", _geom_gcn_files("film"), "Actor")
_PPI = Source(
    "PPI",
    tuple(
        f"{role}_{part}"
        for role in ("train", "valid", "test")
        for part in ("feats.npy", "graph_id.npy", "graph.json", "labels.npy")
    ),
    "PPI",
)
_REDDIT = Source("Reddit", ("reddit_data.npz", "reddit_graph.npz"), "Reddit")
_TWITCH = Source("Twitch", tuple(f"twitch_{name}.npz" for name in TWITCH_COUNTRIES))

CATALOGUE: dict[str, Benchmark] = {
    benchmark.name: benchmark
    for benchmark in (
        Benchmark("karate", "Zachary's karate club; needs no files", "leaders", None),
        _citation("cora", "Cora"),
        _citation("citeseer", "CiteSeer"),
        _citation("pubmed", "PubMed"),
        _amazon("computers"),
        _amazon("photo"),
        Benchmark(
            "actor",
            "Actor: actors on the same page, words of their pages",
            "geom-gcn",
            _ACTOR,
            normalise=True,
        ),
        _webkb("cornell"),
        _webkb("texas"),
        _webkb("wisconsin"),
        _webkb("cornell-2020", "WebKB-2020"),
        Benchmark("ppi", "PPI: 24 protein graphs, 121 labels", "by-graph", _PPI),
        Benchmark(
            "reddit",
            "Reddit: posts with common commenters",
            "public",
            _REDDIT,
            # The file has both directions; adding them again would sort 229 M edges.
            undirected=False,
        ),
        Benchmark("twitch", "Twitch: streamers of 7 countries", "by-graph", _TWITCH),
    )
}
"""Every named data set, in the order of the paper."""
