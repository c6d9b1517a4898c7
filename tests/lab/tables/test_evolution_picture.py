import pytest
from PIL import Image
from support.settings import paper_model

from sgat.config import TrainConfig
from sgat.data.named import load_karate
from sgat.training.loop import fit
from sgat_lab.tables.evolution_picture import draw_evolution


@pytest.fixture(scope="module")
def karate():
    data = load_karate()
    train = TrainConfig(epochs=9, keep=0.5, snapshots=3)
    return data, fit([data], paper_model(hidden=5), train)


def test_the_figure_is_a_picture_with_one_panel_per_snapshot(karate, tmp_path):
    data, result = karate
    path = tmp_path / "evolution.png"
    draw_evolution(data, result.snapshots, result.model.gating.gates, path)
    with Image.open(path) as picture:
        assert picture.format == "PNG"
        assert picture.width > 2.5 * picture.height
