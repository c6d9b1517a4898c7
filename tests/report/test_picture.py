import re

import numpy as np

from sgat.report.graph_view import SIZE, draw_graph

PLACE = np.array([[-1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
SRC, DST = np.array([0, 1, 2]), np.array([1, 0, 3])
KEPT = np.array([True, False, True])
KIND, WRONG = np.array([0, 1, 1, 4]), np.array([False, False, True, False])


def drawn(names=("a", "b", "c", "d")):
    return draw_graph(PLACE, (SRC, DST, KEPT), (KIND, WRONG), names)


def stretches(svg, name):
    path = re.search(rf'<path class="{name}" d="([^"]*)"', svg).group(1)
    found = re.findall(r"M([\d.]+) ([\d.]+)L([\d.]+) ([\d.]+)", path)
    return [tuple(map(float, stretch)) for stretch in found]


def test_each_direction_is_the_half_at_its_target():
    left, right, middle = 0.025 * SIZE, 0.975 * SIZE, SIZE / 2
    kept, removed = stretches(drawn(), "kept"), stretches(drawn(), "removed")
    assert kept == [(middle, middle, right, middle), (middle, left, middle, right)]
    assert removed == [(middle, middle, left, middle)]


def test_nodes_are_told_apart_by_class_and_rightness():
    svg = drawn()
    found = re.findall(r'<path class="(node[^"]*)" d="(M[^"]*)"', svg)
    assert [name for name, _ in found] == [
        *("node c0", "node c1", "node wrong c1", "node c4"),
    ]
    assert len({re.sub(r"[-\d. ]", "", path) for _, path in found}) == 3


def test_names_are_escaped_and_left_out_where_there_are_many():
    svg = drawn(("<script>", "b" * 99, "c", "d"))
    assert "&lt;script&gt;" in svg and "<script>" not in svg
    assert "b" * 16 in svg and "b" * 17 not in svg
    place = np.random.default_rng(0).uniform(-1, 1, size=(500, 2))
    none, kinds = np.zeros(0, dtype=int), np.zeros(500, dtype=int)
    many = draw_graph(place, (none, none, none > 0), (kinds, kinds > 0), range(500))
    assert "<text" not in many
