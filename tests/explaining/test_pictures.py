import pytest
from matplotlib.figure import Figure
from PIL import Image

from sgat.explaining.pictures import edge_key, node_key, save_picture, short


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
