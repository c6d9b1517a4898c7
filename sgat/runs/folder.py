"""RunFolder: the files of a run, and what of them stays when another takes their place.

An earlier run in the folder stays as it was until the new one is complete.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
from collections.abc import Iterator
from pathlib import Path

from sgat.config import Config
from sgat.data.files.atomic import (
    SCRATCH,
    check_plain,
    clear_scratch,
    locked,
    sync,
    write_text,
)
from sgat.report.page import is_report
from sgat.training.choosing import LEDGER
from sgat.training.saved_model import finish_save, is_model


class _File:
    """The path of a name in a run folder."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, folder: RunFolder, kind: type) -> Path:
        return folder.path / self.name


@dataclasses.dataclass(frozen=True)
class RunFolder:
    """The files of one run; those from `snapshots` on are there if asked for."""

    path: Path

    config = _File("config.toml")  # every setting, as `sgat fit --config` takes it
    model = _File("model.safetensors")  # weights; the header has classes and sizes
    metrics = _File("metrics.jsonl")  # one line per epoch
    nodes = _File("nodes.parquet")  # id, split, label, prediction, probabilities
    edges = _File("edges.parquet")  # with their scores
    encoding = _File("encoding.json")  # how columns of the user's became features
    removal = _File("removal.json")  # before and after, score against share removed
    summary = _File("summary.json")  # numbers, written last: then the run is done
    checkpoint = _File("checkpoint/state.safetensors")  # of a run under way
    snapshots = _File("snapshots.npz")  # scores and predictions at some epochs
    tensorboard = _File("tensorboard")  # the epochs once more, in a folder
    report = _File("report.html")  # the page of `sgat report`

    @property
    def progress(self) -> list[Path]:
        """The files from which a run under way can go on."""
        states = self.draft.path.glob("state*.safetensors")
        return [*sorted(states), *filter(is_there, [self.draft.path / LEDGER])]

    @property
    def events(self) -> list[Path]:
        """The files for TensorBoard."""
        return sorted(self.tensorboard.glob("events.out.tfevents.*"))

    @property
    def draft(self) -> RunFolder:
        """The run under way: its settings, and its results until all are there."""
        return RunFolder(self.checkpoint.parent)

    @property
    def is_finished(self) -> bool:
        """Whether training came to its end and no other run is under way."""
        return self.summary.exists() and not self.is_under_way

    @property
    def is_under_way(self) -> bool:
        """Whether there is a run here that can be resumed."""
        return self.draft.config.exists()

    @property
    def is_started(self) -> bool:
        """Whether there is a run here, finished or not."""
        return self.is_under_way or (self.config.exists() and is_model(self.model))

    @property
    def _named(self) -> list[Path]:
        """The files of a run that have a fixed name, the summary last."""
        first = self.config, self.model, self.metrics, self.nodes, self.edges
        return [*first, self.encoding, self.removal, self.snapshots, self.summary]

    @property
    def files(self) -> list[Path]:
        """The files of a run that are here, the summary last."""
        *named, summary = self._named
        return list(filter(is_there, (*named, *self.events, summary)))

    @property
    def foreign(self) -> Path | None:
        """Something here that a run would replace although no run has written it."""
        if self.is_started:
            return None
        if is_there(self.draft.path):
            is_folder = self.draft.path.is_dir()
            # A run that was killed as it began leaves only what was on its way.
            if not is_folder or any(
                not file.name.endswith(SCRATCH) for file in self.draft.path.iterdir()
            ):
                return self.draft.path
        return next(iter(self.files), None)

    def check_plain(self) -> None:
        """Refuse links among the files of this run, which a stranger may have made."""
        own = [self.draft.path, self.tensorboard]
        found = [file for folder in own for file in folder.glob("*")]
        check_plain([*own, *self._named, self.report])
        check_plain([*found, *self.draft.tensorboard.glob("*")])

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the folder against other processes; what killed ones left goes."""
        with locked(self.path):
            finish_save(self.path)
            clear_scratch(self.path)
            clear_scratch(self.draft.path)
            if self.is_finished:
                self.drop_draft()
            yield

    def holds(self, path: Path) -> bool:
        """Whether a path is, or would be, a file of this run."""
        folder, target = (Path(os.path.realpath(p)) for p in (self.path, path))
        own = (self.draft.path.name, self.tensorboard.name)
        if any(target.is_relative_to(folder / name) for name in own):
            return True
        names = [file.name for file in self._named]
        if target.parent == folder and target.name in names:
            return True
        return target.exists() and any(target.samefile(file) for file in self.files)

    def start(self, config: Config) -> None:
        """Make the folder and write the settings of a new run.

        Results of an earlier one stay; a run under way is given up.
        """
        self.drop_draft()
        self.draft.path.mkdir(parents=True, exist_ok=True)
        try:
            write_text(self.draft.config, config.to_toml())
        except OSError:
            _remove_empty(self.draft.path)
            raise

    def drop_draft(self) -> None:
        """Remove the run under way.

        Where there are results, its settings go first: without these, the rest says
        nothing. Elsewhere they go last: with them, the rest is known to be ours.
        """
        draft = self.draft
        has_results = self.config.exists() and is_model(self.model)
        rest = [*self.progress, *(f for f in draft.files if f != draft.config)]
        clear_scratch(draft.path)
        if has_results:
            draft.config.unlink(missing_ok=True)
        for file in rest:
            file.unlink(missing_ok=True)
        _remove_empty(draft.tensorboard)
        draft.config.unlink(missing_ok=True)
        _remove_empty(draft.path)

    def publish(self, config: Config) -> None:
        """Put the results of the run under way in the place of the earlier ones.

        The summary goes first and comes last, and the settings stay in the draft until
        then: whenever this is cut off, the run can be resumed and ends the same.
        """
        draft = self.draft
        earlier, results = self.files, draft.files
        if is_report(self.report):
            self.report.unlink()
        for file in reversed(earlier):
            if file != self.config:
                file.unlink()
        write_text(self.config, config.to_toml())
        if draft.events:
            self.tensorboard.mkdir(exist_ok=True)
        else:
            _remove_empty(self.tensorboard)
        for file in results:
            if file != draft.config:
                os.replace(file, self.path / file.relative_to(draft.path))
                sync(self.path)
        self.drop_draft()


def _remove_empty(folder: Path) -> None:
    with contextlib.suppress(OSError):
        folder.rmdir()


def is_there(path: Path) -> bool:
    """Whether a name is taken, be it by a link that leads nowhere."""
    return path.exists() or path.is_symlink()
