"""Search: candidates are trained, and the validation nodes decide which one is taken.

Successive halving: the first round trains every candidate for some of the epochs, the
next one the best of them for more, and the last trains in full what is left. A training
goes on where the round before left it, to the bits of one that begins anew; those of a
search that was cut off do begin anew, for a round leaves no more than scores. Where a
candidate is settled (`sgat.training.patience`), no other is tried.

A small graph keeps one core busy. Where a copy of the process is safe
(`sgat.parallel.beside`) it trains half of a round. All is decided as without it.
"""

import dataclasses
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from sgat.config import ModelConfig, TrainConfig
from sgat.data.files.atomic import write_text
from sgat.data.node_data import NodeData, check
from sgat.parallel.beside import beside, can_fork
from sgat.parallel.ranks import Ranks
from sgat.training import checkpoint, files
from sgat.training.best_or_mean import LAST, best_or_mean, joined, mean
from sgat.training.candidates import (
    DEEP_FROM,
    Candidate,
    candidates,
    differing,
    is_hopeless,
    proven,
    shortened,
    with_kin,
)
from sgat.training.folds import folds
from sgat.training.fresh_model import resolved
from sgat.training.loop import DivergedError, Training
from sgat.training.patience import is_settled
from sgat.training.result import Chosen, EpochRecord, Ledger, Result, Trial

SHARES = (0.15, 0.4)
"""Share of the epochs that each round but the last trains for."""
LEAST = 3
"""Candidates that the first round leaves; a quarter of them, if that is more."""
FINALISTS = 2
"""Candidates that are trained in full."""
LARGEST_SHARED = 2_000_000
"""Edges beyond which a training has memory and cores for itself."""
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
        self.first = Training(graphs, first.model, first.train, ranks=ranks)
        self.observed = self.first.observed
        self.splits = [self.observed.graphs]
        if self.num_val < FEW and not self.is_single:
            self.splits = folds(self.observed.graphs, FOLDS, seed=train.seed)
        is_small = self.first.epochs.num_seen_edges <= LARGEST_SHARED
        self._shares = is_small and ranks is None and can_fork()
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
                    trials = self._shared(left, rung, aim, on, ledger, tell)
                    order = proven(trials, self.num_val)[:number]
                    left = [left[place] for place in order]
                    tried += trials
                    if self._is_settled(trials[-1]):
                        left = left[:1]
                        break
                    if number == FINALISTS and not has_folds:
                        last = [trials[place] for place in order]
                        left = with_kin(left, last, tried, self.table, self.num_val)
        except KeyboardInterrupt:
            self._write(ledger)  # so that there is a run to go on with
            raise
        finals = self._in_full(left, folder, how, tell)
        # With folds, few nodes validate the trainings in full: the folds have a say.
        scored = [trial for _, trial, _ in finals]
        if has_folds:
            scored = [joined(each, tried, len(self.splits)) for each in scored]
        order = proven(scored, self.num_val)
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

    def _shared(self, left: Sequence[Candidate], rung: int, *given: Any) -> list[Trial]:
        """A round, half of it trained by a copy of this process where that is safe."""

        def others() -> tuple[dict[str, Any], dict[str, checkpoint.Progress]]:
            aim, splits, *_ = given
            self._round(theirs, left, rung, aim, splits, None, lambda step: None)
            names = self._held.keys() & {each.name for each in theirs}
            return self.scores, {name: self._held[name] for name in names}

        early = [each for each in left if rung > 1 or each.model.layers <= DEEP_FROM]
        late, trials = [each for each in left if each not in early], list[Trial]()
        for part in (early, late) if self._shares else ():
            hopeful = [c for c in part if not (rung == 1 and self._is_hopeless(c))]
            is_over = any(map(self._is_settled, trials))
            if (theirs := hopeful[1::2]) and not is_over:
                with beside(others) as found:
                    self._round(hopeful[::2], left, rung, *given)
                    scores, held = found() or ({}, {})
                self.scores, self._held = self.scores | scores, self._held | held
                trials = self._round(part, left, rung, *given)
        return self._round(left, left, rung, *given)

    def _round(
        self,
        part: Sequence[Candidate],
        left: Sequence[Candidate],
        rung: int,
        aim: tuple[float, int],
        splits: Sequence[Sequence[NodeData]],
        ledger: Path | None,
        tell: Callable[[Step], None],
    ) -> list[Trial]:
        """Train candidates for a share of the epochs, on each split, to leave some."""
        (share, most), trials = aim, list[Trial]()
        for candidate in part:
            if rung == 1 and self._is_hopeless(candidate):
                continue
            train, number = shortened(candidate.train, share), left.index(candidate) + 1
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
            score, loss = (mean([p[n] for p in parts]) for n in ("score", "loss"))
            seconds = sum(part["seconds"] for part in parts)
            about = candidate.name, differing(candidate, self.train), rung, train.epochs
            trials.append(Trial(*about, score, loss, seconds))
            for place in proven(trials, self.num_val)[most:]:
                self._held.pop(trials[place].name, None)
            if self._is_settled(trials[-1]):
                break
        return trials

    def _is_hopeless(self, candidate: Candidate) -> bool:
        """Whether the other scores of the first round leave a deep network no hope."""
        keys = {each: f"1/{each.name}/0" for each in self.table}
        found = {each: self.scores.get(key, {}) for each, key in keys.items()}
        seen = {each: score.get("score") or 0.0 for each, score in found.items()}
        return is_hopeless(candidate, seen, self.num_val)

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
        work = self._reached if len(left) > 1 and self._shares else None
        with beside(work, left[-1]) as found:
            for number, candidate in enumerate(left, 1):
                train, name = candidate.train, candidate.name
                tell(Step(name, LAST, number, len(left), train.epochs))
                place = f"state-{self.table.index(candidate)}.safetensors"
                path = folder and folder / place
                training = self._begin(candidate, train, self.first.graphs)
                before = training.seconds
                if number > 1 and (reached := found()):
                    checkpoint.go_on(training, reached)
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
                best, seconds = result.best, training.seconds - before
                about = name, differing(candidate, self.train), LAST, training.epoch
                trial = Trial(*about, best.val, best.val_loss, seconds)
                finals.append((candidate, trial, result))
        return finals

    def _reached(self, candidate: Candidate) -> checkpoint.Progress:
        """How far a training in full is at its end."""
        training = self._begin(candidate, candidate.train, self.first.graphs)
        while not training.is_done:
            training.run_epochs()
        return checkpoint.progress(training)


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
