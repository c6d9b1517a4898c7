import contextlib
import dataclasses

import pytest
import torch
from support.small_data import block_graph, neighbours_decide, several_graphs

from sgat.committee import Committee
from sgat.config import ModelConfig, TrainConfig
from sgat.judging import EdgeJudge
from sgat.scored import node_score, score_graphs
from sgat.training import choosing
from sgat.training.candidates import (
    Candidate,
    is_hopeless,
    proven,
    shortened,
    standard_error,
    with_kin,
)
from sgat.training.choosing import LAST, Search, best_or_mean
from sgat.training.loop import DivergedError, Training, fit
from sgat.training.result import EpochRecord, Result, Trial, ranked

TRAIN = TrainConfig(epochs=10, device="cpu", checkpoint_every=3)
MODEL = ModelConfig(hidden=5)


def small_graph():
    """More validation nodes than are few."""
    return block_graph(num_nodes=223, fractions=(0.3, 0.5, 0.2))


def search(graphs, model=MODEL, train=TRAIN, **options):
    return Search(graphs, model, train).run(**options)


def weights(result):
    return result.model.state_dict()


def assert_same(one, two):
    """The same choice and the same bits; only the seconds may differ."""
    assert one.chosen.names == two.chosen.names and one.chosen.why == two.chosen.why
    plain = [
        [dataclasses.replace(trial, seconds=0.0) for trial in each.chosen.tried]
        for each in (one, two)
    ]
    assert plain[0] == plain[1]
    assert weights(one).keys() == weights(two).keys()
    for name, tensor in weights(one).items():
        assert torch.equal(tensor, weights(two)[name]), name


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    """So that no copy of the process takes part, except where a test says so."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def whole(one_thread):
    """A search on one graph that nothing disturbed."""
    return search([small_graph()])


def test_validation_finds_what_the_rule_does_not():
    graphs, train = [neighbours_decide(601)], dataclasses.replace(TRAIN, epochs=40)
    scores = []
    for fast in (True, False):
        setting = dataclasses.replace(train, fast=fast)
        found = search(graphs, ModelConfig(), setting)
        scored = score_graphs(found.sgat, graphs, found.graphs)
        scores.append(node_score(scored, "test")[0])
    assert scores[0] < 0.65 < 0.75 < scores[1]
    assert found.chosen.members[0].readout in ("attention", "deep")


def test_rounds_leave_fewer_and_train_longer(whole):
    rungs = {}
    for trial in whole.chosen.tried:
        if trial.epochs:
            rungs.setdefault(trial.rung, []).append(trial)
    # All but the two of many layers, next to which four are far behind.
    assert [len(rungs[rung]) for rung in (1, 2, LAST)] == [16, 4, 2]
    assert [rungs[rung][0].epochs for rung in (1, 2, LAST)] == [2, 4, 10]
    num_val = int(small_graph().val.sum())
    for rung, number in ((1, 4), (2, 2)):
        places = proven(rungs[rung], num_val)[:number]
        best = {rungs[rung][place].name for place in places}
        assert best == {trial.name for trial in rungs[rung + 1]}


def test_the_best_is_what_fit_makes_of_its_settings(whole):
    chosen = whole.chosen
    alone = fit([small_graph()], chosen.members[0], chosen.train)
    is_mean = isinstance(whole.model, Committee)
    first = whole.model.members[0] if is_mean else whole.model
    for name, tensor in alone.model.state_dict().items():
        assert torch.equal(tensor, first.state_dict()[name]), name
    assert whole.best_epoch == alone.best_epoch
    assert [r.val for r in whole.records] == [r.val for r in alone.records]


@pytest.mark.judged_anew
def test_the_same_seed_chooses_the_same(whole):
    assert_same(whole, search([small_graph()]))


@pytest.mark.skipif(torch.cuda.is_available(), reason="no copy is safe beside a GPU")
@pytest.mark.parametrize("is_hopeful", [True, False])
@pytest.mark.parametrize("fractions", [(0.3, 0.5, 0.2), (0.4, 0.2, 0.4)])
def test_a_copy_that_trains_a_half_changes_nothing(fractions, is_hopeful, monkeypatch):
    """Nor does one that fails; few validation nodes are split in folds."""
    monkeypatch.setattr(
        choosing, "is_hopeless", lambda c, *_: "many" in c.name and not is_hopeful
    )
    data = block_graph(num_nodes=223, fractions=fractions)
    alone = search([data])
    rounds, copied = [], choosing.beside

    @contextlib.contextmanager
    def watched(*given):
        with copied(*given) as found:

            def watch():
                rounds.append(found())
                return rounds[-1]

            yield watch

    monkeypatch.setattr(choosing, "beside", watched)
    torch.set_num_threads(2)
    try:
        assert_same(search([data]), alone)
        assert len(rounds) == 3 + is_hopeful and None not in rounds
        monkeypatch.setattr(Search, "_reached", lambda *given: 1 / 0)
        assert_same(search([data]), alone)
        assert rounds[-1] is None
    finally:
        torch.set_num_threads(1)


def test_edges_are_judged_once(monkeypatch):
    seen = []
    for name in ("fit", "log_odds"):
        whole = getattr(EdgeJudge, name)

        def counted(self, *given, name=name, whole=whole, **options):
            seen.append(name)
            return whole(self, *given, **options)

        monkeypatch.setattr(EdgeJudge, name, counted)
    search([small_graph()])
    assert sorted(seen) == ["fit", "log_odds"]


@pytest.mark.parametrize("fractions", [(0.3, 0.5, 0.2), (0.3, 0.2, 0.5)])
def test_labels_of_test_nodes_change_nothing(fractions, seed):
    data = block_graph(num_nodes=223, fractions=fractions)
    poison = (data.y + 1 + torch.randint(2, data.y.shape)) % 3
    other = dataclasses.replace(data, y=torch.where(data.test, poison, data.y))
    assert not torch.equal(other.y, data.y)
    assert_same(search([data]), search([other]))


def test_few_validation_nodes_are_scored_on_folds():
    data = block_graph(num_nodes=101)
    assert int(data.val.sum()) < choosing.FEW
    searched = Search([data], MODEL, TRAIN)
    assert len(searched.splits) == choosing.FOLDS
    steps = []
    found = searched.run(on_step=steps.append)
    first = [step for step in steps if step.rung == 1 and not step.done]
    assert len(first) == first[0].total == len(searched.table)
    assert [step.number for step in first] == list(range(1, len(first) + 1))
    assert torch.equal(found.graphs[0].val, data.val)
    by_name = {t.name: t for t in found.chosen.tried if t.rung == 2}
    finals = [t for t in found.chosen.tried if t.rung == LAST and t.epochs]
    joined = [
        dataclasses.replace(t, score=(t.score + 3 * by_name[t.name].score) / 4)
        for t in finals
    ]
    assert found.chosen.names[0] == finals[ranked(joined)[0]].name


class Killed(Exception):
    """The end of a process, as far as a test can have it without one."""


@pytest.mark.parametrize(
    ("rung", "number", "epoch"),
    [
        # With nothing done it begins as it did at first.
        pytest.param(1, 1, None, marks=pytest.mark.slow),
        *((1, 5, None), (2, 2, None)),
        *((LAST, 1, 6), (LAST, 2, 7), (LAST, 2, 10)),
    ],
)
def test_a_search_that_was_cut_off_ends_the_same(rung, number, epoch, whole, tmp_path):
    now = []

    def at_step(step):
        now[:] = [step]
        if (step.rung, step.number, None) == (rung, number, epoch):
            raise Killed

    def at_epoch(record):
        if (now[0].rung, now[0].number, record.epoch) == (rung, number, epoch):
            raise Killed

    def run(**options):
        return search([small_graph()], folder=tmp_path, **options)

    with pytest.raises(Killed):
        run(on_step=at_step, on_epoch=at_epoch)
    steps = []
    assert_same(run(resume=True, on_step=steps.append), whole)
    # What was done is not done again.
    assert (steps[0].rung, steps[0].number) == (rung, 1 if rung == LAST else number)


@pytest.mark.parametrize("rung", [1, LAST])
def test_a_stop_is_a_keyboard_interrupt_that_can_go_on(
    rung, whole, tmp_path, monkeypatch
):
    stopped, run = [], Training.run

    def stop(self, **options):
        result = run(self, **options)
        is_full = self.config.epochs == TRAIN.epochs
        if is_full == (rung == LAST) and not stopped:
            stopped.append(1)
            return dataclasses.replace(result, interrupted=True)
        return result

    monkeypatch.setattr(Training, "run", stop)
    with pytest.raises(KeyboardInterrupt):
        search([small_graph()], folder=tmp_path)
    assert (tmp_path / choosing.LEDGER).exists()
    assert_same(search([small_graph()], folder=tmp_path, resume=True), whole)


def test_an_error_in_the_first_training_leaves_nothing(tmp_path, monkeypatch):
    def fail(self, **options):
        raise OSError("No space left on device")

    monkeypatch.setattr(Training, "run", fail)
    with pytest.raises(OSError, match="No space"):
        search([small_graph()], folder=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_other_data_or_settings_are_no_way_to_go_on(tmp_path):
    search([small_graph()], folder=tmp_path)
    other = block_graph(num_nodes=223, fractions=(0.3, 0.5, 0.2), seed=2)
    for data, model in ((other, MODEL), (small_graph(), ModelConfig(hidden=6))):
        with pytest.raises(
            ValueError, match=r"The data or the candidates have changed"
        ):
            search([data], model, folder=tmp_path, resume=True)
    (tmp_path / choosing.LEDGER).write_text("{")
    with pytest.raises(ValueError, match=r"search\.json is damaged"):
        search([small_graph()], folder=tmp_path, resume=True)


@pytest.mark.parametrize(
    ("model", "train", "has_val", "why"),
    [
        ({"readout": "linear"}, {}, True, "was given"),
        ({}, {"fast": True}, True, "one candidate was asked for"),
        ({}, {}, False, "without validation nodes"),
    ],
)
def test_where_there_is_nothing_to_choose_one_is_trained(model, train, has_val, why):
    data = small_graph()
    if not has_val:
        data = dataclasses.replace(data, val=torch.zeros_like(data.val))
    settings = dataclasses.replace(MODEL, **model), dataclasses.replace(TRAIN, **train)
    searched, steps = Search([data], *settings), []
    assert searched.is_single and len(searched.table) == 1
    found = searched.run(on_step=steps.append)
    assert why in found.chosen.why and not (steps or found.chosen.tried)
    alone = fit([data], *settings)
    for name, tensor in alone.model.state_dict().items():
        assert torch.equal(tensor, weights(found)[name]), name


@pytest.mark.parametrize(
    ("model", "train", "make"),
    [
        ({}, {"keep": 0.4}, lambda: [small_graph()]),
        ({}, {"keep": 0.4, "warmup": 9, "patience": 2}, lambda: [small_graph()]),
        ({"gate_mode": "transductive"}, {}, lambda: [small_graph()]),
        ({"scorer": "cosine"}, {"precision": "bfloat16"}, lambda: [small_graph()]),
        ({}, {"snapshots": 3, "select": "last"}, lambda: [small_graph()]),
        ({}, {"batch_size": 2}, several_graphs),
    ],
    ids=["keep", "warm-up", "transductive", "bfloat16", "snapshots", "several"],
)
def test_every_kind_of_training_is_searched(model, train, make):
    # A share to keep takes some epochs to be met.
    epochs = 12 if "keep" in train else 5
    graphs, short = make(), dataclasses.replace(TRAIN, epochs=epochs, **train)
    found = search(graphs, dataclasses.replace(MODEL, **model), short)
    assert len({trial.rung for trial in found.chosen.tried}) >= 2
    scored = score_graphs(found.sgat, graphs, found.graphs)
    if short.keep is not None:
        kept = torch.cat([part.edges.kept for part in scored])
        assert kept.double().mean() == pytest.approx(0.4, abs=0.02)
    assert len(found.snapshots) == short.snapshots


def test_candidates_that_diverge_are_left_out(monkeypatch):
    run = Training.run

    def diverging(self, **options):
        if self.model_config.readout == "attention":
            raise DivergedError("Training diverged.")
        return run(self, **options)

    monkeypatch.setattr(Training, "run", diverging)
    found = search([small_graph()])
    lost = [t for t in found.chosen.tried if t.settings.get("readout") == "attention"]
    assert lost and all(t.score is None and t.rung == 1 for t in lost)
    monkeypatch.setattr(choosing, "candidates", lambda *given: lost_only(*given))
    with pytest.raises(DivergedError):
        search([small_graph()])


def lost_only(model, train, graphs):
    found = choosing.resolved(model, graphs)
    return [
        Candidate(str(steps), dataclasses.replace(found, readout="attention"), train)
        for steps in range(2)
    ]


def trial(score, loss, name="a"):
    return Trial(name, {}, 1, 1, score, loss, 0.0)


@pytest.mark.parametrize(
    ("pairs", "order"),
    [
        ([(0.5, 1.0), (0.6, 2.0)], [1, 0]),
        ([(0.6, 2.0), (0.6, 1.0)], [1, 0]),
        ([(0.6, 1.0), (0.6, 1.0)], [0, 1]),
        ([(None, None), (0.1, 9.0)], [1, 0]),
        ([(float("nan"), 0.1), (0.1, float("nan")), (0.1, 5.0)], [2, 1, 0]),
    ],
)
def test_scores_come_first_then_losses_then_the_table(pairs, order):
    assert ranked([trial(*pair) for pair in pairs]) == order


@pytest.mark.parametrize(("deep", "order"), [(0.86, [1, 0]), (0.95, [0, 1])])
def test_many_layers_must_be_ahead_by_a_standard_error(deep, order):
    assert 0.03 < standard_error(0.86, 112) < 0.04
    many = dataclasses.replace(trial(deep, 1.0), settings={"layers": 8})
    assert proven([many, trial(0.85, 1.0)], 112) == order
    lost = dataclasses.replace(many, score=None)
    assert proven([lost, trial(0.85, 1.0)], 112) == [1, 0]


@pytest.mark.parametrize(
    ("scores", "second"),
    [
        ((0.8, 0.4), "loose layers"),  # far behind: the best of the leader's kin
        ((0.8, 0.75), "beliefs"),
        ((0.8, None), "beliefs"),
    ],
)
def test_a_hopeless_runner_up_gives_way_to_the_leaders_kin(scores, second):
    looked = Search([small_graph()], MODEL, TRAIN)
    named = {each.name: each for each in looked.table}
    left = [named["layers, standard"], named["beliefs"]]
    before = [
        dataclasses.replace(trial(score, 1.0), name=name)
        for name, score in (("layers", 0.3), ("loose layers", 0.35), ("attention", 0.5))
    ]
    scored = [trial(score, 1.0) for score in scores]
    found = with_kin(left, scored, before, looked.table, looked.num_val)
    assert [each.name for each in found] == ["layers, standard", second]


@pytest.mark.parametrize(
    ("leader", "second"),
    [
        ("some layers, all edges", "many layers, all edges"),
        ("many layers, all edges, standard", "many layers, all edges"),
        ("layers, all edges", "beliefs"),
    ],
)
def test_deeper_networks_are_kin_of_a_deep_leader(leader: str, second: str):
    looked = Search([small_graph()], MODEL, TRAIN)
    named = {each.name: each for each in looked.table}
    left = [named[leader], named["beliefs"]]
    before = [
        dataclasses.replace(trial(score, 1.0), name=name)
        for name, score in {
            "many layers, all edges": 0.3,
            "layers, all edges": 0.5,
            "some layers, all edges": 0.6,
        }.items()
        if name != leader
    ]
    scored = [trial(0.8, 1.0), trial(0.4, 1.0)]
    found = with_kin(left, scored, before, looked.table, looked.num_val)
    assert [each.name for each in found] == [leader, second]


@pytest.mark.parametrize(
    ("scores", "is_tried"),
    [
        ({"attention": 0.8, "some layers, all edges": 0.75}, True),
        ({"attention": 0.8, "some layers, all edges": 0.6}, False),
        ({"attention": 0.8, "some layers, all edges": None}, False),
        ({"some layers, all edges": 0.8, "attention": 0.6}, True),
        # Two layers far behind do not tell what eight are worth, nor do four alone.
        ({"attention": 0.8, "layers": 0.4, "some layers, all edges": 0.75}, True),
        ({"attention": 0.8, "slow layers": 0.75, "some layers, all edges": 0.6}, True),
        ({"attention": 0.8, "layers": 0.4, "some layers, all edges": 0.6}, False),
        ({}, True),
    ],
)
def test_many_layers_are_not_tried_where_fewer_are_far_behind(scores, is_tried):
    looked = Search([small_graph()], MODEL, TRAIN)
    named = {each.name: each for each in looked.table}
    before = {named[name]: score or 0.0 for name, score in scores.items()}
    # Two standard errors of 80 % are 0.1.
    assert is_hopeless(named["many layers, all edges"], before, 64) == (not is_tried)
    assert not is_hopeless(named["some layers, all edges"], before, 64)
    assert not is_hopeless(named["layers, standard"], before, 64)


def test_what_is_not_tried_is_counted(monkeypatch):
    monkeypatch.setattr(choosing, "is_hopeless", lambda deep, *_: "many" in deep.name)
    found = search([small_graph()])
    assert not any("many" in each.name for each in found.chosen.tried)
    assert found.chosen.why.endswith("of 18 candidates; 2 cannot do better")


def test_a_short_training_has_a_short_warm_up():
    train = TrainConfig(epochs=200, warmup=100, snapshots=5)
    short = shortened(train, 0.15)
    assert (short.epochs, short.warmup, short.snapshots) == (30, 15, 0)
    least = shortened(TrainConfig(epochs=2, warmup=1), 0.1)
    assert (least.epochs, least.warmup) == (1, 0)


class Fixed(torch.nn.Module):
    """A network that always says the same."""

    def __init__(self, logits):
        super().__init__()
        self.logits = torch.as_tensor(logits).float()

    def forward(self, x, graph):
        return self.logits


@pytest.mark.parametrize(
    ("shift", "is_mean"), [(2.0, True), (0.0, False)], ids=["better", "the same"]
)
def test_a_mean_must_be_clearly_better(shift, is_mean, monkeypatch, seed):
    """Two that are wrong in other places make a better mean; one twice does not."""
    data = small_graph()
    right = torch.nn.functional.one_hot(data.y, 3).float()
    noise = torch.randn(2, *right.shape) * shift

    class Mean(Fixed):
        def __init__(self, members, *, is_multilabel):
            parts = torch.stack([member.logits.softmax(1) for member in members])
            super().__init__(parts.mean(0).log())

    monkeypatch.setattr("sgat.training.best_or_mean.Committee", Mean)
    monkeypatch.setattr(Result, "sgat", property(lambda self: self.model))
    results = [
        Result(Fixed(right + part), [data], list[EpochRecord](), 1, [])
        for part in noise
    ]
    named = [Candidate(name, MODEL, TRAIN) for name in "ab"]
    model, size, why, trials = best_or_mean(results, named)
    assert (size == 2) == is_mean == isinstance(model, Mean)
    assert trials[0].name == "mean of a + b"
    assert ("clearly below" in why) == is_mean


def test_a_mean_with_a_lower_score_is_not_taken(monkeypatch):
    data = small_graph()
    right = torch.nn.functional.one_hot(data.y, 3).double()
    # Far too sure, but right; the other draws a few over the border.
    wrong = torch.nn.functional.one_hot((data.y + 1) % 3, 3).double()
    few = (torch.arange(len(data.y)) % 4 == 0)[:, None]
    sure = torch.where(few, right * 0.1, right * 1.0)
    other = torch.where(few, wrong * 3.0, right * 9.0)
    monkeypatch.setattr(Result, "sgat", property(lambda self: self.model))

    class Mean(Fixed):
        def __init__(self, members, *, is_multilabel):
            parts = torch.stack([member.logits.softmax(1) for member in members])
            super().__init__(parts.mean(0).log())

    monkeypatch.setattr("sgat.training.best_or_mean.Committee", Mean)
    results = [
        Result(Fixed(p), [data], list[EpochRecord](), 1, []) for p in (sure, other)
    ]
    named = [Candidate(name, MODEL, TRAIN) for name in "ab"]
    _, size, _, trials = best_or_mean(results, named)
    assert size == 1 and trials[0].score < 1.0


def test_no_more_is_tried_where_all_validation_nodes_are_right(monkeypatch):
    """With `patience=0` all are, as they were for the published numbers."""
    right = {"score": 1.0, "loss": 0.05, "seconds": 0.0}
    monkeypatch.setattr(choosing, "_entry", lambda *given: right)
    train = dataclasses.replace(TRAIN, epochs=2)
    found = search([small_graph()], train=train).chosen
    assert [trial.rung for trial in found.tried] == [1, LAST]
    assert "17 cannot do better" in found.why
    whole = search([small_graph()], train=dataclasses.replace(train, patience=0))
    assert len(whole.chosen.tried) > 18


def test_a_round_goes_on_where_the_one_before_ended(whole, monkeypatch):
    """So the bits of the finalists are those of `fit`, see above, and cost no more."""
    counted, run_epochs = [], Training.run_epochs

    def counting(self, most=1):
        records = run_epochs(self, most)
        counted.extend(records)
        return records

    monkeypatch.setattr(Training, "run_epochs", counting)
    assert_same(search([small_graph()]), whole)
    reached = {}
    for trial in whole.chosen.tried:
        reached[trial.name] = max(trial.epochs, reached.get(trial.name, 0))
    again = [t for t in whole.chosen.tried if t.rung > 1 and t.epochs]
    assert len(again) == 6  # four of round 2 and two in full
    assert len(counted) == sum(reached.values())
