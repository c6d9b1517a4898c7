"""How often the edges of a graph are scored."""

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator
from unittest import mock

from sgat.conv import SGATConv


@contextlib.contextmanager
def count_scorings() -> Iterator[Callable[[], dict[int, int]]]:
    """Yield what returns, by number of edges, how often that many were scored."""
    counted: Counter[int] = Counter()
    score = SGATConv._score

    def counting(self, h, graph, x):
        counted[graph.num_edges] += 1
        return score(self, h, graph, x)

    with mock.patch.object(SGATConv, "_score", counting):
        yield lambda: dict(counted)
