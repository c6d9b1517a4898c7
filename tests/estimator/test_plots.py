"""Pictures of a classifier hold the numbers of its tables."""

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from support.small_data import block_graph

import sgat
from sgat.explaining.removal import removal_curve


@pytest.fixture(autouse=True)
def figures(tmp_path):
    """Pictures need no screen, can be saved, and are closed after the test."""
    with mpl.rc_context({"backend": "agg"}):
        yield
        for number in plt.get_fignums():
            plt.figure(number).savefig(tmp_path / f"{number}.png")
        plt.close("all")


@pytest.fixture(scope="module")
def fitted():
    clf = sgat.SGATClassifier(hidden=5, epochs=8, keep=0.5, fast=True)
    return clf.fit(block_graph(num_nodes=61))


def test_removal_is_drawn_against_the_share_kept(fitted):
    panel = fitted.plot_removal()
    points = removal_curve(fitted.model_, fitted.scored_)
    validation, test, taken = panel.get_lines()
    for line, role in ((validation, "validation"), (test, "test")):
        assert np.allclose(line.get_xdata(), [1 - point.removed for point in points])
        assert np.allclose(line.get_ydata(), [getattr(p, role) for p in points])
    kept = fitted.edges_["kept"].mean()
    assert np.allclose(taken.get_xdata(), kept)
    legend = [text.get_text() for text in panel.get_legend().get_texts()]
    assert legend == ["validation", "test", "this model"]
    assert (panel.get_xlabel(), panel.get_ylabel()) == (
        *("share of edges kept", "accuracy"),
    )


def test_without_test_nodes_there_is_no_line_for_them(fitted):
    data = block_graph(num_nodes=61)
    some = data.with_split(data.train, data.val | data.test, data.test & False)
    clf = sgat.SGATClassifier(hidden=5, epochs=1, fast=True).fit(some)
    assert len(clf.plot_removal().get_lines()) == 2


def test_a_node_is_drawn_with_the_probability_of_each_edge(fitted):
    panel = fitted.plot_node(3)
    edges = fitted.edges_.query("dst == 3")
    shown = {text.get_text() for text in panel.texts}
    wanted = {f"{value:.0%}" for value in edges["probability"]}
    assert wanted | set(edges["src"].astype(str)) | {"3"} == shown
    with pytest.raises(ValueError, match="There is no node '61'"):
        fitted.plot_node(61)


def test_a_loaded_classifier_without_data_says_so(fitted, tmp_path):
    fitted.save(tmp_path / "saved")
    loaded = sgat.load(tmp_path / "saved")
    for draw in (loaded.plot_removal, lambda: loaded.plot_node(3)):
        with pytest.raises(ValueError, match="does not hold its training data"):
            draw()
