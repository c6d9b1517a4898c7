import networkx as nx
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image

import sgat
from sgat.explaining.node_explanation import explain_node
from sgat.explaining.pictures import (
    draw_node,
    edge_key,
    node_key,
    save_picture,
    short,
)


def test_keys_of_a_legend_are_points_and_lines():
    node, edge = node_key("a", marker="s", color="#123456"), edge_key("b", "#654321")
    assert (node.get_label(), node.get_marker(), node.get_linestyle()) == (
        *("a", "s", "None"),
    )
    assert (edge.get_label(), edge.get_color(), edge.get_linestyle()) == (
        *("b", "#654321", "-"),
    )


def test_the_suffix_tells_the_format(tmp_path):
    figure = Figure(figsize=(1, 1))
    save_picture(figure, tmp_path / "a.PNG")
    with Image.open(tmp_path / "a.PNG") as picture:
        assert picture.format == "PNG"
    save_picture(figure, tmp_path / "a.svg")
    assert "<svg" in (tmp_path / "a.svg").read_text()
    with pytest.raises(ValueError, match="xyz"):
        save_picture(figure, tmp_path / "a.xyz")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a.PNG", "a.svg"]


def test_ids_are_one_line_of_letters_that_can_be_seen():
    assert short("a\nb\x00") == "a\ufffdb\ufffd"
    assert short("x" * 18) == "x" * 18
    assert short("x" * 19) == "x" * 17 + "…"
    assert short(12345, 3) == "12…"


@pytest.mark.parametrize("count", [3, 30])
def test_long_names_stay_in_the_picture_and_off_its_title_and_nodes(count):
    graph = nx.star_graph(count)
    names = {node: f"a customer of a long name, {node}" for node in graph}
    graph = nx.relabel_nodes(graph, names)
    for place, node in enumerate(graph):
        graph.nodes[node]["y"] = place % 2
    clf = sgat.SGATClassifier(fast=True, hidden=3, epochs=1, device="cpu").fit(graph)
    found = explain_node(clf.model_, clf.scored_, names[0], top=0)
    panel = draw_node(found, figure := Figure())
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    title = panel.title.get_window_extent()
    ids = [text for text in panel.texts if text.get_text().startswith("a customer")]
    assert len(ids) == min(count, 24) + 1
    for text in ids:
        box = text.get_window_extent(canvas.get_renderer())
        assert figure.bbox.containsx(box.x0) and figure.bbox.containsx(box.x1)
        assert figure.bbox.containsy(box.y0) and not box.overlaps(title)
    own = next(text for text in ids if text.get_weight() == "bold")
    assert own.get_window_extent().y1 < panel.transData.transform((0, 0))[1]
