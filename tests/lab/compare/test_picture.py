"""The picture shows what the numbers say, told apart without colours."""

import pytest
from matplotlib.figure import Figure

from sgat_lab.compare.picture import draw


def test_the_picture_shows_every_method_in_every_panel(
    comparison, results, tmp_path, monkeypatch
):
    drawn = []
    save = Figure.savefig

    def watched(self, *arguments, **options):
        drawn.append(self)
        return save(self, *arguments, **options)

    monkeypatch.setattr(Figure, "savefig", watched)
    path = tmp_path / "compare.png"
    draw(comparison, results, path)
    assert path.read_bytes()[:4] == b"\x89PNG"
    (figure,) = drawn
    assert len(figure.axes) == 2
    for axis, full in zip(figure.axes, (75.0, 50.0), strict=True):
        labels = {text: i for i, text in enumerate(axis.get_legend_handles_labels()[1])}
        assert set(labels) == {
            *("Random", "Jaccard / cosine", "SGAT", "SGAT itself"),
            *("SGAT, recommended", "SGAT, recommended, itself"),
            "SGAT, recommended, no budget",
            *("all edges", "MLP, no edges"),
        }
        handles = axis.get_legend_handles_labels()[0]
        assert handles[labels["all edges"]].get_ydata()[0] == full
        assert handles[labels["MLP, no edges"]].get_ydata()[0] == 37.5
        curve, _, (bars,) = handles[labels["SGAT"]].lines
        assert curve.get_ydata().tolist() == pytest.approx([full + 3.125, full])
        heights = [part[1, 1] - part[0, 1] for part in bars.get_segments()]
        assert heights == pytest.approx([2 * 2**0.5] * 2)
        curves = [handle.lines[0] for handle in handles if hasattr(handle, "lines")]
        markers = [line.get_marker() for line in curves]
        assert len(set(markers)) == len(markers) == 7
        free = handles[labels["SGAT, recommended, no budget"]].lines[0]
        # It kept 75 and 87.5 per cent, and was right in 90.
        assert free.get_xydata().tolist() == [[81.25, pytest.approx(90)]]
    assert not list(tmp_path.glob(".*"))
