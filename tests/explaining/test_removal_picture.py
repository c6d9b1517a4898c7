import xml.etree.ElementTree as ET

import torch
from matplotlib.figure import Figure
from support.small_data import block_graph

from sgat.explaining import pictures
from sgat.explaining.removal import Contrast, Removal, describe_removal


def some_removal() -> Removal:
    data = block_graph()
    return describe_removal(data, data.graph.src % 3 > 0)


def test_a_picture_names_its_numbers(tmp_path):
    removal = some_removal()
    pictures.draw_removal(removal, tmp_path / "r.svg", "a $title$ <b>")
    ET.parse(tmp_path / "r.svg")
    text = (tmp_path / "r.svg").read_text()
    gone = removal.before.edges - removal.after.edges
    share = f"({gone / removal.before.edges:.0%})"
    told = f"{gone:,} of {removal.before.edges:,} edges removed {share}"
    assert f"a $title$ &lt;b&gt;: {told}" in text or told in text


def test_pairs_of_bars_have_a_scale_of_their_own():
    side = some_removal().before
    contrasts = (
        Contrast("a", "a (mean)", 4.0, 1.0, is_sampled=True),
        Contrast("b", "b", None, 0.5),
        Contrast("c", "c", None, None),
    )
    panel = Figure().subplots()
    pictures._contrasts(panel, Removal(side, side, contrasts))
    widths = [bar.get_width() for bar in panel.patches]
    assert widths == [1.0, 0.25, 1.0]
    assert [text.get_text() for text in panel.texts] == ["4", "1", "none", "0.5"]
    names = [label.get_text() for label in panel.get_yticklabels()]
    assert names == ["a\n(mean)\n(a sample)", "b"]


def test_degrees_are_shares_of_at_least_so_many():
    data = block_graph()
    nothing = torch.zeros(data.graph.num_edges, dtype=torch.bool)
    panel = Figure().subplots()
    pictures._degrees(panel, describe_removal(data, nothing))
    before, after = panel.lines
    degree = torch.bincount(data.graph.dst, minlength=data.num_nodes)
    for d, share in zip(*before.get_data(), strict=True):
        assert share == (degree >= d).double().mean().item()
    assert len(after.get_xdata()) == 0
    assert f"after: {data.num_nodes} of {data.num_nodes} nodes" in after.get_label()
