"""The epochs of a run, written for TensorBoard as they come."""

import contextlib
import importlib.util
from collections.abc import Callable, Iterator

from sgat.config import Config
from sgat.runs.folder import RunFolder
from sgat.training.result import EpochRecord

Tell = Callable[[EpochRecord], None]


def check_tensorboard(folder: RunFolder) -> None:
    """Find out before training whether there is a way and a place to log."""
    if importlib.util.find_spec("tensorboard") is None:
        raise ValueError(
            "`tensorboard` needs the package tensorboard; install it with"
            " `pip install 'sgat[tensorboard]'`."
        )
    place = folder.tensorboard
    if place.exists() and not place.is_dir():
        raise ValueError(
            f"`tensorboard` writes to the folder {place}, which is a file;"
            " move it, or choose another `out`."
        )


@contextlib.contextmanager
def log_epochs(
    folder: RunFolder, config: Config, on_epoch: Tell | None, *, wanted: bool
) -> Iterator[Tell | None]:
    """Yield what to call after each epoch: `on_epoch`, and the log where it is wanted.

    The log begins anew: a run that goes on reports the epochs it has done first, so
    that no step is there twice.
    """
    if not wanted:
        yield on_epoch
        return
    from torch.utils.tensorboard import SummaryWriter

    for file in folder.events:
        file.unlink()
    writer = SummaryWriter(str(folder.tensorboard))

    def tell(record: EpochRecord) -> None:
        for name, value in scalars(record, config.train.lr).items():
            writer.add_scalar(name, value, record.epoch)
        if on_epoch is not None:
            on_epoch(record)

    try:
        yield tell
    finally:
        writer.close()


def scalars(record: EpochRecord, lr: float) -> dict[str, float]:
    """What is logged of an epoch, by the name of its curve."""
    named = {
        "loss/total": record.loss,
        "loss/data": record.data_loss,
        "loss/penalty": record.loss - record.data_loss,
        "loss/validation": record.val_loss,
        "score/train": record.train,
        "score/validation": record.val,
        "edges/open": record.open_share,
        "edges/expected_open": record.expected_open,
        "edges/kept": record.kept_share,
        "training/price": record.price,
        "training/lr": lr,
        "training/seconds": record.seconds,
    }
    return {name: value for name, value in named.items() if value is not None}
