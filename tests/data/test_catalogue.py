from sgat.data import names
from sgat.data.catalogue import CATALOGUE
from sgat.data.fetch import checksums


def test_there_are_fourteen_names():
    assert len(names()) == 14


def test_every_pickle_of_the_catalogue_is_in_the_table():
    pickled = [b.raw for b in CATALOGUE.values() if b.reader == "planetoid"]
    keys = [raw.key(name) for raw in pickled for name in raw.addresses]
    assert len(keys) == 24
    assert set(keys) <= set(checksums())
