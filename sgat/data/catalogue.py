"""The data sets by name: their files, and how they are prepared by default."""

import dataclasses

from sgat.data.fetch import RawFiles

PLANETOID = "https://github.com/kimiyoung/planetoid/raw/master/data"
GEOM_GCN = "https://raw.githubusercontent.com/graphdml-uiuc-jlu/geom-gcn/master"
AMAZON = "https://github.com/shchur/gnn-benchmark/raw/master/data/npz"
ARCHIVES = "https://data.dgl.ai/dataset"

TWITCH_COUNTRIES = ("DE", "ENGB", "ES", "FR", "PTBR", "RU", "ZHTW")
"""The graphs of the Twitch data, one file each."""


@dataclasses.dataclass(frozen=True)
class Benchmark:
    """One named data set and how it is prepared unless the caller says otherwise."""

    name: str
    title: str
    default_split: str
    reader: str  # which function of `sgat.data.named` reads its files
    raw: RawFiles | None  # None for data that needs no files
    undirected: bool = True  # adds the reverse of every stored edge
    normalise: bool = False  # scales the rows of the features to sum to 1


def _citation(name: str, spelling: str) -> Benchmark:
    parts = ("x", "tx", "allx", "y", "ty", "ally", "graph", "test.index")
    names = [f"ind.{name}.{part}" for part in parts]
    raw = RawFiles(f"Planetoid/{spelling}", {n: f"{PLANETOID}/{n}" for n in names})
    title = f"{spelling}: papers, citations, bag of words"
    return Benchmark(name, title, "public", "planetoid", raw, normalise=True)


def _amazon(name: str) -> Benchmark:
    file = f"amazon_electronics_{name}.npz"
    raw = RawFiles(f"Amazon/{name.capitalize()}", {file: f"{AMAZON}/{file}"})
    title = f"Amazon {name.capitalize()}: goods bought together, words of reviews"
    return Benchmark(name, title, "random-20", "amazon", raw)


def _geom_gcn_files(prefix: str) -> dict[str, str | None]:
    tables = ("out1_node_feature_label.txt", "out1_graph_edges.txt")
    splits = [f"{prefix}_split_0.6_0.2_{number}.npz" for number in range(10)]
    return {
        **{name: f"{GEOM_GCN}/new_data/{prefix}/{name}" for name in tables},
        **{name: f"{GEOM_GCN}/splits/{name}" for name in splits},
    }


def _webkb(school: str, old: str | None = None) -> Benchmark:
    """The pages of a school, or `old`, its files before they were put right."""
    raw = RawFiles(f"WebKB/{school}", _geom_gcn_files(school))
    title = f"{school.capitalize()}: web pages of a university, links, bag of words"
    if old is not None:
        raw = RawFiles(f"WebKB-2020/{school}", dict.fromkeys(raw.addresses))
        title += " (files before July 2022, with the features of Texas)"
    return Benchmark(old or school, title, "geom-gcn", "webkb", raw)


_PPI = RawFiles(
    "PPI",
    {
        f"{role}_{part}": f"{ARCHIVES}/ppi.zip"
        for role in ("train", "valid", "test")
        for part in ("feats.npy", "graph_id.npy", "graph.json", "labels.npy")
    },
)
_REDDIT = RawFiles(
    "Reddit",
    dict.fromkeys(("reddit_data.npz", "reddit_graph.npz"), f"{ARCHIVES}/reddit.zip"),
)
_TWITCH = RawFiles("Twitch", {f"twitch_{name}.npz": None for name in TWITCH_COUNTRIES})

CATALOGUE: dict[str, Benchmark] = {
    benchmark.name: benchmark
    for benchmark in (
        Benchmark(
            "karate", "Zachary's karate club; needs no files", "leaders", "karate", None
        ),
        _citation("cora", "Cora"),
        _citation("citeseer", "CiteSeer"),
        _citation("pubmed", "PubMed"),
        _amazon("computers"),
        _amazon("photo"),
        Benchmark(
            "actor",
            "Actor: actors on the same page, words of their pages",
            "geom-gcn",
            "actor",
            RawFiles("Actor", _geom_gcn_files("film")),
            normalise=True,
        ),
        _webkb("cornell"),
        _webkb("texas"),
        _webkb("wisconsin"),
        _webkb("cornell", "cornell-2020"),
        Benchmark("ppi", "PPI: 24 protein graphs, 121 labels", "by-graph", "ppi", _PPI),
        Benchmark(
            "reddit",
            "Reddit: posts with common commenters",
            "public",
            "reddit",
            _REDDIT,
            # The file has both directions; adding them again would sort 229 M edges.
            undirected=False,
        ),
        Benchmark(
            "twitch", "Twitch: streamers of 7 countries", "by-graph", "twitch", _TWITCH
        ),
    )
}
"""Every named data set, in the order of the paper."""
