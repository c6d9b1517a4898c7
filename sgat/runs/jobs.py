"""A run by several processes: what the first tells the others, and what they do.

Tested by tests/parallel/test_fit.py.
"""

import contextlib
import json
import tomllib
from collections.abc import Iterator
from pathlib import Path

import torch

from sgat.config import Config
from sgat.data.configured import load_configured
from sgat.parallel.launch import is_restarted
from sgat.parallel.ranks import Ranks, joined
from sgat.runs.folder import RunFolder
from sgat.runs.request import Request
from sgat.training.choosing import Search


@contextlib.contextmanager
def leading() -> Iterator[Ranks | None]:
    """Meet the other processes, and send them home if there was nothing to do."""
    with joined() as ranks:
        yield ranks
        if ranks is not None and not ranks.has_begun:
            ranks.bytes_of_first(lambda: b"")


def lead(
    ranks: Ranks, folder: RunFolder, settings: Config, root: str | None, *, resume: bool
) -> None:
    """Tell the others what to train."""
    about = {"folder": str(folder.path.absolute()), "root": root, "resume": resume}
    told = json.dumps({**about, "settings": settings.to_toml()}).encode()
    ranks.has_begun = True
    ranks.bytes_of_first(lambda: told)


def follow(ranks: Ranks) -> bool:
    """Train with the first process, which alone reads, chooses and writes.

    Every process reads the data and a checkpoint for itself, so folders must be the
    same for all. Returns whether training was interrupted.
    """
    told = ranks.bytes_of_first(lambda: b"")
    if not told:
        return False
    ranks.has_begun = True
    about = json.loads(told)
    settings = Config.from_dict(tomllib.loads(about["settings"]))
    train = settings.train
    loaded = load_configured(settings.data, root=about["root"], seed=train.seed)
    search = Search(loaded.graphs, settings.model, train, ranks)
    folder = RunFolder(Path(about["folder"])).draft.path
    interrupted = search.run(folder=folder, resume=about["resume"]).interrupted
    sent_note(ranks)
    return interrupted


def sent_note(ranks: Ranks) -> str:
    """How much all processes have sent to each other; all of them must ask."""
    own = torch.tensor([sum(ranks.sent.values()), ranks.sent["rows"]])
    size, rows = (ranks.summed(own).double() / 1e6).tolist()
    return (
        f"{ranks.size} processes sent {size:,.1f} MB to each other, {rows:,.1f} MB of"
        " it rows of nodes at open edges"
    )


def restarted(request: Request, *, resume: bool) -> tuple[Request, bool]:
    """The request as `torchrun` repeats it after a process died: go on, if that can be.

    Settings that were given are in the run folder already.
    """
    out = request.out
    if out is None or not is_restarted() or not RunFolder(out).is_under_way:
        return request, resume
    kept = {k: v for k, v in request.data.items() if k in ("name", "root")}
    return Request(kept, out=out, pruned=request.pruned), True
