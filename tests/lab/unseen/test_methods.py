import pytest

from sgat_lab.unseen.methods import METHODS, PEERS, choose_methods


def test_every_peer_is_there_in_all_its_forms():
    assert len(PEERS) == 2 + 5 * 4 and METHODS[-1] == "sgat"
    assert "mlp-strong-judged" not in PEERS
    assert PEERS["residual-gat-strong-judged"].title == "residual GAT, strong"


def test_methods_are_chosen_by_name_or_kind():
    assert choose_methods([]) == list(METHODS)
    assert choose_methods(["sgat", "mlp"]) == ["sgat", "mlp-plain", "mlp-strong"]
    assert choose_methods(["gat-plain", "gat-plain"]) == ["gat-plain"]
    with pytest.raises(ValueError, match=r"`methods` must be of mlp, gcn.*got 'gin'"):
        choose_methods(["gin"])
