"""Search: candidates are trained, and the validation nodes decide which one is taken.

Successive halving: the first round trains every candidate for some of the epochs, the
next one the best of them for more, and the last trains in full what is left. A training
goes on where the round before left it, to the bits of one that begins anew; those of a
search that was cut off do begin anew, for a round leaves no more than scores. Where a
candidate is settled (`sgat.training.patience`), no other is tried.
"""

import dataclasses
import json
import logging
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from sgat.config import ModelConfig, TrainConfig
from sgat.data.files.atomic import write_text
from sgat.data.node_data import NodeData, check
from sgat.parallel.ranks import Ranks
from sgat.training import checkpoint, files
from sgat.training.best_or_mean import LAST, best_or_mean, gates_of
from sgat.training.candidates import (
    DEEP_FROM,
    Candidate,
    candidates,
    differing,
    is_hopeless,
    shortened,
)
from sgat.training.folds import folds
from sgat.training.fresh_model import resolved
from sgat.training.loop import DivergedError, Training
from sgat.training.patience import is_settled
from sgat.training.result import Chosen, EpochRecord, Ledger, Result, Trial, ranked

SHARES = (0.15, 0.4)
"""Share of the epochs that each round but the last trains for."""
LEAST = 3
"""Candidates that the first round leaves; a quarter of them, if that is more."""
FINALISTS = 2
"""Candidates that are trained in full."""
FAR_BEHIND = 2.0
"""Standard errors by which a runner-up is behind that gives way to the leader's kin."""
FEW = 100
"""Validation nodes below which the second round scores on folds."""
FOLDS = 3
FOLD_SHARES = (0.12, 0.18)
"""The shares with folds: in the second round a candidate trains once for each."""
LEDGER, STATE = "search.json", "state.safetensors"
"""Files of a run under way: scores of the search, and the state of one training."""


class Step(NamedTuple):
    """A candidate under training in a search; numbers count from 1."""

    name: str
    rung: int
    number: int  # of the candidate in its round
    total: int  # candidates of the round
    epochs: int
    rungs: int = LAST
    done: int = 0  # epochs


class Search:
    """The training of the best of some candidates, or of the only one.

    There is one where the read-out is named, with `fast`, and without validation nodes:
    `why` says so. Edges are judged once, for all.
    """

    def __init__(
        self,
        graphs: Sequence[NodeData],
        model: ModelConfig,
        train: TrainConfig,
        ranks: Ranks | None = None,
    ) -> None:
        """Check data and settings, find candidates, judge edges; so do all `ranks`."""
        check(graphs)
        # The nodes join a graph that was put together on a device.
        graphs = [data.to(data.graph.device) for data in graphs]
        self.train, self.ranks = train, ranks
        self.num_val = sum(int(data.val.sum()) for data in graphs)
        self.why = "the read-out was given"
        if model.readout == "auto" and train.fast:
            self.why = "one candidate was asked for; training labels and edges name it"
        elif model.readout == "auto":
            missing = "without validation nodes training labels and edges name it"
            self.why = "" if self.num_val else missing
        if self.is_single:
            only = resolved(model, graphs)
            self.table = [Candidate(str(only.readout), only, train)]
        else:
            self.table = candidates(model, train, graphs)
        first = self.table[0]
        if graphs[0].edge_columns and first.model.scorer == "evidence":
            logging.getLogger(__name__).warning(
                "gates of the `scorer` evidence learn nothing and do not look at"
                " `edge_columns`; those of additive or revised do."
            )
        self.first = Training(graphs, first.model, first.train, ranks=ranks)
        self.observed = self.first.observed
        self.splits = [self.observed.graphs]
        if self.num_val < FEW and not self.is_single:
            self.splits = folds(self.observed.graphs, FOLDS, seed=train.seed)
        self.scores: dict[str, dict[str, Any]] = {}  # of trainings that are done
        self._begun: list[tuple[Candidate, Training]] = []  # the best and the latest
        self._held: dict[str, checkpoint.Progress] = {}  # of those that may go on

    @property
    def is_single(self) -> bool:
        """Whether there is nothing to choose from."""
        return bool(self.why)

    @property
    def _writes(self) -> bool:
        return self.ranks is None or self.ranks.is_first

    def run(
        self,
        *,
        folder: Path | None = None,
        resume: bool = False,
        on_epoch: Callable[[EpochRecord], None] | None = None,
        on_step: Callable[[Step], None] | None = None,
    ) -> Result:
        """Train, and choose by the validation nodes; the result says what was `chosen`.

        Args:
            folder: Where to keep what is done, so that a run that was cut off can go
                on to the same bits; None keeps nothing.
            resume: Go on with what is in the folder.
            on_epoch: Called with each epoch of the trainings in full.
            on_step: Called before a candidate is trained, and in rounds but the last
                after its epochs.

        Raises:
            KeyboardInterrupt: On Ctrl-C in a search, after the epoch under way. A
                single training stops as `fit` does.
        """
        how: dict[str, Any] = {"resume": resume, "on_epoch": on_epoch}
        if self.is_single:
            path = folder and folder / STATE
            result = self.first.run(checkpoint_path=path, **how)
            return dataclasses.replace(result, chosen=_taken(self.table, self.why))
        ledger = folder and folder / LEDGER
        if ledger and resume and ledger.exists():
            self._read(ledger)
        tell = on_step or (lambda step: None)
        left, tried = self.table, list[Trial]()
        has_folds = len(self.splits) > 1
        shares = FOLD_SHARES if has_folds else SHARES
        most = max(LEAST, len(left) // 4), FINALISTS
        # Folds cost: many candidates are not worth them yet.
        splits = [self.observed.graphs], self.splits
        try:
            rounds = zip(shares, most, splits, strict=True)
            for rung, (share, number, on) in enumerate(rounds, 1):
                if len(left) > number:
                    aim = share, number
                    trials = self._round(left, rung, aim, on, ledger, tell)
                    order = self._ranked(trials)[:number]
                    left = [left[place] for place in order]
                    tried += trials
                    if self._is_settled(trials[-1]):
                        left = left[:1]
                        break
                    if number == FINALISTS and not has_folds:
                        left = self._with_kin(left, [trials[p] for p in order], tried)
        except KeyboardInterrupt:
            self._write(ledger)  # so that there is a run to go on with
            raise
        finals = self._in_full(left, folder, how, tell)
        # With folds, few nodes validate the trainings in full: the folds have a say.
        scored = [trial for _, trial, _ in finals]
        if has_folds:
            scored = [_joined(each, tried, len(self.splits)) for each in scored]
        order = self._ranked(scored)
        left = [finals[place][0] for place in order]
        results = [finals[place][2] for place in order]
        model, size, why, means = best_or_mean(results, left)
        if size == 1:
            over = " over folds and the given split" if has_folds else ""
            found = f"the best validation score{over}, {scored[order[0]].score:.1%}"
            number = len({trial.name for trial in tried} or self.table)
            why = f"it has {found}, of {len(self.table)} candidates"
            if number < len(self.table):
                why += f"; {len(self.table) - number} cannot do better"
        tried += [*(trial for _, trial, _ in finals), *means]
        chosen = _taken(left[:size], why, tried)
        return dataclasses.replace(results[0], model=model, chosen=chosen)

    def so_far(self) -> Result | None:
        """The best training of a search until now; None before the end of an epoch."""
        self._begun = self._leader()
        if not self._begun:
            return None
        candidate, training = self._begun[0]
        chosen = _taken([candidate], "it was the best when training was interrupted")
        result = training.result()
        return dataclasses.replace(result, chosen=chosen, interrupted=True)

    def _begin(
        self, candidate: Candidate, train: TrainConfig, graphs: Sequence[NodeData]
    ) -> Training:
        """A training that goes on if it can; of those before, the best is remembered.

        It cannot on a fold, or where the end of the training changes its beginning.
        """
        given: dict[str, Any] = {"observed": self.observed, "ranks": self.ranks}
        training = Training(graphs, candidate.model, train, **given)
        is_same = not (train.warmup_epochs or train.snapshots)
        if graphs is self.first.graphs and candidate.name in self._held and is_same:
            checkpoint.go_on(training, self._held.pop(candidate.name))
        self._begun = [*self._leader(), (candidate, training)]
        return training

    def _leader(self) -> list[tuple[Candidate, Training]]:
        """The best of the trainings that are remembered, by the selected epochs."""

        def key(pair: tuple[Candidate, Training]) -> tuple[float, float]:
            best = pair[1].records[pair[1].best_epoch - 1]
            return best.val or 0.0, -(best.val_loss or 0.0)

        known = [pair for pair in self._begun if pair[1].epoch]
        return [max(known, key=key)] if known else []

    def _about(self) -> dict[str, Any]:
        """What the scores are of."""
        settings = [json.dumps(differing(each, self.train)) for each in self.table]
        about = {"data": self.first.fingerprint, "candidates": settings}
        return {"format": files.MODEL_FORMAT, **about}

    def _read(self, ledger: Path) -> None:
        stored = files.read_json(ledger, Ledger)
        if any(stored.get(name) != value for name, value in self._about().items()):
            raise ValueError(
                f"The data or the candidates have changed since {ledger} was written;"
                " start a new run."
            )
        self.scores = stored["scores"]

    def _write(self, ledger: Path | None) -> None:
        if ledger is not None and self._writes:
            content = {**self._about(), "scores": self.scores}
            write_text(ledger, json.dumps(content, indent=1) + "\n")

    def _round(
        self,
        left: Sequence[Candidate],
        rung: int,
        aim: tuple[float, int],
        splits: Sequence[Sequence[NodeData]],
        ledger: Path | None,
        tell: Callable[[Step], None],
    ) -> list[Trial]:
        """Train candidates for a share of the epochs, on each split, to leave some."""
        (share, most), trials, seen = aim, list[Trial](), dict[Candidate, float]()
        for number, candidate in enumerate(left, 1):
            far = FAR_BEHIND * self._error(max(seen.values(), default=0.0))
            if rung == 1 and is_hopeless(candidate, seen, far):
                continue
            train = shortened(candidate.train, share)
            keys = [f"{rung}/{candidate.name}/{n}" for n in range(len(splits))]
            step = Step(candidate.name, rung, number, len(left), train.epochs)
            if not set(keys) <= self.scores.keys():
                tell(step)
            for key, graphs in zip(keys, splits, strict=True):
                if key not in self.scores:
                    training = self._begin(candidate, train, graphs)
                    self.scores[key] = _entry(training, step, tell)
                    self._write(ledger)
                    if graphs is self.first.graphs:
                        self._held[candidate.name] = checkpoint.held(training)
            parts = [self.scores[key] for key in keys]
            score, loss = (_mean([p[n] for p in parts]) for n in ("score", "loss"))
            seconds = sum(part["seconds"] for part in parts)
            about = candidate.name, differing(candidate, self.train), rung, train.epochs
            trials.append(Trial(*about, score, loss, seconds))
            seen[candidate] = score or 0.0
            for place in self._ranked(trials)[most:]:
                self._held.pop(trials[place].name, None)
            if self._is_settled(trials[-1]):
                break
        return trials

    def _with_kin(
        self, left: list[Candidate], scored: Sequence[Trial], tried: Sequence[Trial]
    ) -> list[Candidate]:
        """The finalists; a hopeless runner-up gives its place to the leader's kin.

        Kin have the leader's read-out and edges, and its layers (more, if it is deep).
        Some learn slowly and go in the first round: the best of them there comes back.
        """
        last = {trial.name: trial for trial in tried}
        first = {name: trial for name, trial in last.items() if trial.rung == 1}
        scores, is_kin = [trial.score for trial in scored], _is_kin(left[1], left[0])
        kin = [k for k in self.table if _is_kin(k, left[0]) and k.name in first]
        ahead, behind = (float(score or 0) for score in scores)
        is_far = ahead - behind > FAR_BEHIND * self._error(ahead)
        if not kin or is_kin or not is_far or None in scores:
            return left
        return [left[0], kin[ranked([first[each.name] for each in kin])[0]]]

    def _error(self, score: float) -> float:
        """The standard error of a validation score."""
        return math.sqrt(score * (1 - score) / self.num_val)

    def _ranked(self, trials: Sequence[Trial]) -> list[int]:
        """Places of trials, the best first; deep networks need proof (`DEEP_FROM`)."""
        charged = [
            dataclasses.replace(trial, score=trial.score - self._error(trial.score))
            if trial.score and trial.settings.get("layers", 0) >= DEEP_FROM
            else trial
            for trial in trials
        ]
        return ranked(charged)

    def _is_settled(self, trial: Trial) -> bool:
        """Whether no other candidate can do better."""
        is_wanted = self.train.patience and self.train.select == "best"
        return bool(is_wanted) and is_settled(trial.score, trial.loss, self.num_val)

    def _in_full(
        self,
        left: Sequence[Candidate],
        folder: Path | None,
        how: dict[str, Any],
        tell: Callable[[Step], None],
    ) -> list[tuple[Candidate, Trial, Result]]:
        """Train candidates on the given split; those that diverge are left out."""
        finals = list[tuple[Candidate, Trial, Result]]()
        for number, candidate in enumerate(left, 1):
            train = candidate.train
            tell(Step(candidate.name, LAST, number, len(left), train.epochs))
            path = (
                folder and folder / f"state-{self.table.index(candidate)}.safetensors"
            )
            training = self._begin(candidate, train, self.first.graphs)
            before = training.seconds
            if path and training.records and not path.exists() and self._writes:
                checkpoint.save(training, path)
            try:
                result = training.run(checkpoint_path=path, **how)
            except DivergedError:
                if number == len(left) and not finals:
                    raise
                continue
            if result.interrupted:
                raise KeyboardInterrupt
            best, length = result.best, len(result.records)
            about = candidate.name, differing(candidate, self.train), LAST, length
            trial = Trial(*about, best.val, best.val_loss, training.seconds - before)
            finals.append((candidate, trial, result))
        return finals


def _taken(
    members: Sequence[Candidate], why: str, tried: Sequence[Trial] = ()
) -> Chosen:
    names, models = zip(*((each.name, each.model) for each in members), strict=True)
    return Chosen(names, why, models, members[0].train, tuple(tried))


def _entry(
    training: Training, step: Step, tell: Callable[[Step], None]
) -> dict[str, Any]:
    """Train, and report score and loss of the selected epoch, and the seconds."""
    score, loss, before = None, None, training.seconds
    try:
        result = training.run(on_epoch=lambda r: tell(step._replace(done=r.epoch)))
        if result.interrupted:
            raise KeyboardInterrupt
        score, loss = result.best.val, result.best.val_loss
    except DivergedError:
        pass
    return {"score": score, "loss": loss, "seconds": training.seconds - before}


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if len(known) == len(values) else None


def _joined(trial: Trial, before: Sequence[Trial], folds: int) -> Trial:
    """A trial in full whose score is the mean of its own and of the folds before."""
    last = [each.score for each in before if each.name == trial.name][-1:]
    return dataclasses.replace(trial, score=_mean([trial.score, *last * folds]))


def _is_kin(candidate: Candidate, leader: Candidate) -> bool:
    """Whether a model is the leader before its details; deeper ones learn later."""
    mine, own = candidate.model, leader.model
    depth = mine.layers == own.layers or mine.layers > own.layers >= DEEP_FROM
    alike = mine.readout == own.readout and gates_of(candidate) == gates_of(leader)
    return depth and alike
