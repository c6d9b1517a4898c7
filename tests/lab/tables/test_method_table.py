import pytest
from support.records import record

from sgat_lab.experiments import table2, table3
from sgat_lab.tables.method_table import (
    ARCHITECTURES,
    Column,
    paired,
    plan,
    render,
)
from sgat_lab.tables.published import find_published
from sgat_lab.trials.options import Options
from sgat_lab.trials.row_settings import settings
from sgat_lab.trials.store import Store

CORA = Column("cora", None, "Cora")
TEXAS = Column("texas", "geom-gcn", "Texas")


def filled(store: Store, options: Options, rows, columns) -> None:
    for task in plan(rows, columns, options, store):
        seed, data = task.config.train.seed, task.config.data.name
        row = task.row
        share = 0.25 if row.startswith("sgat") else 0.0
        store.save(
            record(task, data=data, test=0.8 + 0.01 * seed, removed_sampled=share)
        )


def test_mean_spread_and_what_was_published(tmp_path):
    store, options = Store(tmp_path), Options(runs=3)
    filled(store, options, ["gcn"], [CORA])
    text = render("Table", ["gcn"], [CORA], options, store)
    assert "81.0 ± 1.0 [81.5]" in text
    assert "standard deviation of 3 runs" in text


def test_top_k_removes_what_sgat_removed(tmp_path):
    store, options = Store(tmp_path), Options(runs=2)
    rows = ["sgat-2head", "gat-2head-top-k-start"]
    first = plan(rows, [CORA], options, store)
    assert {task.row for task in first} == {"sgat-2head"}
    filled(store, options, rows, [CORA])
    second = plan(rows, [CORA], options, store)
    shares = [
        task.config.model.options["remove"]
        for task in second
        if task.row.startswith("gat")
    ]
    assert shares == [0.25, 0.25]


def test_a_cell_of_the_paper_that_was_not_run_says_so(tmp_path):
    store, options = Store(tmp_path), Options(runs=1)
    rows = ["gcn", "sgat-2head", "gat"]
    columns = [CORA, Column("reddit", None, "Reddit", ())]
    filled(store, options, ["gcn"], columns)
    text = render("Table", rows, columns, options, store, markdown=True)
    lines = [[c.strip() for c in x.split("|")[1:-1]] for x in text.splitlines()]
    scores, removed = lines, lines[7:]
    assert ["GCN", "80.0 [81.5]", "not run [94.38]"] in scores
    assert ["SGAT, 2 heads", "not run [83.0]", "not run [95.8]"] in scores
    assert ["GAT, 8 x 8", "not run [82.5]", "not run [OOM]"] in scores
    assert ["SGAT, 2 heads", "not run [2.0]", "not run [80.8]"] in removed


def test_sgat_rows_are_built_as_the_text_under_the_tables_says():
    data = [c.data for c in table2.COLUMNS if c.rows is None] + list(table3.DATA)
    assert len(data) == 10
    for name in data:
        for row, heads in (("sgat-1head", 1), ("sgat-2head", 2)):
            model = settings(row, name).model
            # Of two layers the second gives the scores.
            assert (model.readout, model.layers) == ("attention", 2), name
            assert (model.heads, model.gate_bias) == (heads, True), name
            assert model.output_heads == (2 if name == "pubmed" else 1), name
        model = settings("sgat-paper", name).model
        assert (model.readout, model.layers, model.heads) == ("linear", 2, 2), name
        assert (model.activation, model.scorer) == ("relu", "additive"), name
        assert not (model.gate_bias or model.bias or model.symmetric), name
        assert (model.temperature, model.gamma, model.zeta) == (2 / 3, -0.1, 1.1)
    for table in (table2, table3):
        assert ARCHITECTURES in table.text(Options(runs=1), Store("nowhere"))


def test_a_cell_without_runs_is_left_out(tmp_path):
    store, options = Store(tmp_path), Options(runs=1)
    filled(store, options, ["gcn"], [CORA])
    text = render("Table", ["gcn", "mlp"], [CORA, TEXAS], options, store)
    assert "Texas" not in text and "MLP" not in text


def test_only_restricts_rows_and_data_by_themselves():
    options = Options(only=("texas",))
    store = Store("nowhere")
    tasks = table3.plan(options, store)
    assert {task.config.data.name for task in tasks} == {"texas"}
    assert len({task.row for task in tasks}) > 10
    both = Options(only=("texas", "gcn"))
    assert {task.row for task in table3.plan(both, store)} == {"gcn"}


def test_table3_runs_both_protocols_and_both_cornells():
    tasks = table3.plan(Options(only=("gcn",)), Store("nowhere"))
    splits = {(task.config.data.name, task.config.data.split) for task in tasks}
    assert len(splits) == 10 and ("cornell-2020", "geom-gcn") in splits


def test_large_graphs_run_the_rows_that_can():
    tasks = table2.plan(Options(only=("reddit-shaped",)), Store("nowhere"))
    assert {task.row for task in tasks} == set(table2.INDUCTIVE)


def test_only_restricts_what_is_shown_too(tmp_path):
    store = Store(tmp_path)
    filled(store, Options(runs=1), ["gcn"], [CORA, TEXAS])
    text = render("T", ["gcn"], [CORA, TEXAS], Options(1, only=("texas",)), store)
    assert "Texas" in text and "Cora" not in text


def test_published_shares_and_sources_stand_beside_ours(tmp_path):
    store, options = Store(tmp_path), Options(runs=2)
    filled(store, options, ["sgat-2head"], [CORA])
    text = render("T", ["sgat-2head"], [CORA], options, store)
    assert "25.0 / 25.0 [2.0]" in text
    assert "Published by Ye & Ji, Sparse Graph Attention Networks" in text


def test_markdown_has_bars(tmp_path):
    store, options = Store(tmp_path), Options(runs=1)
    filled(store, options, ["gcn"], [CORA])
    lines = render("T", ["gcn"], [CORA], options, store, markdown=True).splitlines()
    assert lines[0] == "## T"
    assert sum(line.startswith("| ") for line in lines) >= 3


@pytest.mark.parametrize(
    ("row", "data", "split", "value"),
    [
        ("sgat-2head", "cora", None, 83.0),
        ("sgat-2head", "texas", "random-60-20-20", 86.2),
        ("sgat-2head", "texas", "geom-gcn", None),
        ("mlp", "cornell", "geom-gcn", None),
    ],
)
def test_published_numbers_belong_to_a_protocol(row, data, split, value):
    found = find_published(row, data, split)
    assert (None if found is None else found.value) == value


def test_an_unknown_name_is_refused():
    with pytest.raises(ValueError, match="got 'kora'; known here: cora"):
        Options(only=("kora",)).check(["cora"])


def test_cells_away_from_what_was_published_are_named(tmp_path):
    store, options = Store(tmp_path), Options(runs=3)
    filled(store, options, ["gcn", "mlp"], [CORA])
    text = render("Table", ["gcn", "mlp"], [CORA], options, store)
    # 81.0 ± 1.0 against 81.5, and against 55.1.
    assert "Of 2 cells with a published number 1 are within" in text
    assert "in standard deviations: MLP on Cora (+25.9)." in text


def test_differences_are_paired_by_seed(tmp_path):
    store, options = Store(tmp_path), Options(runs=3)
    gaps = {0: 0.01, 1: 0.03, 2: 0.05}
    for task in plan(["sgat-2head", "mlp"], [TEXAS], options, store):
        seed = task.config.train.seed
        score = 0.5 + 0.1 * seed + (gaps[seed] if task.row == "sgat-2head" else 0)
        store.save(record(task, data="texas", seed=seed, test=score))
    lines = paired("sgat-2head", "mlp", [TEXAS], options, store)
    # Mean 3, standard deviation 2, error 2 / √3.
    assert lines[-2].split() == ["Texas", "+3.0", "±", "1.2", "3"]
    assert paired("sgat-2head", "gcn", [TEXAS], options, store) == []


def test_the_minutes_of_a_column_are_summed(tmp_path):
    store, options = Store(tmp_path), Options(runs=2)
    for task in plan(["gcn", "mlp"], [CORA], options, store):
        store.save(record(task, data="cora", seconds=45.0))
    text = render("Table", ["gcn", "mlp"], [CORA], options, store)
    line = next(x for x in text.splitlines() if x.startswith("all runs"))
    assert line.split()[-1] == "3"


def test_a_cell_with_fewer_runs_says_so(tmp_path):
    store, options = Store(tmp_path), Options(runs=3)
    filled(store, options, ["gcn"], [CORA])
    filled(store, Options(runs=1), ["gcn"], [TEXAS])
    text = render("Table", ["gcn"], [CORA, TEXAS], options, store)
    assert "81.0 ± 1.0 [81.5]" in text and "80.0 (1 run) [59.46]" in text
