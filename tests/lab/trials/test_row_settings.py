import pytest
from support.small_data import block_graph

from sgat.config import ModelConfig, find_config
from sgat.training.fresh_model import resolved
from sgat_lab.config import LabConfig
from sgat_lab.trials import row_settings as module
from sgat_lab.trials.row_settings import settings, unsearched


@pytest.fixture
def chosen(monkeypatch):
    """Put what the search chose in place of the file, for one row."""
    content = module._content

    def put(row, choices):
        found = {row: choices}
        monkeypatch.setattr(
            module,
            "_content",
            lambda name: found if name == module.CHOSEN else content(name),
        )

    return put


def test_fixed_splits_have_choices_of_their_own(chosen):
    random, fixed = {"model": {"hidden": 5}}, {"model": {"hidden": 7}}
    chosen("gcn", {"cornell": random, "cornell-geom-gcn": fixed, "texas": random})
    for data in ("cornell", "cornell-2020"):
        assert settings("gcn", data, "random-60-20-20").model.hidden == 5
        assert settings("gcn", data, "geom-gcn").model.hidden == 7
    assert settings("gcn", "texas", "geom-gcn").model.hidden == 5, "none of their own"


def test_an_empty_choice_is_what_the_row_starts_from(chosen):
    chosen("gcn", {"texas": {"model": {"hidden": 5}}, "texas-geom-gcn": {}})
    start = unsearched("gcn", "texas", "geom-gcn")
    assert settings("gcn", "texas", "geom-gcn") == start


@pytest.mark.parametrize(
    "data",
    [
        *("cora", "citeseer", "pubmed", "computers", "photo"),
        *("actor", "texas", "wisconsin", "cornell"),
    ],
)
def test_the_tuned_config_of_a_data_set_is_that_of_the_tables(data):
    tuned = LabConfig.from_config(find_config(f"tuned/{data}"))
    assert tuned == settings("sgat-2head", data)


def test_the_recommended_row_is_what_the_library_recommends():
    row = settings("sgat-recommended", "").model
    recommended = resolved(ModelConfig(), [block_graph()])
    assert (row.scorer, row.readout) == (recommended.scorer, ModelConfig().readout)
