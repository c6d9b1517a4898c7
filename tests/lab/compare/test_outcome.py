"""A comparison from trainings to the verdict, with progress that knows the end."""

from sgat.config import DataConfig
from sgat.data.configured import load_configured
from sgat_lab.compare import inference
from sgat_lab.compare.outcome import run
from sgat_lab.compare.plan import Comparison, Place


def test_all_trainings_count_from_the_start(tmp_path, monkeypatch):
    monkeypatch.setattr(inference, "ROUNDS", 5)
    data = DataConfig(name="karate", split="random-60-20-20")
    made = Comparison(
        data,
        load_configured(data),
        budgets=(0.5,),
        methods=("random", "sgat", "mlp"),
        seeds=(0, 1),
        epochs=2,
    )
    told, trained = [], []
    outcome = run(
        made,
        tmp_path,
        device="cpu",
        progress=lambda done, total: told.append((done, total)),
        on_trained=lambda: trained.append(len(told)),
    )
    # Per seed: all edges twice, MLP, SGAT, and two models on either choice.
    assert {total for _, total in told} == {2 * (2 + 1 + 1 + 2 * 2)}
    assert told[0] == (0, 16) and told[-1] == (16, 16) and trained == [len(told)]
    assert set(outcome.results.test) == {
        *(Place("full", None, model) for model in ("gcn", "gat")),
        *(Place("random", 0.5, model) for model in ("gcn", "gat")),
        *(Place("sgat", 0.5, model) for model in ("gcn", "gat", "sgat")),
        Place("mlp", None, "mlp"),
    }
    assert set(outcome.costs) <= set(outcome.results.test)
    assert set(outcome.shapes) == {("full", 1.0), ("random", 0.5), ("sgat", 0.5)}
    assert outcome.verdict and outcome.comparison is made
