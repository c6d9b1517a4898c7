"""Ranks: the processes of a job, and all that they send to each other."""

import contextlib
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

from sgat.parallel.launch import number_in_job

TIMEOUT = timedelta(hours=1)
"""Longest wait for a process that lives but does not answer: judging takes so long."""


class RankLostError(ValueError):
    """Another process of the job ended."""


class Ranks:
    """The processes of a job, numbered from 0; this one has the `number`.

    All of them must call the same methods in the same order. `sent` counts the bytes
    that this process has sent to others, by what they were. `has_begun` says whether
    the first process has told the others what to do.
    """

    def __init__(self, number: int, size: int) -> None:
        self.number = number
        self.size = size
        self.sent: Counter[str] = Counter()
        self.has_begun = False

    @property
    def is_first(self) -> bool:
        """Whether this process decides and writes."""
        return self.number == 0

    def swapped(
        self, rows: Tensor, given: list[int], taken: list[int], what: str
    ) -> Tensor:
        """Rows for each process in turn, exchanged for those from each in turn.

        `given` and `taken` are the numbers of rows; `what` names them in `sent`.
        """
        width = math.prod(rows.shape[1:])
        num_sent = sum(given) - given[self.number]
        self.sent[what] += width * rows.element_size() * num_sent
        out = rows.new_empty(sum(taken), *rows.shape[1:])
        # As bytes, since not every type can be sent.
        got, sent = (r.reshape(len(r), width).view(torch.uint8) for r in (out, rows))
        with _talking():
            dist.all_to_all_single(got, sent, taken, given)
        return out

    def gathered(self, rows: Tensor, what: str) -> Tensor:
        """The rows of all processes, in their order."""
        counts = torch.zeros(self.size, dtype=torch.long)
        counts[self.number] = len(rows)
        found = self.summed(counts).tolist()
        return self.gather(rows, found, what)

    def gather(self, rows: Tensor, counts: list[int], what: str) -> Tensor:
        """The same where the number of rows of each process is known.

        Gradients by the own rows pass; all processes must go on alike.
        """
        repeated = rows.detach().repeat(self.size, *[1] * (rows.dim() - 1))
        found = self.swapped(repeated, [len(rows)] * self.size, counts, what)
        parts = list(found.split(counts))
        parts[self.number] = rows
        return torch.cat(parts)

    def summed(self, value: Tensor) -> Tensor:
        """Sum over all processes, in int64 or float64, without a gradient."""
        wide = torch.float64 if value.is_floating_point() else torch.int64
        total = value.detach().to(wide, copy=True)
        self.sent["sums"] += 2 * total.nbytes * (self.size - 1) // self.size
        with _talking():
            dist.all_reduce(total)
        return total.to(value.dtype)

    def total(self, value: Tensor, *, goes_on_apart: bool = False) -> Tensor:
        """Sum over all processes, with a gradient by the own value.

        All processes must go on alike with the sum, and do not add their gradients by
        it; where each uses it for its own nodes, it `goes_on_apart` and they do.
        """
        # The difference is 0, and passes the gradient.
        found = self.summed(value) + (value - value.detach())
        if goes_on_apart and found.requires_grad:
            found.register_hook(self.summed)
        return found

    def share_gradients(self, parameters: Iterable[nn.Parameter]) -> None:
        """Give each parameter the sum of the gradients of all processes."""
        grads = [p.grad for p in parameters if p.grad is not None]
        if grads:
            total = self.summed(torch.cat([grad.double().flatten() for grad in grads]))
            parts = total.split([grad.numel() for grad in grads])
            for grad, part in zip(grads, parts, strict=True):
                grad.copy_(part.view_as(grad))

    def any(self, flag: bool) -> bool:
        """Whether it holds for any process."""
        return bool(self.summed(torch.tensor(int(flag))) > 0)

    def of_first(self, value: Tensor) -> Tensor:
        """The value that the first process has; shape and type must be the same."""
        found = value.clone()
        with _talking():
            dist.broadcast(found, src=0)
        return found

    def bytes_of_first(self, make: Callable[[], bytes]) -> bytes:
        """What the first process makes; the others do not."""
        content = make() if self.is_first else b""
        length = int(self.of_first(torch.tensor(len(content))))
        if not length:
            return b""
        buffer = torch.frombuffer(bytearray(content or length), dtype=torch.uint8)
        return self.of_first(buffer).numpy().tobytes()


class Swap(torch.autograd.Function):
    """The rows of others that this process takes, for rows `give` of its own.

    Gradients travel back, and are added in the order of the processes.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, ranks: Ranks, give: Tensor, *how: Any) -> Tensor:
        """The rest of the arguments is that of `Ranks.swapped`."""
        given, taken, what = how
        ctx.save_for_backward(give)
        ctx.how = ranks, taken, given, what
        ctx.shape = x.shape
        return ranks.swapped(x[give], given, taken, what)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        """Gradient by x."""
        ranks, *how = ctx.how
        back = ranks.swapped(grad, *how)
        (give,) = ctx.saved_tensors
        own = grad.new_zeros(ctx.shape).index_add_(0, give, back)
        return own, None, None, None, None, None


@contextlib.contextmanager
def _talking() -> Iterator[None]:
    """Say in a sentence that another process is gone."""
    try:
        yield
    except RuntimeError as error:
        raise RankLostError(
            "Another process of this job ended or does not answer, so this one stops"
            " too; `sgat fit --resume` goes on from the last checkpoint, with any"
            " number of processes."
        ) from error


@contextlib.contextmanager
def joined() -> Iterator[Ranks | None]:
    """Meet the other processes of a job; None for a process that is alone."""
    number = number_in_job()
    if number is None:
        yield None
        return
    with _talking():
        dist.init_process_group("gloo", timeout=TIMEOUT)
    yield Ranks(number, dist.get_world_size())
    # After an error the others find out by the end of this process.
    dist.destroy_process_group()
