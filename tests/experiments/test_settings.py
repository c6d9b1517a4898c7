import pytest

from sgat.config import find_config
from sgat.experiments import settings as module
from sgat.experiments.settings import settings, unsearched


@pytest.mark.parametrize("data", ["photo", "computers"])
def test_a_chosen_price_is_not_overruled_by_a_share_to_keep(monkeypatch, data):
    assert unsearched("sgat-2head", data).train.keep is not None
    content = module._content

    def chosen(row):
        if row == module.CHOSEN:
            return {"sgat-2head": {data: {"train": {"l0_weight": 0.25}}}}
        return content(row)

    monkeypatch.setattr(module, "_content", chosen)
    train = settings("sgat-2head", data).train
    assert train.l0_weight == 0.25 and train.keep is None
    assert settings("sgat-1head", data).train.keep is not None


@pytest.mark.parametrize(
    "data",
    [
        *("cora", "citeseer", "pubmed", "computers", "photo"),
        *("actor", "texas", "wisconsin", "cornell"),
    ],
)
def test_the_tuned_config_of_a_data_set_is_that_of_the_tables(data):
    assert find_config(f"tuned/{data}") == settings("sgat-2head", data)
