"""verdict(): at which budgets learning was worth it, in plain words."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

from sgat_lab.compare.plan import MLP, RETRAINED, Place
from sgat_lab.compare.pruners import SGAT, SGAT_RECOMMENDED, UNLEARNED
from sgat_lab.compare.results import Results, budget_name

CONFIDENCE = 0.95
"""Of the interval outside of which a difference is one."""
WHO = {SGAT: "SGAT", SGAT_RECOMMENDED: "the recommended SGAT"}
"""Whose edges are judged, as sentences call them."""
Status = Literal["ahead", "undecided", "behind"]


class Difference(NamedTuple):
    """A paired difference over seeds.

    Attributes:
        mean: Of the differences.
        error: Its standard error; infinite for a single seed.
        runs: Number of seeds.
    """

    mean: float
    error: float
    runs: int

    @property
    def status(self) -> Status:
        """Standing of the first by Student's t at 95 per cent."""
        from scipy.stats import t

        if self.runs < 2:
            return "undecided"
        reach = float(t.ppf((1 + CONFIDENCE) / 2, self.runs - 1)) * self.error
        # Equal scores differ by rounding alone.
        if abs(self.mean) <= max(reach, 1e-9):
            return "undecided"
        return "ahead" if self.mean > 0 else "behind"

    def __str__(self) -> str:
        """In points, with the standard error."""
        return f"{100 * self.mean:+.1f} ± {100 * self.error:.1f}"


def paired(one: Mapping[int, float], other: Mapping[int, float]) -> Difference:
    """The first minus the second, seed by seed, over the seeds that both have."""
    values = [one[seed] - other[seed] for seed in one if seed in other]
    if not values:
        return Difference(math.nan, math.inf, 0)
    error = math.inf
    if len(values) > 1:
        error = statistics.stdev(values) / math.sqrt(len(values))
    return Difference(statistics.fmean(values), error, len(values))


class Contest(NamedTuple):
    """An SGAT against something, at one budget.

    Attributes:
        budget: Share of the links that both keep.
        rival: What it is against.
        difference: The SGAT minus the rival.
    """

    budget: float
    rival: Place
    difference: Difference


def best_unlearned(
    results: Results, budget: float, models: Iterable[str] = tuple(RETRAINED)
) -> Place | None:
    """The best unlearned method at a budget, chosen on the validation nodes.

    Without validation nodes the test nodes choose, which favours it.
    """
    scores = results.val or results.test
    places = [Place(method, budget, model) for method in UNLEARNED for model in models]
    known = [place for place in places if place in scores]
    return max(
        known, key=lambda place: statistics.fmean(scores[place].values()), default=None
    )


def contests(
    results: Results, method: str, model: str, rivals: Mapping[float, Place | None]
) -> list[Contest]:
    """A method's edges with a model against the rival at each budget both have."""
    found = []
    for budget, other in rivals.items():
        place = Place(method, budget, model)
        if other is not None and place in results.test and other in results.test:
            difference = paired(results.test[place], results.test[other])
            if difference.runs:
                found.append(Contest(budget, other, difference))
    return found


def verdict(
    results: Results, budgets: Sequence[float], *, splits_vary: bool
) -> list[str]:
    """Sentences on where each SGAT is ahead or behind, and whether it was worth it.

    Empty where there is nothing to compare.

    Args:
        results: The scores.
        budgets: In the order to speak of them.
        splits_vary: Whether every seed has a split of its own.
    """
    judged = [_judged(results, method, budgets) for method in WHO]
    runs = max(found.runs for found in judged)
    if not any(found.lines for found in judged):
        return []
    if runs < 2:
        return ["One run cannot tell methods apart; take three or more."]
    lines = [line for found in judged for line in found.lines]
    return [*lines, _basis(results, runs, splits_vary)]


class _Judged(NamedTuple):
    """Sentences on one SGAT, and the number of runs."""

    lines: list[str]
    runs: int


def _judged(results: Results, method: str, budgets: Sequence[float]) -> _Judged:
    who = WHO[method]
    speakers = {model: f"{model.upper()} on {who}'s edges" for model in RETRAINED}
    speakers[method] = f"{who} itself"
    lines: list[str] = []
    won: dict[str, list[Contest]] = {}
    lost: dict[str, set[float]] = {}
    against_mlp: list[Contest] = []
    runs = 0
    for model, speaker in speakers.items():
        # SGAT itself is no retrained model: its rival may be either of them.
        models = (model,) if model in RETRAINED else tuple(RETRAINED)
        best = {budget: best_unlearned(results, budget, models) for budget in budgets}
        mlp = dict.fromkeys(budgets, Place(MLP, None, MLP))
        unlearned = contests(results, method, model, best)
        alone = contests(results, method, model, mlp)
        begin = speaker[0].upper() + speaker[1:]
        if unlearned:
            lines.append(f"{begin} against the best unlearned method:")
            lines[-1] += f" {_summary(unlearned)}."
        if alone:
            lines.append(f"{begin} against the MLP, which has no edges:")
            lines[-1] += f" {_summary(alone)}."
        runs = max([runs, *(c.difference.runs for c in [*unlearned, *alone])])
        against_mlp += alone
        won[model] = [c for c in unlearned if c.difference.status == "ahead"]
        lost[model] = {c.budget for c in alone if c.difference.status == "behind"}
    if not lines:
        return _Judged([], 0)
    worth = {m: [c.budget for c in won[m] if c.budget not in lost[m]] for m in won}
    vain = {m: [c.budget for c in won[m] if c.budget in lost[m]] for m in won}
    found = [_on_edges(method, _where(speakers, worth), _where(speakers, vain), runs)]
    if worth[method]:
        found.append(_ITSELF.format(who, _shares(worth[method])))
    if _all_behind(against_mlp):
        found.append(_NO_EDGES.format(who))
    return _Judged([*lines, " ".join(found)], runs)


_ITSELF = (
    "Training {} to the budget and using it as it is was worth it at {}; in training it"
    " uses edges that it closes in the end, so this says little about the edges it"
    " chose."
)
_NO_EDGES = (
    "The MLP is ahead of {} at every budget: here the edges do harm, and none are"
    " better than some."
)


def _where(speakers: Mapping[str, str], shares: Mapping[str, list[float]]) -> str:
    """The retrained models and budgets at which something holds."""
    return "; ".join(
        f"{speakers[model]} at {_shares(shares[model])}"
        for model in RETRAINED
        if shares[model]
    )


def _on_edges(method: str, worth: str, vain: str, runs: int) -> str:
    """Whether the edges that an SGAT chose are worth having."""
    text = "Learning which edges to keep was"
    if method == SGAT_RECOMMENDED:
        text = "By the recommended settings, learning which edges to keep was"
    if worth:
        text += f" worth it for {worth}."
    else:
        text += f" not worth it here, as far as {runs} runs can tell"
        if not vain:
            text += f": on {WHO[method]}'s edges no model is ahead of the best"
            text += " unlearned method"
        text += "."
        if method == SGAT:
            text += (
                " The gate adds a score of one end to a score of the other, so it ranks"
                " the neighbours of every node alike and cannot tell which pairs match."
            )
    if vain:
        text += (
            f" It chose better edges than the best unlearned method for {vain}, but the"
            " MLP, which needs none, is ahead of that."
        )
    return text


def _all_behind(found: Sequence[Contest]) -> bool:
    return bool(found) and all(c.difference.status == "behind" for c in found)


def _shares(budgets: Sequence[float]) -> str:
    return ", ".join(map(budget_name, budgets))


def _basis(results: Results, runs: int, splits_vary: bool) -> str:
    chosen = "validation" if results.val else "test nodes, as there is no validation"
    text = (
        f"Undecided means that the {budget_name(CONFIDENCE)} interval of the paired"
        f" difference over {runs} runs holds 0 (Student's t, no correction for several"
        f" budgets); after ± stands its standard error; the best unlearned method was"
        f" chosen by {chosen}."
    )
    if not splits_vary:
        text += (
            " The split is the same in all runs, so the spread is that of training"
            " alone."
        )
    return text


def _summary(found: Sequence[Contest]) -> str:
    """Budgets by status, each with its difference and its rival where that varies."""
    groups: dict[Status, list[Contest]] = {}
    for contest in found:
        groups.setdefault(contest.difference.status, []).append(contest)
    order: tuple[Status, ...] = ("ahead", "undecided", "behind")
    return "; ".join(
        f"{status} at {', '.join(map(_one, groups[status]))}"
        for status in order
        if status in groups
    )


def _one(contest: Contest) -> str:
    method = contest.rival.method
    against = f" against {UNLEARNED[method]}" if method in UNLEARNED else ""
    return f"{budget_name(contest.budget)} ({contest.difference}{against})"
