"""Stories: small tables as people have them, with wrong edges that are known."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

Table = Any  # a pandas `DataFrame`
Ends = np.ndarray[Any, Any]

COMMON = "we the study of results method data new show large model using"
TOPICS = {
    "biology": "cell gene protein species tissue enzyme membrane growth",
    "history": "empire war trade archive king century treaty church",
    "maths": "theorem proof algebra prime manifold bound lemma group",
    "music": "melody rhythm opera harmony chord singer sonata organ",
}


class Story(NamedTuple):
    """Tables of nodes and edges, and the wrong ones among the edges."""

    nodes: Table  # id, features, y
    edges: Table  # src, dst and more
    wrong: Table  # src and dst


def citations(seed: int = 0) -> Story:
    """Papers that cite papers of their topic; every fourth link is a wrong one.

    Two words of a title are of its topic, six are not. Older papers are cited more.
    """
    random, size = np.random.default_rng(seed), 600
    topic = random.integers(len(TOPICS), size=size)
    words = [text.split() for text in TOPICS.values()]
    drawn = (
        [*random.choice(words[k], 2), *random.choice(COMMON.split(), 6)] for k in topic
    )
    titles = [" ".join(random.permutation(title)) for title in drawn]
    ids = np.array([f"paper {number:03d}" for number in range(size)])
    nodes = pd.DataFrame({"id": ids, "title": titles})
    nodes["published"] = pd.Timestamp("2001-03-01") + pd.to_timedelta(
        np.arange(size) * 13, unit="D"
    )
    nodes["y"] = np.array(list(TOPICS))[topic]
    # Topics are known of half of them, as where people label by hand.
    nodes.loc[random.random(size) < 0.5, "y"] = None
    cited = random.beta(1, 2, size=(6000, 2))
    pairs = (np.sort(cited, axis=1) * size).astype(int)[:, ::-1]
    real = pairs[topic[pairs[:, 0]] == topic[pairs[:, 1]]]
    wrong = random.integers(size, size=(len(real) // 3, 2))
    return _story(nodes, ids, real, wrong, random)


def fraud(seed: int = 0) -> Story:
    """Accounts that pay each other; a few, in rings, are fraud and hide among others.

    Honest accounts pay those of their town, accounts of a ring each other. Payments of
    a ring to honest accounts, made to look like these, are the wrong edges.
    """
    random, size, ring = np.random.default_rng(seed), 900, 9
    bad = 8 * ring
    is_fraud = np.arange(size) < bad
    ids = np.array([f"AC{number:06d}" for number in random.permutation(size)])
    town = random.integers(20, size=size)
    town[:bad] = 20 + np.arange(bad) // ring
    nodes = pd.DataFrame({"id": ids})
    nodes["opened"] = pd.Timestamp("2019-01-01") + pd.to_timedelta(
        random.integers(900, size=size) + 500 * is_fraud, unit="D"
    )
    nodes["balance"] = random.lognormal(7 - 0.7 * is_fraud, 1).round(2)
    # A ring claims to live in one of the towns.
    nodes["town"] = [f"T{number % 20:02d}" for number in town]
    nodes["logins"] = random.poisson(20 + 12 * is_fraud)
    nodes["y"] = np.where(is_fraud, "fraud", "honest")
    pairs = np.stack(np.triu_indices(size, 1), axis=1)
    together = pairs[town[pairs[:, 0]] == town[pairs[:, 1]]]
    chance = np.where(is_fraud[together[:, 0]], 0.7, 0.14)
    real = together[random.random(len(together)) < chance]
    hidden = random.integers(bad, size, 5 * bad)
    wrong = np.stack([np.tile(np.arange(bad), 5), hidden], axis=1)
    story = _story(nodes, ids, real, wrong, random)
    story.edges["paid"] = random.lognormal(4, 1, len(story.edges)).round(2)
    return story


STORIES: dict[str, Callable[[int], Story]] = {"citations": citations, "fraud": fraud}
"""The stories by name."""


def _story(nodes: Table, ids: Ends, real: Ends, wrong: Ends, random: Any) -> Story:
    """Pairs as rows in random order, each once and none with itself."""
    names = ["src", "dst"]
    rows = pd.DataFrame(ids[np.concatenate([real, wrong])], columns=names)
    rows["is_wrong"] = np.arange(len(rows)) >= len(real)
    # A wrong pair that is there already is a right one.
    key = [frozenset(pair) for pair in rows[names].itertuples(index=False)]
    rows = rows[~pd.Series(key).duplicated() & (rows["src"] != rows["dst"])]
    rows = rows.iloc[random.permutation(len(rows))].reset_index(drop=True)
    return Story(nodes, rows[names].copy(), rows[names][rows["is_wrong"]])
