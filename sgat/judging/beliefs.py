"""Beliefs: which class a node is likely of, and which classes edges join."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from sgat.graph import Graph
from sgat.judging.neighbourhood import slices

RIDGE = 1e-2
STEPS = 60
SURE = 3.0
"""Standard deviations by which edges must choose classes more than by chance."""
DEALS = 20
"""Number of random permutations of the beliefs that show what chance does."""
MOST_DEALT = 100_000
"""Edges that are looked at for that."""

Pairs = tuple[Tensor, Tensor]
"""Both ends of each pair of nodes, [P] and [P]."""


def fit_classes(vector: Tensor, y: Tensor, known: Tensor, num_classes: int) -> Tensor:
    """A multinomial logistic regression from vectors [N, R] to the known classes.

    Returns its weights, the constants in the last row, [R + 1, C].
    """
    # Coordinates of one size, so that the price of their weights is fair.
    scale = vector.double().cpu().std(dim=0, correction=0).clamp(min=1e-6)
    rows, labels = vector[known].double().cpu() / scale, y[known].cpu()
    weight = rows.new_zeros(rows.shape[1], num_classes).requires_grad_()
    constant = rows.new_zeros(num_classes).requires_grad_()
    optimiser = torch.optim.LBFGS(
        [weight, constant], max_iter=STEPS, line_search_fn="strong_wolfe"
    )

    def closure() -> Tensor:
        optimiser.zero_grad()
        loss = F.cross_entropy(rows @ weight + constant, labels)
        loss = loss + RIDGE * (weight**2).sum()
        loss.backward()
        return loss

    with torch.enable_grad():
        optimiser.step(closure)
    found = torch.cat([weight.detach() / scale[:, None], constant.detach()[None]])
    return found.float().to(vector.device)


def class_beliefs(
    vector: Tensor, weight: Tensor, label: Tensor | None = None
) -> Tensor:
    """Probability of each class from a node's own features alone, [N, C].

    A `label` is sure, where it is not -1.
    """
    belief = (vector @ weight[:-1] + weight[-1]).softmax(dim=1)
    if label is None:
        return belief
    sure = F.one_hot(label.clamp(min=0), belief.shape[1]).to(belief)
    return torch.where(label[:, None] >= 0, sure, belief)


def compatibility(
    belief: Tensor, graph: Graph, a: Tensor, b: Tensor, *, seed: int = 0
) -> Tensor:
    """How much likelier real edges join two classes than random pairs do, [C, C].

    Noise joins classes as random pairs do. So the ratio of edges to random pairs,
    pooled over the pairs of classes that edges join less often than chance, is at most
    the share of noise, and what is above it is real. Where there is much noise, chance
    would look like a choice of classes, so ratios are first pulled together by as much
    as chance drives them apart. Ones if edges do not surely choose classes more
    than with the beliefs permuted at random.
    """
    belief = belief.double()
    if not graph.num_edges or not len(a):
        return torch.ones_like(belief.T @ belief).float()
    edges, pairs = (graph.dst, graph.src), (a, b)
    if not choose_classes(belief, edges, pairs, seed=seed):
        return torch.ones_like(belief.T @ belief).float()
    ratio, drawn = _ratios(belief, edges, pairs)
    ratio = _steady(ratio, drawn, _variance(belief, edges, pairs, ratio))
    is_rare = ratio < 1
    base = (ratio * drawn)[is_rare].sum() / drawn[is_rare].sum().clamp(min=1e-12)
    return ((ratio - base) / (1 - base)).clamp(min=0).float()


def _ratios(belief: Tensor, edges: Pairs, pairs: Pairs) -> tuple[Tensor, Tensor]:
    """(p + 1 / P) / (q + 1 / P), p of edges and q of P random pairs, and q, [C, C].

    As if one pair more had joined every two classes: of rare ones that hardly a random
    pair joins nothing is known, least of all a ratio of thousands.
    """
    seen, drawn = _shares(belief, edges, pairs)
    one = 1 / len(pairs[0])
    return (seen + one) / (drawn + one), drawn


def _variance(belief: Tensor, edges: Pairs, pairs: Pairs, ratio: Tensor) -> Tensor:
    """How far chance moves the ratio of each pair of classes, squared, [C, C].

    A sum of independent terms varies by the sum of their squares, or a little less, as
    shares sum to 1; every edge is there twice.
    """
    total_edges, drawn = joint(belief, *edges).sum(), joint(belief, *pairs)
    by_edges = 2 * _squares(belief, *edges) / total_edges**2
    by_pairs = ratio**2 * _squares(belief, *pairs) / drawn.sum() ** 2
    return (by_edges + by_pairs) / (drawn / drawn.sum() + 1 / len(pairs[0])) ** 2


def _squares(belief: Tensor, a: Tensor, b: Tensor) -> Tensor:
    """Σ of the squares of what `joint` sums, [C, C]."""
    total = joint(belief**2, a, b)
    for part in slices(len(a)):
        both = belief[a[part]] * belief[b[part]]
        total += both.T @ both
    return total / 2


def _steady(ratio: Tensor, drawn: Tensor, variance: Tensor) -> Tensor:
    """Ratios pulled to the mean of their kind as far as their scatter is chance.

    Kinds are pairs of one class and pairs of two. Of their scatter (weighed by `drawn`)
    chance explains a share, and ratios keep what is left (an estimate of Stein's kind).
    For pairs of two classes chance counts twice: beliefs in a wrong class scatter them
    as well; with chance counted once, noise is found less well
    (docs/log.md).
    """
    is_one = torch.eye(len(ratio), dtype=torch.bool, device=ratio.device)
    for kind, price in ((is_one, 1), (~is_one, 2)):
        weight = drawn * kind
        mean = (weight * ratio).sum() / weight.sum().clamp(min=1e-12)
        scatter = (weight * (ratio - mean) ** 2).sum()
        by_chance = price * (weight * variance).sum()
        kept = (1 - by_chance / scatter.clamp(min=1e-12)).clamp(0, 1)
        ratio = torch.where(kind, mean + kept * (ratio - mean), ratio)
    return ratio


def choose_classes(
    belief: Tensor, edges: Pairs, pairs: Pairs, *, seed: int = 0
) -> bool:
    """Whether edges choose classes more than with the beliefs permuted at random.

    Either pairs of classes, or one class: the second is one number, and sure where the
    scatter of each of many pairs hides what all of one class have in common.
    """
    for measure in (_distance, _excess):
        generator = torch.Generator().manual_seed(seed)
        kept = torch.randperm(len(edges[0]), generator=generator)[:MOST_DEALT]
        kept = kept.to(belief.device)
        looked_at = edges[0][kept], edges[1][kept]
        deals = []
        for _ in range(DEALS):
            dealt = torch.randperm(len(belief), generator=generator).to(belief.device)
            deals.append(measure(belief[dealt], looked_at, pairs))
        by_chance = torch.tensor(deals)
        # Beliefs that are all alike differ by rounding.
        most = max(float(by_chance.mean() + SURE * by_chance.std()), 1e-9)
        if measure(belief, looked_at, pairs) > most:
            return True
    return False


def _distance(belief: Tensor, edges: Pairs, pairs: Pairs) -> float:
    """Σ (p - q)² / (q + 1 / P) over pairs of classes, p of edges, q of random pairs.

    By P, the number of random pairs, no pair of rare classes that none of them joins
    outweighs all others.
    """
    seen, drawn = _shares(belief, edges, pairs)
    return float(((seen - drawn) ** 2 / (drawn + 1 / len(pairs[0]))).sum())


def _excess(belief: Tensor, edges: Pairs, pairs: Pairs) -> float:
    """How much more often edges join one class than random pairs do."""
    seen, drawn = _shares(belief, edges, pairs)
    return float((seen - drawn).diagonal().sum())


def _shares(belief: Tensor, edges: Pairs, pairs: Pairs) -> tuple[Tensor, Tensor]:
    """How often edges, and random pairs, join two classes; both sum to 1, [C, C]."""
    seen, drawn = joint(belief, *edges), joint(belief, *pairs)
    return seen / seen.sum(), drawn / drawn.sum()


def joint(belief: Tensor, a: Tensor, b: Tensor) -> Tensor:
    """How often pairs join two classes: Σ of the beliefs of both ends, [C, C]."""
    total = belief.new_zeros(belief.shape[1], belief.shape[1])
    for part in slices(len(a)):
        total += belief[a[part]].T @ belief[b[part]]
    return (total + total.T) / 2
