import pytest

from sgat_lab.synthetic.stand_ins import STAND_INS


@pytest.mark.parametrize(
    ("name", "graphs", "is_multilabel"),
    [("ppi-shaped", 24, True), ("reddit-shaped", 1, False)],
)
def test_a_stand_in_has_the_shape_of_its_benchmark(name, graphs, is_multilabel):
    made = STAND_INS[name](0)
    assert len(made) == graphs
    assert all(data.is_multilabel is is_multilabel for data in made)
    for part in ("train", "val", "test"):
        assert any(bool(getattr(data, part).any()) for data in made)


def test_no_stand_in_has_the_name_of_a_benchmark():
    assert all(name.endswith("-shaped") for name in STAND_INS)
