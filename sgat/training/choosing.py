"""Search: candidates are trained, and the validation nodes decide which one is taken.

Successive halving: the first round trains every candidate for some of the epochs, the
next ones train the best of them for more, and the last trains what is left in full. A
training begins anew in each round, so its score is a number that a file can keep.
"""

import dataclasses
import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from sgat.committee import Committee, mean_logits
from sgat.config import ModelConfig, TrainConfig
from sgat.data.files.atomic import write_text
from sgat.data.node_data import NodeData, check
from sgat.ops import noise
from sgat.training import files, metrics
from sgat.training.candidates import Candidate, candidates, differing
from sgat.training.fresh_model import resolved
from sgat.training.loop import DivergedError, Training
from sgat.training.result import Chosen, EpochRecord, Result, Trial

SHARES = (0.15, 0.4)
"""Share of the epochs that each round but the last trains for."""
LEAST = 3
"""Candidates that the first round leaves; a third of them, if that is more."""
FINALISTS = 2
"""Candidates that are trained in full."""
FEW = 100
"""Validation nodes below which the rounds but the last are scored on folds."""
FOLDS = 3
FOLD_SHARES = (0.1, 0.25)
"""The shares with folds, where each candidate trains once for every fold."""
LEDGER, STATE = "search.json", "state.safetensors"
"""Files of a run under way: the scores so far, and the state of one training."""


class Step(NamedTuple):
    """A training of a search that is about to begin; numbers count from 1."""

    name: str  # of the candidate
    rung: int
    rungs: int
    number: int  # of the training in its round
    total: int  # trainings of the round
    epochs: int


class Ledger:
    """Scores of finished trainings by name; in a file, if there is a place for one."""

    def __init__(
        self, path: Path | None, head: dict[str, Any], *, resume: bool
    ) -> None:
        """Read the file to go on with; `head` says what the scores are of."""
        self.path = path
        self.head = head
        self.entries: dict[str, dict[str, Any]] = {}
        if path is not None and resume and path.exists():
            stored = files.read_json(path)
            files.check_format(
                stored.get("format"), path, "start anew without `resume`"
            )
            if stored.get("data") != head["data"]:
                raise ValueError(
                    f"The data has changed since {path} was written; start a new run."
                )
            if stored.get("names") == head["names"]:
                self.entries = stored["entries"]
        self._write()

    def put(self, key: str, entry: dict[str, Any]) -> None:
        """Keep a score."""
        self.entries[key] = entry
        self._write()

    def _write(self) -> None:
        if self.path is not None:
            content = {**self.head, "entries": self.entries}
            write_text(self.path, json.dumps(content, indent=1) + "\n")


class Search:
    """The training of the best of some candidates, or of the only one.

    There is one candidate where the read-out is named, with `fast`, and without
    validation nodes. Edges are judged once, for all.
    """

    def __init__(
        self, graphs: Sequence[NodeData], model: ModelConfig, train: TrainConfig
    ) -> None:
        """Check data and settings, find the candidates and judge the edges."""
        check(graphs)
        self.train = train
        num_val = sum(int(data.val.sum()) for data in graphs)
        self.why = _why_single(model, train, num_val)
        if self.why:
            only = resolved(model, graphs)
            self.table = [Candidate(str(only.readout), only, train)]
        else:
            self.table = candidates(model, train, graphs)
        first = self.table[0]
        self._first = Training(graphs, first.model, first.train)
        self.observed = self._first.observed
        self.splits = [self.observed.graphs]
        if num_val < FEW and not self.why:
            self.splits = folds(self.observed.graphs, FOLDS, seed=train.seed)

    @property
    def is_single(self) -> bool:
        """Whether there is nothing to choose from."""
        return bool(self.why)

    def run(
        self,
        *,
        folder: Path | None = None,
        resume: bool = False,
        on_epoch: Callable[[EpochRecord], None] | None = None,
        on_step: Callable[[Step], None] | None = None,
    ) -> Result:
        """Train, and choose by the validation nodes; the result has a `chosen`.

        Args:
            folder: Where to keep what is done, so that a run that was cut off can go
                on to the same bits; None keeps nothing.
            resume: Go on with what is in the folder.
            on_epoch: Called with each epoch of the trainings in full.
            on_step: Called before each training of a search.

        Raises:
            KeyboardInterrupt: On Ctrl-C in a search, after the epoch under way. A
                single training stops as `fit` does.
        """
        how: dict[str, Any] = {"resume": resume, "on_epoch": on_epoch}
        if self.is_single:
            path = None if folder is None else folder / STATE
            result = self._first.run(checkpoint_path=path, **how)
            (only,) = self.table
            chosen = Chosen((only.name,), self.why, (only.model,), only.train)
            return dataclasses.replace(result, chosen=chosen)
        names = [each.name for each in self.table]
        head = {"format": files.MODEL_FORMAT, "data": self._first.fingerprint}
        path = None if folder is None else folder / LEDGER
        ledger = Ledger(path, {**head, "names": names}, resume=resume)
        tell = on_step or (lambda step: None)
        left, tried = self.table, list[Trial]()
        shares = SHARES if len(self.splits) == 1 else FOLD_SHARES
        most = (max(LEAST, math.ceil(len(left) / 3)), FINALISTS)
        for rung, (share, number) in enumerate(zip(shares, most, strict=True), 1):
            if len(left) > number:
                trials = [
                    self._short(each, rung, share, (place, len(left)), ledger, tell)
                    for place, each in enumerate(left, 1)
                ]
                tried += trials
                left = [left[place] for place in ranked(trials)[:number]]
        return self._in_full(left, tried, folder, how, tell)

    def _short(
        self,
        candidate: Candidate,
        rung: int,
        share: float,
        place: tuple[int, int],
        ledger: Ledger,
        tell: Callable[[Step], None],
    ) -> Trial:
        """Train a candidate for a share of the epochs, on each split."""
        train = shortened(candidate.train, share)
        scores = []
        for fold, graphs in enumerate(self.splits):
            key = f"{rung}/{candidate.name}/{fold}"
            if key not in ledger.entries:
                step = (rung, len(SHARES) + 1, *place, train.epochs)
                tell(Step(candidate.name, *step))
                training = Training(
                    graphs, candidate.model, train, observed=self.observed
                )
                ledger.put(key, _entry(training))
            scores.append(ledger.entries[key])
        means = {
            name: None
            if any(part[name] is None for part in scores)
            else sum(part[name] for part in scores) / len(scores)
            for name in ("score", "loss")
        }
        seconds = sum(part["seconds"] for part in scores)
        settings = differing(candidate, self.train)
        about = (candidate.name, settings, rung, train.epochs)
        return Trial(*about, **means, seconds=seconds)

    def _in_full(
        self,
        left: Sequence[Candidate],
        tried: list[Trial],
        folder: Path | None,
        how: dict[str, Any],
        tell: Callable[[Step], None],
    ) -> Result:
        """Train what is left on the given split, and take the best or a mean."""
        rung, finals, results = len(SHARES) + 1, list[Trial](), list[Result]()
        for number, candidate in enumerate(left, 1):
            epochs = candidate.train.epochs
            tell(Step(candidate.name, rung, rung, number, len(left), epochs))
            place = f"state-{self.table.index(candidate)}.safetensors"
            path = None if folder is None else folder / place
            options = candidate.model, candidate.train
            training = Training(self.observed.graphs, *options, observed=self.observed)
            try:
                result = training.run(checkpoint_path=path, **how)
            except DivergedError:
                if number == len(left) and not results:
                    raise
                continue
            if result.interrupted:
                raise KeyboardInterrupt
            about = candidate.name, differing(candidate, self.train), rung
            best = result.best.val, result.best.val_loss, training.seconds
            finals.append(Trial(*about, len(result.records), *best))
            members = (candidate.model,)
            chosen = Chosen((candidate.name,), "", members, candidate.train)
            results.append(dataclasses.replace(result, chosen=chosen))
        order = ranked(_with_folds(finals, tried, len(self.splits)))
        results = [results[place] for place in order]
        result, means = self._best_or_mean(results, len(self.table))
        tried = [*tried, *finals, *means]
        assert result.chosen is not None
        chosen = dataclasses.replace(result.chosen, tried=tuple(tried))
        return dataclasses.replace(result, chosen=chosen)

    @torch.no_grad()
    def _best_or_mean(
        self, results: Sequence[Result], number: int
    ) -> tuple[Result, list[Trial]]:
        """The best result, or the mean of several if that is clearly better.

        The loss of the mean must be lower by more than one standard error of the
        difference over the validation nodes, and its score must not be lower.
        """
        best = results[0]
        assert best.chosen is not None
        graphs = [data for data in self.observed.graphs if bool(data.val.any())]
        y = torch.cat([data.y[data.val] for data in graphs])
        logits = [
            torch.cat([each.model(data.x, data.graph)[data.val] for data in graphs])
            for each in results
        ]
        score, losses = float(metrics.score(logits[0], y)), _node_losses(logits[0], y)
        why = (
            f"it has the best validation score, {score:.1%}, of the {len(results)}"
            f" trained in full out of {number}"
        )
        taken, gain, trials = 1, 0.0, list[Trial]()
        for size in sorted({2, len(results)} & set(range(2, len(results) + 1))):
            mean = mean_logits(logits[:size], is_multilabel=y.dim() == 2)
            found, lost = float(metrics.score(mean, y)), _node_losses(mean, y)
            names = [each.chosen.names[0] for each in results[:size] if each.chosen]
            about = (f"mean of {' and '.join(names)}", {}, len(SHARES) + 1)
            trials.append(Trial(*about, 0, found, float(lost.mean()), 0.0))
            less = losses - lost
            error = float(less.std()) / math.sqrt(len(less)) if len(less) > 1 else 0.0
            if found >= score and float(less.mean()) > max(error, gain):
                taken, gain = size, float(less.mean())
                why = (
                    f"the mean of the best {size} has a validation loss of"
                    f" {float(lost.mean()):.3f}, below the {float(losses.mean()):.3f}"
                    f" of the best alone by more than chance, and a score of"
                    f" {found:.1%}, not below its {score:.1%}"
                )
        if taken == 1:
            chosen = dataclasses.replace(best.chosen, why=why)
            return dataclasses.replace(best, chosen=chosen), trials
        several = [each.chosen for each in results[:taken] if each.chosen]
        members = [each.sgat for each in results[:taken]]
        chosen = dataclasses.replace(
            best.chosen,
            names=tuple(each.names[0] for each in several),
            members=tuple(each.members[0] for each in several),
            why=why,
        )
        model = Committee(members, is_multilabel=y.dim() == 2).eval()
        return dataclasses.replace(best, model=model, chosen=chosen), trials


def _why_single(model: ModelConfig, train: TrainConfig, num_val: int) -> str:
    """Why nothing is searched, a sentence; empty if something is."""
    if model.readout != "auto":
        return "the read-out was given"
    if train.fast:
        return "one candidate was asked for, and the training labels and edges name it"
    if not num_val:
        return "there are no validation nodes, so the training labels and edges name it"
    return ""


def shortened(train: TrainConfig, share: float) -> TrainConfig:
    """The settings of a training for a share of the epochs, without snapshots."""
    epochs = max(1, round(share * train.epochs))
    warmup = train.warmup
    if warmup is not None:
        warmup = min(round(share * warmup), epochs - 1)
    changes: dict[str, Any] = {"epochs": epochs, "warmup": warmup, "snapshots": 0}
    return dataclasses.replace(train, **changes)


def folds(
    graphs: Sequence[NodeData], number: int, *, seed: int
) -> list[list[NodeData]]:
    """Splits of the training and validation nodes; each node validates once.

    Nodes of each class are dealt out in turn. Test nodes are left alone.
    """
    generator = np.random.default_rng(noise.derive(seed, 2))
    pools = [(data.train | data.val).nonzero().squeeze(1).cpu() for data in graphs]
    y = torch.cat([data.y[pool] for data, pool in zip(graphs, pools, strict=True)])
    number = min(number, len(y))
    order = generator.permutation(len(y))
    if y.dim() == 1:
        order = order[np.argsort(y.cpu().numpy()[order], kind="stable")]
    dealt = torch.empty(len(y), dtype=torch.long)
    dealt[torch.from_numpy(order)] = torch.arange(len(y)) % number
    parts = dealt.split([len(pool) for pool in pools])
    return [
        [
            _with_roles(data, pool, part == fold)
            for data, pool, part in zip(graphs, pools, parts, strict=True)
        ]
        for fold in range(number)
    ]


def _with_roles(data: NodeData, pool: Tensor, held_out: Tensor) -> NodeData:
    masks = {}
    for role, chosen in (("train", ~held_out), ("val", held_out)):
        mask = torch.zeros(data.num_nodes, dtype=torch.bool)
        mask[pool[chosen]] = True
        masks[role] = mask.to(data.train.device)
    return dataclasses.replace(data, **masks)


def ranked(trials: Sequence[Trial]) -> list[int]:
    """Places of trials, the best first: by score, then by loss, then as they stand."""

    def key(place: int) -> tuple[float, float]:
        score, loss = trials[place].score, trials[place].loss
        worst = math.inf
        return (
            worst if score is None or math.isnan(score) else -score,
            worst if loss is None or math.isnan(loss) else loss,
        )

    return sorted(range(len(trials)), key=key)


def _with_folds(
    finals: Sequence[Trial], tried: Sequence[Trial], number: int
) -> list[Trial]:
    """The trials in full, scored by the mean over the given split and the folds."""
    if number == 1:
        return list(finals)
    last = {trial.name: trial for trial in tried}
    joined = []
    for trial in finals:
        before = last.get(trial.name)
        if before is not None and before.score is not None and trial.score is not None:
            score = (trial.score + number * before.score) / (number + 1)
            trial = dataclasses.replace(trial, score=score)
        joined.append(trial)
    return joined


def _entry(training: Training) -> dict[str, Any]:
    """Train, and report the score and loss of the selected epoch."""
    try:
        result = training.run()
    except DivergedError:
        return {"score": None, "loss": None, "seconds": training.seconds}
    if result.interrupted:
        raise KeyboardInterrupt
    best = result.best
    return {"score": best.val, "loss": best.val_loss, "seconds": training.seconds}


def _node_losses(logits: Tensor, y: Tensor) -> Tensor:
    """Loss of each node, [N] float64."""
    wide = logits.double()
    if y.dim() == 2:
        found = torch.nn.functional.binary_cross_entropy_with_logits
        return found(wide, y.double(), reduction="none").mean(1)
    return torch.nn.functional.cross_entropy(wide, y, reduction="none")
