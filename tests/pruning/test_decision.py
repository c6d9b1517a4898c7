"""Where the best rows end, against sorting all of them."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sgat.pruning import decision
from sgat.pruning.decision import find_cut

duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")


def query_over(score, key):
    connection = duckdb.connect()
    rows = pa.table(
        {"score": pa.array(score, pa.float32()), "key": pa.array(key, pa.int64())}
    )
    connection.register("links", rows)
    asked = []

    def query(text):
        asked.append(text)
        return connection.execute(text).fetchall()

    return (
        query,
        asked,
        lambda found: sorted(
            connection.execute(
                f"SELECT s.score, s.key FROM links AS s WHERE {found.condition}"
            ).fetchall()
        ),
    )


def expected_rows(score, key, wanted):
    rows = sorted(zip(score, key, strict=True), key=lambda row: (-row[0], row[1]))
    wanted = min(max(wanted, 0), len(rows))
    while 0 < wanted < len(rows) and rows[wanted] == rows[wanted - 1]:
        wanted -= 1
    return rows[:wanted], rows[wanted:]


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.tuples(st.integers(-3, 3), st.integers(0, 9)), max_size=30),
    st.integers(-1, 32),
    st.sampled_from([2, 16384]),
)
def test_the_cut_is_where_sorting_puts_it(rows, wanted, buckets):
    score = [float(np.float32(s / 3)) for s, _ in rows]
    key = [k for _, k in rows]
    query, _, above = query_over(score, key)
    before, decision.BUCKETS = decision.BUCKETS, buckets
    try:
        found = find_cut(query, "links", wanted)
    finally:
        decision.BUCKETS = before
    kept, removed = expected_rows(score, key, wanted)
    assert above(found) == sorted(kept)
    lowest = min((s for s, _ in kept), default=None)
    highest = max((s for s, _ in removed), default=None)
    assert (found.lowest_kept, found.highest_removed) == (lowest, highest)


@pytest.mark.parametrize("scale", [1.0, 1e-30, 1e30])
def test_many_rows_and_far_outliers_take_few_passes(scale):
    generator = np.random.default_rng(0)
    score = (generator.normal(size=50_000) * scale).astype(np.float32)
    score[:2] = 3e38, -3e38
    key = np.arange(len(score))[::-1]
    query, asked, above = query_over(score, key)
    found = find_cut(query, "links", 10_000)
    kept, _ = expected_rows(score.tolist(), key.tolist(), 10_000)
    assert above(found) == sorted(kept)
    # Each pass narrows the range to one of 16384 parts.
    assert len(asked) <= 12
