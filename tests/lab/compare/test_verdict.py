"""The verdict on made-up numbers, and its statistics against SciPy's."""

import math

import pytest
from scipy.stats import ttest_rel

from sgat_lab.compare.plan import Place
from sgat_lab.compare.results import Results
from sgat_lab.compare.verdict import best_unlearned, paired, verdict

MLP = Place("mlp", None, "mlp")


def scores(*values: float) -> dict[int, float]:
    return dict(enumerate(values))


def results(cells: dict[Place, dict[int, float]], **options) -> Results:
    return Results(test=cells, val=options.get("val", cells))


def at(budget: float, sgat, random, mlp=None) -> dict[Place, dict[int, float]]:
    """Scores of a GCN on SGAT's edges and on a random choice, at one budget."""
    cells = {
        Place("sgat", budget, "gcn"): scores(*sgat),
        Place("random", budget, "gcn"): scores(*random),
    }
    return cells | ({} if mlp is None else {MLP: scores(*mlp)})


HIGH, LOW = (0.80, 0.81, 0.79), (0.70, 0.71, 0.69)


def test_ahead_undecided_and_behind_are_told_by_budget():
    cells = at(0.9, (0.80, 0.70, 0.75), (0.75, 0.76, 0.74), (0.5, 0.51, 0.52))
    cells |= at(0.5, HIGH, (0.70, 0.715, 0.69)) | at(0.1, LOW, (0.80, 0.815, 0.79))
    first, second, third, basis = verdict(
        results(cells), (0.9, 0.5, 0.1), splits_vary=True
    )
    assert first == (
        "GCN on SGAT's edges against the best unlearned method: ahead at 50 %"
        " (+9.8 ± 0.2 against Random); undecided at 90 % (+0.0 ± 3.2 against Random);"
        " behind at 10 % (-10.2 ± 0.2 against Random)."
    )
    assert second.startswith("GCN on SGAT's edges against the MLP, which has no edges:")
    assert third == (
        "Learning which edges to keep was worth it for GCN on SGAT's edges at 50 %."
    )
    assert "95 % interval" in basis and "3 runs" in basis and "validation." in basis


def test_nowhere_ahead_is_not_worth_it():
    lines = verdict(results(at(0.3, LOW, HIGH)), (0.3,), splits_vary=True)
    assert lines[1].startswith(
        "Learning which edges to keep was not worth it here, as far as 3 runs can tell:"
        " on SGAT's edges no model is ahead of the best unlearned method."
    )
    assert "ranks the neighbours of every node alike" in lines[1]


def test_an_mlp_that_is_ahead_everywhere_is_told():
    cells = at(0.3, LOW, LOW, (0.9, 0.91, 0.93))
    lines = verdict(results(cells), (0.3,), splits_vary=True)
    assert "The MLP is ahead of SGAT at every budget" in lines[2]
    cells |= at(0.1, HIGH, LOW) | {MLP: scores(*LOW)}
    lines = verdict(results(cells), (0.3, 0.1), splits_vary=True)
    assert not any("The MLP is ahead of SGAT" in line for line in lines)


def test_better_edges_are_in_vain_where_none_are_better_still():
    cells = at(0.3, HIGH, LOW, (0.9, 0.91, 0.895))
    line = verdict(results(cells), (0.3,), splits_vary=True)[2]
    assert "was not worth it here, as far as 3 runs can tell." in line
    assert "than the best unlearned method for GCN on SGAT's edges at 30 %, but" in line
    cells |= {MLP: scores(*LOW)}
    line = verdict(results(cells), (0.3,), splits_vary=True)[2]
    assert line.endswith("was worth it for GCN on SGAT's edges at 30 %.")


def test_sgat_itself_meets_the_better_of_both_models():
    cells = {
        Place("sgat", 0.5, "sgat"): scores(*HIGH),
        Place("random", 0.5, "gcn"): scores(*LOW),
        Place("jaccard", 0.5, "gat"): scores(0.9, 0.91, 0.895),
    }
    (line, *_) = verdict(results(cells), (0.5,), splits_vary=True)
    assert line.startswith(
        "SGAT itself against the best unlearned method: behind at 50"
    )
    assert "against Jaccard / cosine" in line
    cells[Place("jaccard", 0.5, "gat")] = scores(*LOW)
    lines = verdict(results(cells), (0.5,), splits_vary=True)
    # Better than all, but not for its edges: nothing was retrained on those.
    assert "was not worth it here" in lines[1]
    assert "using it as it is was worth it at 50 %; in training it" in lines[1]


def test_both_kinds_of_gates_are_judged_each_by_itself():
    cells = at(0.3, LOW, LOW) | {
        Place("sgat-recommended", 0.3, "gcn"): scores(*HIGH),
        Place("sgat-recommended", 0.3, "sgat-recommended"): scores(*HIGH),
    }
    lines = verdict(results(cells), (0.3,), splits_vary=True)
    paper, poor, gcn, itself, good, _ = lines
    assert paper.startswith("GCN on SGAT's edges against the best")
    assert poor.startswith("Learning which edges to keep was not worth it here")
    assert gcn.startswith("GCN on the recommended SGAT's edges against the best")
    assert "ahead at 30 %" in gcn
    assert itself.startswith("The recommended SGAT itself against the best")
    assert good.startswith(
        "By the recommended settings, learning which edges to keep was worth it for GCN"
        " on the recommended SGAT's edges at 30 %. Training the recommended SGAT to the"
        " budget and using it as it is was worth it at 30 %;"
    )
    cells[Place("sgat-recommended", 0.3, "gcn")] = scores(*LOW)
    told = verdict(results(cells), (0.3,), splits_vary=True)[4]
    assert "on the recommended SGAT's edges no model is ahead" in told
    # That is why the paper's gates fail, and no others.
    assert "ranks the neighbours" not in told and "ranks the neighbours" in poor


def test_one_run_tells_nothing():
    lines = verdict(results(at(0.3, (0.9,), (0.1,))), (0.3,), splits_vary=True)
    assert lines == ["One run cannot tell methods apart; take three or more."]


def test_without_sgat_there_is_no_verdict():
    cells = {Place("random", 0.3, "gcn"): scores(*LOW), MLP: scores(*HIGH)}
    assert verdict(results(cells), (0.3,), splits_vary=True) == []


def test_a_fixed_split_is_told():
    cells = at(0.3, LOW, HIGH)
    fixed = verdict(results(cells), (0.3,), splits_vary=False)
    assert fixed[-1].endswith("so the spread is that of training alone.")
    drawn = verdict(results(cells), (0.3,), splits_vary=True)
    assert "training alone" not in drawn[-1]


def test_validation_chooses_the_rival_and_not_the_test_nodes():
    good, lucky = Place("random", 0.5, "gcn"), Place("jaccard", 0.5, "gcn")
    test = {good: scores(*LOW), lucky: scores(*HIGH)}
    val = {good: scores(*HIGH), lucky: scores(*LOW)}
    assert best_unlearned(Results(test, val), 0.5) == good
    assert best_unlearned(Results(test, {}), 0.5) == lucky
    assert best_unlearned(Results(test, val), 0.7) is None
    cells = {**test, Place("sgat", 0.5, "gcn"): scores(*HIGH)}
    lines = verdict(Results(cells, {}), (0.5,), splits_vary=True)
    assert "chosen by test nodes, as there is no validation" in lines[-1]


@pytest.mark.parametrize("gap", [0.0, 0.011, 0.02, 0.05, -0.05])
def test_the_status_is_that_of_a_paired_t_test(gap):
    one = scores(0.71, 0.735, 0.69, 0.72)
    other = scores(0.70, 0.71, 0.705, 0.715)
    moved = {seed: value + gap for seed, value in one.items()}
    difference = paired(moved, other)
    test = ttest_rel(list(moved.values()), list(other.values()))
    is_open = test.pvalue > 0.05
    assert (difference.status == "undecided") == is_open
    if not is_open:
        assert difference.status == ("ahead" if test.statistic > 0 else "behind")
    assert difference.mean / difference.error == pytest.approx(test.statistic)


def test_only_seeds_that_both_have_are_paired():
    difference = paired({0: 0.5, 1: 0.75}, {1: 0.5, 2: 0.1})
    assert (difference.mean, difference.runs) == (0.25, 1)
    assert math.isinf(difference.error) and difference.status == "undecided"
    assert paired({0: 0.5}, {1: 0.5}).runs == 0


def test_equal_scores_are_undecided_and_constant_differences_are_not():
    assert paired(scores(*LOW), scores(*LOW)).status == "undecided"
    assert paired(scores(0.5, 0.75), scores(0.25, 0.5)).status == "ahead"
