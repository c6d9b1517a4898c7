"""Made tables: ids, labels and edges are as told, and the wrong ones are known."""

import pandas as pd
import pytest

from sgat.data.synthetic.stories import STORIES


@pytest.mark.parametrize("name", STORIES)
def test_the_tables_are_as_told_and_the_seed_makes_them(name, seed):
    story = STORIES[name](seed)
    nodes, edges, wrong = story
    assert nodes["id"].is_unique and nodes["y"].nunique() >= 2
    assert set(edges["src"]) | set(edges["dst"]) <= set(nodes["id"])
    assert (edges["src"] != edges["dst"]).all()
    pairs = [frozenset(pair) for pair in zip(edges["src"], edges["dst"], strict=True)]
    assert len(set(pairs)) == len(edges)
    assert len(edges.merge(wrong)) == len(wrong)
    assert 0.1 < len(wrong) / len(edges) < 0.3
    for one, again in zip(story, STORIES[name](seed), strict=True):
        pd.testing.assert_frame_equal(one, again)
    assert not STORIES[name](seed + 1).edges.equals(edges)
