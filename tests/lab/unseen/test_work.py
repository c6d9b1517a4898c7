import dataclasses

import pytest
import torch
from support.attacked import write_graphs

from sgat.estimator import SGATClassifier
from sgat_lab.unseen import cases, work
from sgat_lab.unseen.cases import GRAPHS, NOISE, CaseName, Cases, case_names
from sgat_lab.unseen.methods import METHODS
from sgat_lab.unseen.peers import PeerSetting
from sgat_lab.unseen.work import (
    Piece,
    Worker,
    needs_judge,
    parse_shard,
    pieces,
    shard_of,
    verdicts_needed,
    without,
)

EVERYTHING = pieces(case_names(list(GRAPHS), list(NOISE)), METHODS, range(10))
PLAIN = CaseName("plain", "cross-class")


@pytest.fixture
def source(tmp_path):
    write_graphs(tmp_path)
    return Cases(root=str(tmp_path))


def few_epochs(seed, device):
    return SGATClassifier(seed=seed, device=device, epochs=5, readout="linear")


def test_pieces_are_all_graphs_methods_and_seeds():
    assert len(EVERYTHING) == 27 * (22 + 10)
    cells = [(p.case, p.method, seed) for p in EVERYTHING for seed in p.seeds]
    assert len(set(cells)) == len(cells) == 27 * 23 * 10


@pytest.mark.parametrize("total", [1, 5, 12])
def test_shards_cover_everything_once(total):
    parts = [shard_of(EVERYTHING, number, total) for number in range(1, total + 1)]
    together = [piece for part in parts for piece in part]
    assert sorted(together) == sorted(EVERYTHING)
    costs = [sum(piece.cost for piece in part) for part in parts]
    assert max(costs) < 1.2 * min(costs)


def test_judged_edges_come_last_in_a_shard():
    judged = [needs_judge(piece) for piece in shard_of(EVERYTHING, 2, 12)]
    assert judged == sorted(judged) and True in judged


def test_verdicts_are_asked_for_once():
    found = verdicts_needed(EVERYTHING)
    assert len(found) == len(set(found)) == 27 * 11
    assert found[0][0].graph == "computers"


@pytest.mark.parametrize("text", ["0/3", "4/3", "3", "a/b", "1/0"])
def test_bad_shards_are_refused(text):
    with pytest.raises(ValueError, match="`shard` must be as 3/12"):
        parse_shard(text)


def test_seeds_with_a_row_are_left_out():
    piece = Piece(PLAIN, "gcn-plain", (0, 1, 2))
    row = {"graph": "plain", "noise": "cross-class", "method": "gcn-plain"}
    left = without([piece], [row | {"seed": 1.0}])
    assert left == [piece._replace(seeds=(0, 2))]
    assert without([piece._replace(seeds=(1,))], [row | {"seed": 1.0}]) == []


def test_a_peer_is_searched_once_and_trained_with_each_seed(source):
    piece = Piece(PLAIN, "gcn-strong-judged", (0, 1))
    first, second = Worker(source, device="cpu", epochs=2).rows(piece)
    assert first["setting"] == second["setting"]
    setting = PeerSetting.from_json(first["setting"])
    assert setting.kind == "gcn" and setting.is_strong
    assert (first["seed"], second["seed"], first["metric"]) == (0, 1, "accuracy")
    assert 0 <= first["test"] <= 1 and first["epochs"] == 2


def test_a_search_and_predictions_do_not_depend_on_test_labels(source, monkeypatch):
    piece = Piece(PLAIN, "gcn-plain", (0,))
    (row,) = Worker(source, device="cpu", epochs=3).rows(piece)
    read = cases.noisy_graph

    def other_test_labels(*given, **more):
        noisy = read(*given, **more)
        data = noisy.data
        y = torch.where(data.test, (data.y + 1) % 3, data.y)
        return noisy._replace(data=dataclasses.replace(data, y=y))

    monkeypatch.setattr(cases, "noisy_graph", other_test_labels)
    source = Cases(root=source.root)
    (other,) = Worker(source, device="cpu", epochs=3).rows(piece)
    assert (other["setting"], other["val"]) == (row["setting"], row["val"])
    assert other["test"] != row["test"]


def test_ours_is_called_with_nothing_chosen(source, monkeypatch):
    calls = []

    def called(**options):
        calls.append(options)
        return few_epochs(**options)

    monkeypatch.setattr(work, "SGATClassifier", called)
    rows = list(Worker(source, device="cpu").rows(Piece(PLAIN, "sgat", (4,))))
    assert calls == [{"seed": 4, "device": "cpu"}]
    assert rows[0]["setting"].startswith("readout=linear") and rows[0]["epochs"] == 5
    assert 0 <= rows[0]["test"] <= 1
