import pytest
from PIL import Image
from support.settings import paper_model

from sgat.config import TrainConfig
from sgat.data.named import load_karate
from sgat.explaining.evolution_picture import animate_evolution, draw_evolution
from sgat.training.loop import fit


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


def test_the_animation_has_a_frame_per_snapshot_and_a_pause(karate, tmp_path):
    data, result = karate
    path = tmp_path / "evolution.gif"
    gates = result.model.gating.gates
    animate_evolution(data, result.snapshots, gates, path, frames_per_second=2)
    with Image.open(path) as picture:
        assert picture.format == "GIF"
        assert picture.n_frames == len(result.snapshots)
        assert picture.info["duration"] == 500
        picture.seek(picture.n_frames - 1)
        assert picture.info["duration"] == 2500
    assert list(tmp_path.iterdir()) == [path]
