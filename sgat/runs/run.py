"""A run from settings to a folder of results: train and write."""

import dataclasses
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from sgat.config import Config, default_config
from sgat.data.configured import Loaded, load_configured
from sgat.data.files import from_node_data, write_pruned
from sgat.data.files.atomic import check_new_file, scratch_folder
from sgat.data.files.source import format_of
from sgat.data.files.write import GRAPH_FORMATS, write_graph
from sgat.parallel.limits import check_parallel
from sgat.parallel.ranks import Ranks
from sgat.runs.finished_run import open_run
from sgat.runs.folder import RunFolder
from sgat.runs.jobs import lead, sent_note
from sgat.runs.notes import kept_note, readout_note, weak_note
from sgat.runs.results import write_results
from sgat.runs.summary import read_summary
from sgat.runs.tensorboard_log import check_tensorboard, log_epochs
from sgat.scored import EdgeScores, score_graphs
from sgat.training.choosing import Search, Step
from sgat.training.loop import chosen_device
from sgat.training.result import EpochRecord


@dataclasses.dataclass(frozen=True)
class RunOutcome:
    """How a run ended."""

    summary: dict[str, Any] | None  # None if it was interrupted
    epochs: int  # number of finished ones
    files: list[str]  # names of those in the folder
    notes: tuple[str, ...]  # choices made for the user, one sentence each


def run(
    folder: RunFolder,
    settings: Config,
    *,
    resume: bool = False,
    root: str | None = None,
    loaded: Loaded | None = None,
    pruned: Path | None = None,
    tensorboard: bool = False,
    on_epoch: Callable[[EpochRecord], None] | None = None,
    on_step: Callable[[Step], None] | None = None,
    on_stage: Callable[[str], None] = lambda stage: None,
    ranks: Ranks | None = None,
) -> RunOutcome:
    """Train as the settings say and write the folder.

    All checks of data and settings come before the first file is written. Results of
    an earlier run in the folder are replaced when the new ones are complete; until
    then, and after an error, they are as they were. An error before the first
    checkpoint leaves nothing behind. With `resume` a run goes on from the checkpoint in
    the folder, if there is one, and writes for TensorBoard if it began so. Data that is
    not `loaded` is read, `root` before the folder of the settings. `pruned` is a file
    for the smaller graph. Of several processes, `ranks`, this is the first.
    """
    if resume and folder.is_finished and pruned is None:
        return _finished_before(folder, "nothing was done")
    if loaded is None:
        device = None if ranks else chosen_device(settings.train.device)
        how: dict[str, Any] = {"seed": settings.train.seed, "device": device}
        loaded = load_configured(settings.data, root=root, **how)
    if pruned is not None:
        check_pruned_path(pruned, loaded)
    if resume and folder.is_finished:
        assert pruned is not None
        finished = open_run(folder.path, root=root, loaded=loaded)
        write_pruned_file(loaded, finished.scored[0].edges, pruned)
        return _finished_before(folder, f"only {pruned} was written")
    tensorboard = tensorboard or (resume and folder.draft.tensorboard.is_dir())
    if tensorboard:
        check_tensorboard(folder)
    if ranks is not None:
        check_parallel(loaded.graphs, settings.model, settings.train, ranks)
        lead(ranks, folder, settings, root, resume=resume)
    on_stage("getting ready: judging the edges, compiling kernels")
    search = Search(loaded.graphs, settings.model, settings.train, ranks)
    notes = loaded.notes
    if search.is_single:
        (only,) = search.table
        if settings.model.readout == "auto" and not settings.train.fast:
            notes += (f"the read-out is {only.name}: {search.why}",)
        notes += readout_note(settings.model, only.model)
        # The weights mean nothing without it, so it is written down.
        settings = dataclasses.replace(settings, model=only.model)
    try:
        if not resume:
            folder.start(settings)
        # Of a search, the log has the epochs of what was taken.
        told = on_epoch if search.is_single else None
        with log_epochs(folder.draft, settings, told, wanted=tensorboard) as tell:
            result = search.run(
                folder=folder.draft.path,
                resume=resume,
                on_epoch=tell if search.is_single else on_epoch,
                on_step=on_step,
            )
            if tell is not None and not search.is_single:
                for record in result.records:
                    tell(record)
    except BaseException:
        if not folder.progress:
            folder.drop_draft()
        raise
    if result.interrupted:
        return RunOutcome(None, len(result.records), [], notes)
    assert result.chosen is not None
    if ranks is not None:
        notes += (sent_note(ranks),)
    settings = result.chosen.settings(settings)
    on_stage("scoring all edges")
    scored = score_graphs(result.sgat, loaded.graphs, result.graphs)
    if pruned is not None:
        write_pruned_file(loaded, scored[0].edges, pruned)
    on_stage("measuring the removal of edges, writing")
    # A checkpoint has asked for the fingerprint before.
    known = loaded.files, search.first.fingerprint
    summary = write_results(folder, settings, result, scored, *known)
    notes += kept_note(summary)
    name = settings.data.name
    if name is None or default_config(name).train.keep != settings.train.keep:
        # A shipped share is part of a result that is known.
        notes += weak_note(summary)
    return RunOutcome(summary, len(result.records), _files(folder), notes)


def write_pruned_file(loaded: Loaded, scores: EdgeScores, path: Path) -> None:
    """Write the first graph without the edges that the scores remove."""
    graph = loaded.files or from_node_data(loaded.graphs[0])
    write_pruned(graph, scores.kept, scores.gate, path)


def _finished_before(folder: RunFolder, what: str) -> RunOutcome:
    summary = read_summary(folder)
    note = f"{folder.path} was finished already; {what}"
    return RunOutcome(summary, summary["epochs"], _files(folder), (note,))


def _files(folder: RunFolder) -> list[str]:
    return sorted({file.relative_to(folder.path).parts[0] for file in folder.files})


def check_pruned_path(path: Path, loaded: Loaded) -> None:
    """Find out before training whether the smaller graph can be written.

    The whole graph is written under another name in the same folder and removed again:
    its columns, its values and the room it takes are those of the smaller one, or more.
    """
    if len(loaded.graphs) > 1:
        raise ValueError(
            f"`pruned` writes one graph, got {len(loaded.graphs)}; their kept edges"
            " are in edges.parquet."
        )
    check_new_file(path, "pruned")
    format = format_of(path, None, GRAPH_FORMATS)
    open_ = torch.ones(loaded.graphs[0].graph.num_edges)
    graph = loaded.files or from_node_data(loaded.graphs[0])
    logger = logging.getLogger(write_graph.__module__)
    with scratch_folder(path) as scratch:
        trial = scratch / "trial"
        # What it warns of is told when the smaller graph is written.
        before, logger.disabled = logger.disabled, True
        try:
            write_pruned(graph, open_.bool(), open_, trial, format)
        except OSError as error:
            error.filename = str(path)
            raise
        except ValueError as error:
            raise ValueError(str(error).replace(str(trial), str(path))) from None
        finally:
            logger.disabled = before
