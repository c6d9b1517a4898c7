"""How often the edges of a graph are scored, and judged."""

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator
from unittest import mock

from sgat.conv import SGATConv
from sgat.judging import EdgeJudge


@contextlib.contextmanager
def count_scorings() -> Iterator[Callable[[], dict[int | str, int]]]:
    """Yield what returns, by number of edges, how often that many were scored.

    Under "judged" it has how often a graph was judged before.
    """
    counted: Counter[int | str] = Counter()
    score, judge = SGATConv._score, EdgeJudge.log_odds

    def scoring(self, h, graph):
        counted[graph.num_edges] += 1
        return score(self, h, graph)

    def judging(self, *arguments, **options):
        counted["judged"] += 1
        return judge(self, *arguments, **options)

    with (
        mock.patch.object(SGATConv, "_score", scoring),
        mock.patch.object(EdgeJudge, "log_odds", judging),
    ):
        yield lambda: dict(counted)
