from support.records import record

from sgat_lab.experiments import recipes
from sgat_lab.trials.options import Options
from sgat_lab.trials.row_settings import unsearched
from sgat_lab.trials.store import Store


def test_a_row_runs_with_what_its_paper_says():
    tasks = recipes.plan(Options(runs=1, only=("gat", "pubmed")), Store("nowhere"))
    (task,) = tasks
    assert task.config == unsearched("gat", "pubmed")
    assert (task.config.model.heads, task.config.model.output_heads) == (8, 8)
    assert task.config.train.weight_decay == 1e-3


def test_the_distance_to_what_was_published(tmp_path):
    store, options = Store(tmp_path), Options(runs=2, only=("gcn", "cora"))
    for task in recipes.plan(options, store):
        score = 0.82 + 0.01 * task.config.train.seed
        store.save(record(task, data="cora", test=score))
    text = recipes.text(options, store)
    assert "82.5 ± 0.7" in text and "81.5" in text and "+1.0" in text


def test_nothing_is_shown_of_what_was_not_run(tmp_path):
    assert "Cora" not in recipes.text(Options(), Store(tmp_path))
