"""The methods `plot_…` of a classifier: pictures for a notebook, by matplotlib."""

from typing import Any

import pandas as pd

from sgat.training import metrics


def plot_removal(self: Any) -> Any:
    """Draw the score against the share of edges kept; returns the axes.

    The model is not trained again, see `sgat.explaining.removal.removal_curve`. Choose
    a share by the validation line; look at the test line once.
    """
    from sgat.explaining.removal import removal_curve

    scored, metric = self._scored(None, None, {})[1], self.config_.train.metric
    points = pd.DataFrame(removal_curve(self.model_, scored, metric=metric))
    points.index = 1 - points["removed"]
    known = points[["validation", "test"]].astype(float).dropna(axis=1, how="all")
    title = metrics.TITLES[metrics.score_name(self.is_multilabel_, metric)]
    panel = known.plot(marker=".", xlabel="share of edges kept", ylabel=title)
    taken = points.index[points["is_trained"]].item()
    panel.axvline(taken, color="#888888", linestyle="--", label="this model")
    panel.legend()
    return panel


def plot_node(self: Any, node: Any, *, graph: str | None = None) -> Any:
    """Draw the edges into a node, by its id, with their probabilities.

    `graph` is the name of its graph, where there are several. Returns the axes.
    """
    from matplotlib.pyplot import figure

    from sgat.explaining.node_explanation import explain_node
    from sgat.explaining.pictures import draw_node

    scored = self._scored(None, None, {})[1]
    found = explain_node(self.model_, scored, node, graph=graph, top=0)
    return draw_node(found, figure())
